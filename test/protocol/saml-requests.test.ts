// Attacks the sign-in of SAML applications: requests that must get no answer, or a status, and never an assertion (federation F45 to F49).
import { createHmac, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import {
  answerOf,
  type KeyPair,
  newKeyPair,
  queryOf,
  rsaSha256,
  SamlApplication,
  signedXml,
  statusesOf,
} from '../helpers/saml-application.ts';
import { createSecretBox } from '../../src/crypto/secret-box.ts';
import { parseSecretKey } from '../../src/crypto/secret-key.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let keys: KeyPair;
let sp: SamlApplication;
/** The browser of the user, who is signed in. */
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  user = await service.createUser({ email: 'ada@corp.example', emailVerified: true });
  keys = newKeyPair();
  sp = await SamlApplication.create(service, {}, keys);
  agent = new UserAgent(service);
  await sp.signIn(agent, user);
});
afterAll(() => service?.stop());

const change = async (application: SamlApplication, members: Record<string, unknown>) => {
  const id = encodeURIComponent(application.clientId);
  const token = await adminToken(service);
  const answer = await call(`${service.issuer}/admin/api/clients/${id}`, { method: 'PATCH', token, body: members });
  expect(answer.status).toBe(200);
};

/** Whether a page sends nothing to any application. */
const isSilent = (page: Page): boolean =>
  answerOf(page) === undefined &&
  !page.body.includes('SAMLResponse') &&
  (page.location?.startsWith(service.issuer) ?? true);

const wrapped = (evil: string, signed: string): string =>
  evil.replace('</saml:Issuer>', `</saml:Issuer><samlp:Extensions>${signed}</samlp:Extensions>`);

