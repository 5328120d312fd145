// Tests the sign-in to SAML applications: metadata, requests by redirect and by POST, and what an assertion says.
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import { databaseLimits } from '../../src/database/deadline.ts';
import { logoutRequest } from '../../src/saml/logout.ts';
import { encodedForm } from '../../src/saml/redirect-binding.ts';
import { signElement } from '../../src/saml/signing.ts';
import { execute } from '../helpers/global-setup.ts';
import { withoutLimits } from '../helpers/grants.ts';
import {
  addSamlConnection,
  beginSaml,
  postAnswer,
  signInBySaml,
  type SamlProvider,
  startSamlProvider,
} from '../helpers/saml-provider.ts';
import { answerOf, idpMetadata, queryOf, SamlApplication, signedXml, statusesOf } from '../helpers/saml-application.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let sp: SamlApplication;
let provider: SamlProvider;
beforeAll(async () => {
  provider = await startSamlProvider();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  user = await service.createUser({ email: 'ada@corp.example', emailVerified: true });
  sp = await SamlApplication.create(service, { idp_initiated: true });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

test('the key is made with the first application: no user waits for it (federation 9)', async () => {
  expect(await service.store.samlKeys.list()).toHaveLength(1);
});

test('the metadata name the service, its addresses, its formats of names, and one RSA-3072 key with a certificate of ten years that is not in the JWK Set (federation 9)', async () => {
  const { xml, certificates } = await idpMetadata(service);
  expect(xml).toContain(`entityID="${service.issuer}/saml/metadata"`);
  for (const path of ['sso', 'logout'])
    for (const binding of ['HTTP-Redirect', 'HTTP-POST'])
      expect(xml).toMatch(new RegExp(`Binding="[^"]*${binding}" Location="${service.issuer}/saml/${path}"`));
  expect(certificates).toHaveLength(1);
  const certificate = new X509Certificate(Buffer.from(certificates[0]!, 'base64'));
  expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 3072 });
  const years = (Date.parse(certificate.validTo) - Date.now()) / (365.25 * 86_400_000);
  expect(Math.round(years)).toBe(10);
  const { n } = certificate.publicKey.export({ format: 'jwk' });
  expect(await (await fetch(`${service.issuer}/jwks`)).text()).not.toContain(n!);
});