test.each<[string, () => string | Promise<string>]>([
  ['an address that is not in the list', () => queryOf(sp.authnRequest({ acsUri: 'https://evil.example/acs' }))],
  ['an address of the list with something more', () => queryOf(sp.authnRequest({ acsUri: `${sp.acsUri}/` }))],
  ['an index beyond the list', () => queryOf(sp.authnRequest({ acsIndex: '2' }))],
  ['an index that is no decimal number', () => queryOf(sp.authnRequest({ acsIndex: '0x1' }))],
  ['another version', () => queryOf(sp.authnRequest().replace('Version="2.0"', 'Version="1.1"'))],
  ['no ID', () => queryOf(sp.authnRequest().replace(/ ID="[^"]*"/, ''))],
  ['IsPassive that is neither true nor false', () => queryOf(sp.authnRequest({ attributes: 'IsPassive="yes"' }))],
  ['a negative index', () => queryOf(sp.authnRequest({ acsIndex: '-1' }))],
  ['an address and an index', () => queryOf(sp.authnRequest({ acsIndex: '0', acsUri: sp.acsUri }))],
  ['an unknown Issuer', () => queryOf(sp.authnRequest({ issuer: 'https://nobody.example' }))],
  ['an Issuer in other case', () => queryOf(sp.authnRequest({ issuer: sp.entityId.toUpperCase() }))],
  ['another Destination', () => queryOf(sp.authnRequest({ destination: 'https://other.example/saml/sso' }))],
  [
    'a signed request without Destination',
    () => queryOf(sp.authnRequest({ destination: undefined }), { key: keys.privateKey }),
  ],
  ['a signature by another key', () => queryOf(sp.authnRequest(), { key: newKeyPair().privateKey })],
  [
    'a signature over another state',
    () => queryOf(sp.authnRequest(), { relayState: 'a', key: keys.privateKey }).replace('RelayState=a', 'RelayState=b'),
  ],
  [
    'a signature without an algorithm',
    () => queryOf(sp.authnRequest(), { key: keys.privateKey }).replace(/&SigAlg=[^&]*/, ''),
  ],
  [
    'an HMAC with the certificate as key',
    () => {
      const covered = `${queryOf(sp.authnRequest())}&SigAlg=${encodeURIComponent('http://www.w3.org/2000/09/xmldsig#hmac-sha1')}`;
      const value = createHmac('sha1', keys.certificate).update(covered).digest('base64');
      return `${covered}&Signature=${encodeURIComponent(value)}`;
    },
  ],
  ['two requests', () => `${queryOf(sp.authnRequest())}&${queryOf(sp.authnRequest())}`],
  ['a request and a response', () => `${queryOf(sp.authnRequest())}&SAMLResponse=${encodeURIComponent('AAAA')}`],
  ['a character outside of base64', () => queryOf(sp.authnRequest()).replace('SAMLRequest=', 'SAMLRequest=*')],
  ['another encoding', () => `${queryOf(sp.authnRequest())}&SAMLEncoding=urn:example`],
  ['a response instead of a request', () => queryOf(sp.authnRequest()).replace('SAMLRequest=', 'SAMLResponse=')],
  ['a LogoutRequest at the address of sign-ins', () => queryOf(sp.logoutRequest({ nameId: 'x' }))],
  ['a comment in the Issuer', () => queryOf(sp.authnRequest({ issuer: `${sp.entityId}<!---->` }))],
  ['CDATA in the Issuer', () => queryOf(sp.authnRequest({ issuer: `<![CDATA[${sp.entityId}]]>` }))],
  ['a DOCTYPE', () => queryOf(`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${sp.authnRequest()}`)],
  ['a processing instruction', () => queryOf(`<?xml-stylesheet href="x"?>${sp.authnRequest()}`)],
  ['two roots', () => queryOf(sp.authnRequest() + sp.authnRequest())],
  ['text that is no XML', () => queryOf('not xml')],
  [
    'bytes that are not deflated',
    () => `SAMLRequest=${encodeURIComponent(Buffer.from('x'.repeat(50)).toString('base64'))}`,
  ],
  ['no request', () => 'RelayState=x'],
])('a request with %s gets no answer (federation F45)', async (_, query) => {
  const page = await sp.send(agent, await query());
  expect(isSilent(page)).toBe(true);
  expect(page.status).toBeLessThan(500);
});

test.each<[string, (xml: string) => string]>([
  ['without an Issuer', (xml) => xml.replace(/<saml:Issuer>.*<\/saml:Issuer>/, '')],
  ['with an empty Issuer', (xml) => xml.replace(/(<saml:Issuer>).*(<\/saml:Issuer>)/, '$1$2')],
])(
  'a request %s is refused for that, in words that an administrator finds in the log (SAML Profiles 4.1.4.1)',
  async (_, change) => {
    const before = service.logs.length;
    expect(isSilent(await sp.send(agent, queryOf(change(sp.authnRequest()))))).toBe(true);
    const refused = service.logs.slice(before).find(({ msg }) => msg === 'request refused');
    expect(refused).toMatchObject({ status: 400, err: 'the message has no Issuer' });
  },
);

test('an application is known by its new entity ID at once, also where no notification of the change arrives (federation F46, security R2)', async () => {
  const other = await SamlApplication.create(service, {}, keys);
  expect(statusesOf(answerOf(await other.begin(agent))!)).toEqual(['Success']);
  const renamed = 'https://renamed.example/metadata';
  await service.database.sql('ALTER TABLE clients DISABLE TRIGGER USER');
  await service.database.sql('UPDATE clients SET entity_id = $2 WHERE client_id = $1', [other.clientId, renamed]);
  await service.database.sql('ALTER TABLE clients ENABLE TRIGGER USER');
  const answer = answerOf(await other.begin(agent, { issuer: renamed }))!;
  expect(/Audience>([^<]*)</.exec(answer.xml)?.[1]).toBe(renamed);
  expect(isSilent(await other.begin(agent))).toBe(true);
});

test('a captured signature around another request, and one by another key, get no answer (federation F45)', async () => {
  const good = signedXml(sp.authnRequest(), keys);
  const evil = sp.authnRequest({ acsUri: `${sp.acsUri}/second` });
  const signature = /<Signature[\s\S]*<\/Signature>|<ds:Signature[\s\S]*<\/ds:Signature>/.exec(good)![0];
  for (const xml of [
    wrapped(evil, good),
    evil.replace('</saml:Issuer>', `</saml:Issuer>${signature}`),
    good.replace(sp.ssoUri, `${sp.ssoUri}?x`),
    good.replace('ForceAuthn', 'IsPassive').replace('Version="2.0"', 'Version="2.0" ForceAuthn="true"'),
    signedXml(sp.authnRequest(), newKeyPair()),
    signedXml(sp.authnRequest(), keys, 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'),
  ]) {
    const page = await sp.post(agent, xml);
    expect(isSilent(page), xml).toBe(true);
    expect(page.status).toBeLessThan(500);
  }
  expect(answerOf(await sp.post(agent, good))).toBeDefined();
});

test('where signed requests are required, an unsigned one gets no answer, and a signed one does (federation F45)', async () => {
  const strict = await SamlApplication.create(service, { require_signed_requests: true }, keys);
  expect(isSilent(await strict.begin(agent))).toBe(true);
  expect(isSilent(await strict.post(agent, strict.authnRequest()))).toBe(true);
  const signed = await strict.send(agent, queryOf(strict.authnRequest(), { key: keys.privateKey }));
  expect(statusesOf(answerOf(signed)!)).toEqual(['Success']);
  // a key in the message never counts
  expect(isSilent(await strict.post(agent, signedXml(strict.authnRequest(), newKeyPair())))).toBe(true);
});

test('a pending request that nobody signed ends when signed requests become required (federation F45, security R4)', async () => {
  const other = await SamlApplication.create(service, {}, keys);
  const fresh = new UserAgent(service);
  const page = await other.begin(fresh);
  await change(other, { require_signed_requests: true });
  expect(isSilent(await fresh.signIn(user, page))).toBe(true);
});

test('an application without a certificate cannot require signatures, or a logout address (federation FR22)', async () => {
  const keyless = await SamlApplication.create(service, { certificates: undefined, slo_uri: undefined });
  const id = encodeURIComponent(keyless.clientId);
  const token = await adminToken(service);
  for (const members of [{ require_signed_requests: true }, { slo_uri: keyless.sloUri }]) {
    const answer = await call(`${service.issuer}/admin/api/clients/${id}`, { method: 'PATCH', token, body: members });
    expect(answer.status).toBe(400);
  }
});

const passive = 'IsPassive="true"';
const policy = (format: string) => `<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:${format}"/>`;
const context = (of: string, comparison = 'exact') =>
  `<samlp:RequestedAuthnContext Comparison="${comparison}"><saml:AuthnContextClassRef>${of}</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>`;

test('ForceAuthn asks a user with a session for the password again (federation F45)', async () => {
  const fresh = new UserAgent(service);
  await sp.signIn(fresh, user);
  const page = await sp.begin(fresh, { attributes: 'ForceAuthn="true"' });
  expect(page.body).toContain('id="password"');
  const answer = answerOf(await fresh.signIn(user, page))!;
  expect(statusesOf(answer)).toEqual(['Success']);
});

test.each<[string, string, { attributes?: string; children?: string }, string[]]>([
  ['IsPassive without a session', 'anonymous', { attributes: passive }, ['Responder', 'NoPassive']],
  [
    'IsPassive with ForceAuthn',
    'signed in',
    { attributes: `${passive} ForceAuthn="true"` },
    ['Responder', 'NoPassive'],
  ],
  [
    'a NameIDPolicy of another format',
    'signed in',
    { children: policy('1.1:nameid-format:emailAddress') },
    ['Requester', 'InvalidNameIDPolicy'],
  ],
  [
    'a transient NameIDPolicy',
    'signed in',
    { children: policy('2.0:nameid-format:transient') },
    ['Requester', 'InvalidNameIDPolicy'],
  ],
  ['an unknown context', 'signed in', { children: context('urn:example:retina') }, ['Responder', 'NoAuthnContext']],
  [
    'an unknown comparison of contexts',
    'signed in',
    { children: context('urn:oasis:names:tc:SAML:2.0:ac:classes:Password', 'most') },
    ['Responder', 'NoAuthnContext'],
  ],
  [
    'a context by its class and by a declaration',
    'signed in',
    {
      children: context('urn:oasis:names:tc:SAML:2.0:ac:classes:Password').replace(
        '</samlp:RequestedAuthnContext>',
        '<saml:AuthnContextDeclRef>urn:example</saml:AuthnContextDeclRef>$&',
      ),
    },
    ['Requester', 'RequestUnsupported'],
  ],
  [
    'a context beyond the strongest',
    'signed in',
    { children: context('phrh', 'better') },
    ['Responder', 'NoAuthnContext'],
  ],
  [
    'a context that the session does not reach, silently',
    'signed in',
    { attributes: passive, children: context('https://refeds.org/profile/mfa') },
    ['Responder', 'NoPassive'],
  ],
  [
    'another binding for the answer',
    'signed in',
    { attributes: 'ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact"' },
    ['Requester', 'UnsupportedBinding'],
  ],
  [
    'a certain subject',
    'signed in',
    { children: '<saml:Subject><saml:NameID>ada</saml:NameID></saml:Subject>' },
    ['Requester', 'RequestUnsupported'],
  ],
])(
  'a request with %s gets a status at the registered address and no assertion (federation F45)',
  async (_, who, parts, statuses) => {
    const browser = who === 'anonymous' ? new UserAgent(service) : agent;
    const answer = answerOf(await sp.begin(browser, { id: '_asked', ...parts }, 'kept'))!;
    expect(answer).toMatchObject({ action: sp.acsUri, relayState: 'kept' });
    expect(statusesOf(answer)).toEqual(statuses);
    expect(answer.xml).not.toContain('Assertion ');
    expect(answer.xml).toContain('InResponseTo="_asked"');
  },
);

test('a context that the session reaches is named in the assertion, as is the format that the application is configured for (SAML Core 3.3.2.2.1)', async () => {
  const password = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport';
  const asked = [
    context('https://refeds.org/profile/sfa'),
    context('urn:oasis:names:tc:SAML:2.0:ac:classes:Password', 'minimum'),
    policy('2.0:nameid-format:persistent'),
    policy('1.1:nameid-format:unspecified'),
  ];
  const named = ['https://refeds.org/profile/sfa', password, password, password];
  for (const [index, children] of asked.entries()) {
    const answer = await sp.signIn(agent, user, { children });
    expect(/AuthnContextClassRef>([^<]*)</.exec(answer.xml)?.[1]).toBe(named[index]);
  }
});

test('an index and an address of the list lead the answer there (federation F45, FR28)', async () => {
  expect(answerOf(await sp.begin(agent, { acsIndex: '1' }))!.action).toBe(`${sp.acsUri}/second`);
  expect(answerOf(await sp.begin(agent, { acsUri: `${sp.acsUri}/second` }))!.action).toBe(`${sp.acsUri}/second`);
  expect(answerOf(await sp.begin(agent))!.action).toBe(sp.acsUri);
});

test('an application that is disabled gets nothing, nor does one whose sign-ins must not begin here (federation F46, FR28)', async () => {
  const other = await SamlApplication.create(service, {}, keys);
  const start = `/saml/start/${encodeURIComponent(other.clientId)}`;
  expect(isSilent(await agent.follow(await agent.get(start)))).toBe(true);
  await change(other, { idp_initiated: true });
  const answer = answerOf(await agent.follow(await agent.get(start)))!;
  expect(answer.action).toBe(other.acsUri);
  expect(answer.xml).not.toContain('InResponseTo');
  expect(answer.relayState).toBeUndefined();
  expect((await other.read(answer)).nameID).toBeDefined();
  const waiting = new UserAgent(service);
  const page = await other.begin(waiting);
  await change(other, { status: 'disabled' });
  // each is refused at once: a user who cannot come in is not asked to sign in
  for (const refused of [
    await waiting.signIn(user, page),
    await other.begin(agent),
    await other.begin(new UserAgent(service)),
    await agent.follow(await agent.get(start)),
  ])
    expect([refused.status, isSilent(refused)]).toEqual([400, true]);
});

test('only a navigation sends a request, begins a sign-in or ends one (federation FR29, security R8)', async () => {
  const script = { 'sec-fetch-dest': 'empty' };
  const form = { SAMLRequest: Buffer.from(sp.authnRequest()).toString('base64') };
  const logout = queryOf(sp.logoutRequest({ nameId: 'x' }), { key: keys.privateKey });
  for (const page of [
    await agent.get(`/saml/sso?${queryOf(sp.authnRequest())}`, script),
    await agent.post('/saml/sso', form, script),
    await agent.get(`/saml/start/${encodeURIComponent(sp.clientId)}`, script),
    await agent.get(`/saml/logout?${logout}`, script),
  ])
    expect([page.status, isSilent(page)]).toEqual([403, true]);
});

test('the second leg of a posted request ends with the lifetime of a form (federation F45)', async () => {
  const box = createSecretBox([parseSecretKey(service.secretKey)]);
  const leg = (at: number) => {
    const parameters = { client_id: sp.clientId, redirect_uri: sp.acsUri, in_response_to: '_posted' };
    const sealed = box.seal(JSON.stringify({ parameters, at }), 'saml.sign_on').toString('base64url');
    return agent.get(`/saml/sso?sealed=${sealed}`);
  };
  expect(answerOf(await agent.follow(await leg(Date.now())))).toBeDefined();
  const old = await agent.follow(await leg(Date.now() - 86_400_000));
  expect(isSilent(old)).toBe(true);
});

test('an address that leaves the list while its user signs in gets no assertion (federation F45)', async () => {
  const other = await SamlApplication.create(service, {}, keys);
  const waiting = new UserAgent(service);
  const page = await other.begin(waiting, { acsUri: `${other.acsUri}/second` });
  await change(other, { acs_uris: [other.acsUri] });
  expect(isSilent(await waiting.signIn(user, page))).toBe(true);
  expect(answerOf(await other.begin(waiting))).toBeDefined();
});

test('a user out of the groups of an application, and a disabled user, get no assertion (federation F46, FR42)', async () => {
  const token = await adminToken(service);
  await call(`${service.issuer}/admin/api/groups`, { token, body: { name: 'saml-staff' } });
  const members = await service.createUser({ groups: ['saml-staff'] });
  const closed = await SamlApplication.create(
    service,
    { access: 'groups', access_groups: ['saml-staff'], idp_initiated: true },
    keys,
  );
  const inside = new UserAgent(service);
  expect(statusesOf(await closed.signIn(inside, members))).toEqual(['Success']);
  for (const path of [`/saml/sso?${queryOf(closed.authnRequest())}`, `/saml/start/${closed.clientId}`]) {
    const page = await agent.follow(await agent.get(path));
    expect(page.url).toContain('/access-denied');
    expect(answerOf(page)).toBeUndefined();
  }
  const silent = answerOf(await closed.begin(agent, { attributes: passive }))!;
  expect(statusesOf(silent)).toEqual(['Responder', 'RequestDenied']);
  await service.database.sql(`UPDATE users SET groups = '{}' WHERE sub = $1`, [members.sub]);
  const lost = await inside.follow(await inside.get(`/saml/sso?${queryOf(closed.authnRequest())}`));
  expect(lost.url).toContain('/access-denied');
  await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [members.sub]);
  const gone = await inside.follow(await inside.get(`/saml/sso?${queryOf(sp.authnRequest())}`));
  expect(gone.body).toContain('id="password"');
});

test('RelayState comes back as it was, one above 80 bytes is dropped, and none is ever an address (federation F49)', async () => {
  for (const state of [
    'https://evil.example/',
    'javascript:alert(1)',
    '"><script>alert(1)</script>',
    'a\r\nSet-Cookie: x=1',
    'é'.repeat(40),
  ]) {
    const page = await sp.begin(agent, {}, state);
    expect(page.location).toBeUndefined();
    expect(page.headers.get('set-cookie') ?? '').not.toContain('x=1');
    expect(page.body).not.toContain('<script>alert');
    expect(answerOf(page)!.action).toBe(sp.acsUri);
  }
  // a question mark may stand in a query as it is (RFC 3986 3.4), and is signed so
  const raw = `${queryOf(sp.authnRequest())}&RelayState=/a?b=c`;
  expect(answerOf(await sp.send(agent, raw))!.relayState).toBe('/a?b=c');
  const strict = await SamlApplication.create(service, { require_signed_requests: true }, keys);
  const signed = signedQuery(strict.authnRequest(), '/a?b');
  expect(answerOf(await strict.send(agent, signed))!.relayState).toBe('/a?b');
  for (const long of ['x'.repeat(81), 'x'.repeat(10_000), 'é'.repeat(41)]) {
    const page = await sp.post(agent, sp.authnRequest(), long);
    expect(answerOf(page)!.relayState).toBeUndefined();
  }
});

/** A signed query whose state is not percent-encoded. */
function signedQuery(xml: string, relayState: string): string {
  const covered = `${queryOf(xml)}&RelayState=${relayState}&SigAlg=${encodeURIComponent(rsaSha256)}`;
  const value = sign('sha256', Buffer.from(covered), keys.privateKey).toString('base64');
  return `${covered}&Signature=${encodeURIComponent(value)}`;
}

test('of hundreds of requested classes only those that the service knows are kept while the user signs in (federation F38)', async () => {
  const unknown = Array.from(
    { length: 400 },
    (_, n) => `<saml:AuthnContextClassRef>urn:x:${'y'.repeat(300)}${n}</saml:AuthnContextClassRef>`,
  );
  const known = '<saml:AuthnContextClassRef>https://refeds.org/profile/sfa</saml:AuthnContextClassRef>';
  const children = `<samlp:RequestedAuthnContext>${unknown.join('')}${known.repeat(100)}</samlp:RequestedAuthnContext>`;
  const fresh = new UserAgent(service);
  const page = await sp.post(fresh, sp.authnRequest({ children }));
  const [stored] = await service.database.sql<{ context: string }>(
    `SELECT parameters ->> 'context' AS context FROM authorization_requests WHERE endpoint = 'saml' ORDER BY expires_at DESC LIMIT 1`,
  );
  expect(JSON.parse(stored!.context)).toEqual({ comparison: 'exact', classes: ['https://refeds.org/profile/sfa'] });
  const answer = answerOf(await fresh.signIn(user, page))!;
  expect(answer.xml).toContain('AuthnContextClassRef>https://refeds.org/profile/sfa<');
});

test.each<[string, () => string]>([
  ['20,000 elements', () => sp.authnRequest({ children: '<a/>'.repeat(20_000) })],
  ['a depth of 10,000', () => sp.authnRequest({ children: '<a>'.repeat(10_000) + '</a>'.repeat(10_000) })],
  [
    '10,000 attributes',
    () =>
      sp.authnRequest({ attributes: Array.from({ length: 10_000 }, (_unused, index) => `a${index}="x"`).join(' ') }),
  ],
  ['250,000 blanks', () => sp.authnRequest({ children: `${' '.repeat(250_000)}<a` })],
  ['200 KiB beyond the size', () => sp.authnRequest({ children: `<a>${'x'.repeat(460 * 1024)}</a>` })],
])('a request with %s is refused before it is parsed, at each address (federation F38, FR24)', async (_, xml) => {
  const text = xml();
  for (const path of ['/saml/sso', '/saml/logout']) {
    const page = await agent.post(
      path,
      { SAMLRequest: Buffer.from(text).toString('base64') },
      { 'sec-fetch-site': 'cross-site', origin: 'https://x.example' },
    );
    expect(isSilent(page)).toBe(true);
    expect([303, 400, 413]).toContain(page.status);
  }
});

test('a deflate bomb is not inflated beyond the size of a message (federation F38)', async () => {
  const bomb = deflateRawSync(Buffer.alloc(3_000_000, 0x20)).toString('base64');
  for (const path of ['/saml/sso', '/saml/logout']) {
    const page = await agent.get(`${path}?SAMLRequest=${encodeURIComponent(bomb)}`);
    expect(isSilent(page)).toBe(true);
    expect(page.status).toBeLessThan(500);
  }
});