test('a user signs in to an application by a redirect, without a question for consent, and node-saml reads the assertion (SAML Profiles 4.1)', async () => {
  const agent = new UserAgent(service);
  const page = await sp.begin(agent, { id: '_request-1' }, 'state-1');
  expect(page.body).toContain('id="password"');
  const done = await agent.signIn(user, page);
  const answer = answerOf(done)!;
  expect(answer).toMatchObject({ action: sp.acsUri, relayState: 'state-1' });
  expect(done.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(done.body).toContain('<noscript>');
  expect(statusesOf(answer)).toEqual(['Success']);
  expect(answer.xml).toContain('InResponseTo="_request-1"');
  const profile = await sp.read(answer);
  expect(profile).toMatchObject({ inResponseTo: '_request-1', issuer: `${service.issuer}/saml/metadata` });
  expect(profile.nameIDFormat).toContain(':persistent');
  expect(profile.nameID).not.toBe(user.sub);
  // the session answers the next request at once
  expect((await sp.read(await sp.signIn(agent, user))).nameID).toBe(profile.nameID);
});

test('a request that the browser posts from another site, without a cookie, gets the session by a second leg (federation 5)', async () => {
  const agent = new UserAgent(service);
  await sp.signIn(agent, user);
  const page = await sp.post(agent, signedXml(sp.authnRequest({ id: '_posted' }), sp.keys), 'state-2');
  const answer = answerOf(page)!;
  expect(answer).toMatchObject({ action: sp.acsUri, relayState: 'state-2' });
  expect(await sp.read(answer)).toMatchObject({ inResponseTo: '_posted' });
  const bad = await agent.get('/saml/sso?sealed=AAAA');
  expect(bad.location).toContain('problem=');
});

test('a request by redirect may be signed over its query (SAML Bindings 3.4.4.1)', async () => {
  const agent = new UserAgent(service);
  const page = await sp.send(agent, queryOf(sp.authnRequest(), { relayState: 'a b+c', key: sp.keys.privateKey }));
  expect(answerOf(await agent.signIn(user, page))).toMatchObject({ relayState: 'a b+c' });
});

test('each SAML address answers 503 in time while the database does not answer, with no message to any application, and the next request is answered again (federation F113)', async () => {
  await addSamlConnection(service, provider, 'saml', { provisioning: 'on' });
  const agent = new UserAgent(service);
  await sp.signIn(agent, user);
  const connected = new UserAgent(service);
  const asked = await beginSaml(connected, 'saml');
  const SAMLResponse = await provider.answer(asked, { assertion: { nameId: 'late' } });
  const { nameID } = await sp.read(await sp.signIn(agent, user));
  const get = (path: string) => agent.get(path, { 'sec-fetch-site': 'cross-site' });
  const logout = () => queryOf(sp.logoutRequest({ nameId: nameID }), { key: sp.keys.privateKey });
  const answer = { SAMLResponse, RelayState: asked.relayState };
  const doors: Record<string, () => Promise<Page>> = {
    'GET /saml/metadata': () => get('/saml/metadata'),
    'GET /saml/sso': () => get(`/saml/sso?${queryOf(sp.authnRequest())}`),
    'POST /saml/sso': () => sp.post(new UserAgent(service), sp.authnRequest()),
    'GET /saml/start': () => get(`/saml/start/${sp.clientId}`),
    'GET /saml/logout': () => get(`/saml/logout?${logout()}`),
    'GET /connections/saml/saml/metadata': () => get('/connections/saml/saml/metadata'),
    'POST /connections/saml/saml/acs': () => new UserAgent(service).post('/connections/saml/saml/acs', answer),
    'GET /connections/saml/saml/logout': () => get('/connections/saml/saml/logout?SAMLRequest=x'),
    'POST /saml/logout': () =>
      sp.post(agent, signedXml(sp.logoutRequest({ nameId: nameID }), sp.keys), 'state', '/saml/logout'),
    'POST /connections/saml/saml/logout': () =>
      new UserAgent(service).post('/connections/saml/saml/logout', { SAMLRequest: 'x' }),
  };
  const { deadline } = databaseLimits;
  const holder = new pg.Client(service.database.url);
  await holder.connect();
  try {
    // shorter than in production
    databaseLimits.deadline = 1_000;
    await holder.query('BEGIN; LOCK TABLE clients, saml_keys, connections IN ACCESS EXCLUSIVE MODE');
    const pages = await Promise.all(Object.entries(doors).map(async ([door, open]) => [door, await open()] as const));
    for (const [door, page] of pages)
      expect([door, page.status, answerOf(page), page.location]).toEqual([door, 503, undefined, undefined]);
  } finally {
    databaseLimits.deadline = deadline;
    await holder.end();
  }
  // neither the session nor the answer was used up
  expect(statusesOf(answerOf(await sp.begin(agent))!)).toEqual(['Success']);
  expect((await postAnswer(connected, 'saml', answer)).url).toBe(`${service.issuer}/account`);
});

const faults = {
  // the message is read and verified, and then its sessions cannot be ended
  frozen: async () => {
    const holder = new pg.Client(service.database.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
    return () => holder.end();
  },
  stopped: () => changed('WITH ALLOW_CONNECTIONS false', 'WITH ALLOW_CONNECTIONS true'),
  'read-only': () => changed('SET default_transaction_read_only = on', 'RESET default_transaction_read_only'),
};
/** Changes the database for new connections, and ends the others. @returns what changes it back */
async function changed(change: string, back: string): Promise<() => Promise<void>> {
  const { database, ...server } = service.database.connection;
  const apply = async (how: string) => {
    await execute({ ...server, database: 'postgres' }, `ALTER DATABASE ${database} ${how}`);
    const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`;
    await execute({ ...server, database: 'postgres' }, ended);
  };
  await apply(change);
  return () => apply(back);
}

test.each(Object.entries(faults))(
  'a posted logout request gets 503 while the database is %s, no message to the other side, and ends nothing; the same request counts afterwards (federation F113, FR19)',
  async (fault, begin) => {
    const path = '/connections/saml/saml/logout';
    const [agent, connected] = [new UserAgent(service), new UserAgent(service)];
    const { nameID, sessionIndex } = await sp.read(await sp.signIn(agent, user));
    const assertion = { nameId: `leaving-${fault}`, sessionIndex: `_${fault}` };
    await signInBySaml(connected, provider, 'saml', { assertion });
    const ofApplication = signedXml(sp.logoutRequest({ nameId: nameID, sessionIndex }), sp.keys);
    const ofProvider = logoutRequest({
      id: `_leaving-${fault}`,
      issuer: provider.entityId,
      destination: service.issuer + path,
      now: new Date(),
      nameId: { value: assertion.nameId, format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' },
      sessionIndex: assertion.sessionIndex,
    });
    const form = { SAMLRequest: encodedForm(signElement(ofProvider, `_leaving-${fault}`, provider.pinned)) };
    const doors = [
      () => sp.post(agent, ofApplication, 'state', '/saml/logout'),
      () => new UserAgent(service).post(path, form, { origin: 'null', 'sec-fetch-site': 'cross-site' }),
    ];
    const { deadline } = databaseLimits;
    const end = await begin();
    try {
      databaseLimits.deadline = 1_000;
      const pages = await Promise.all(doors.map((open) => open()));
      for (const page of pages)
        expect([page.status, answerOf(page), page.location]).toEqual([503, undefined, undefined]);
    } finally {
      databaseLimits.deadline = deadline;
      await end();
    }
    const isReady = async () => (await fetch(`${service.issuer}/health/ready`)).status === 200;
    await expect.poll(isReady).toBe(true);
    // neither the requests nor the sessions were used up
    const signedIn = async () => (await connected.get('/account')).status;
    expect(await signedIn()).toBe(200);
    expect(statusesOf(answerOf(await doors[0]!())!)).toEqual(['Success']);
    expect(answerOf(await sp.begin(agent, { attributes: 'IsPassive="true"' }))?.xml).toContain('NoPassive');
    expect((await doors[1]!()).location).toContain(`${provider.base}/slo?`);
    expect(await signedIn()).not.toBe(200);
  },
);
