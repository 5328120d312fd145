// Tests single logout at a connection by SAML, in both directions, and the requests that must end no session.
import { randomBytes, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { logoutRequest } from '../../src/saml/logout.ts';
import { readMetadata } from '../../src/saml/metadata.ts';
import { ns } from '../../src/saml/names.ts';
import { childOf } from '../../src/saml/reader/elements.ts';
import { readUnsigned } from '../../src/saml/reader/signed.ts';
import { addressWith, encodedForm, readQuery } from '../../src/saml/redirect-binding.ts';
import { signElement } from '../../src/saml/signing.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { addSamlConnection, type SamlProvider, signInBySaml, startSamlProvider } from '../helpers/saml-provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: SamlProvider;

beforeAll(async () => {
  provider = await startSamlProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  await addSamlConnection(service, provider, 'saml', { provisioning: 'on', logout: 'propagate' });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

const path = '/connections/saml/saml/logout';
const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
let number = 0;
/** A user who came by the connection. */
async function someone() {
  const agent = new UserAgent(service);
  const [nameId, sessionIndex] = [`lea-${++number}`, `_session-${number}`];
  await signInBySaml(agent, provider, 'saml', { assertion: { nameId, sessionIndex } });
  return { agent, nameId, sessionIndex };
}
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;

interface Asked {
  id?: string;
  nameId: string;
  sessionIndex?: string | undefined;
  issuer?: string;
  destination?: string;
  now?: Date;
}
const request = ({
  id = `_${randomBytes(8).toString('hex')}`,
  nameId,
  sessionIndex,
  issuer,
  destination,
  now = new Date(),
}: Asked) =>
  logoutRequest({
    id,
    issuer: issuer ?? provider.entityId,
    destination: destination ?? service.issuer + path,
    now,
    nameId: { value: nameId, format: persistent },
    sessionIndex,
  });
/** Sends a request as the identity provider does: the browser comes by a link. */
const byRedirect = (xml: string, key = provider.pinned.privateKey, relayState = 'kept'): Promise<Page> =>
  new UserAgent(service).get(addressWith(service.issuer + path, { name: 'SAMLRequest', xml, relayState }, key));
const byPost = (xml: string): Promise<Page> =>
  new UserAgent(service).post(
    path,
    { SAMLRequest: encodedForm(xml), RelayState: 'kept' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
  );

async function expectAnswered(page: Page, inResponseTo: string) {
  expect(page.status).toBe(303);
  const url = new URL(page.location!);
  expect(url.origin + url.pathname).toBe(`${provider.base}/slo`);
  const { serviceProvider } = readMetadata(
    await (await fetch(`${service.issuer}/connections/saml/saml/metadata`)).text(),
  );
  const answer = readQuery(
    url.search.slice(1),
    serviceProvider!.certificates.map(({ publicKey }) => publicKey),
  );
  expect(answer).toMatchObject({ name: 'SAMLResponse', signed: true, relayState: 'kept' });
  const root = readUnsigned(answer.message, { namespace: ns.protocol, name: 'LogoutResponse' });
  expect(root.attributes.get('InResponseTo')).toBe(inResponseTo);
  const status = childOf(childOf(root, ns.protocol, 'Status')!, ns.protocol, 'StatusCode')!;
  expect(status.attributes.get('Value')).toBe('urn:oasis:names:tc:SAML:2.0:status:Success');
}

describe('a LogoutRequest of the identity provider', () => {
  test.each(['redirect', 'post'])(
    'by %s ends the session that it names, once, and is answered at the registered address (federation F48, FR19)',
    async (binding) => {
      const [lea, other] = [await someone(), await someone()];
      const id = `_once-${number}`;
      const plain = request({ ...lea, id });
      const xml = binding === 'post' ? signElement(plain, id, provider.pinned) : plain;
      const send = () => (binding === 'post' ? byPost(xml) : byRedirect(xml));
      await expectAnswered(await send(), id);
      expect(await isSignedIn(lea.agent)).toBe(false);
      expect(await isSignedIn(other.agent)).toBe(true);
      await signInBySaml(lea.agent, provider, 'saml', { assertion: lea });
      expect((await send()).status).toBe(400);
      expect(await isSignedIn(lea.agent)).toBe(true);
    },
  );

  test('without a session ends all sessions of the user (federation F48)', async () => {
    const lea = await someone();
    const second = new UserAgent(service);
    await signInBySaml(second, provider, 'saml', { assertion: { nameId: lea.nameId, sessionIndex: '_another' } });
    const id = `_all-${number}`;
    await expectAnswered(await byRedirect(request({ nameId: lea.nameId, id })), id);
    expect([await isSignedIn(lea.agent), await isSignedIn(second)]).toEqual([false, false]);
  });

  test('names a session by an index of any length (SAML Core 3.7.1)', async () => {
    const [agent, nameId, sessionIndex] = [new UserAgent(service), `long-${++number}`, `_${'i'.repeat(2_000)}`];
    await signInBySaml(agent, provider, 'saml', { assertion: { nameId, sessionIndex } });
    expect(await isSignedIn(agent)).toBe(true);
    const id = `_long-${number}`;
    await expectAnswered(
      await byRedirect(request({ nameId, sessionIndex: `${sessionIndex}i`, id: `${id}-other` })),
      `${id}-other`,
    );
    expect(await isSignedIn(agent)).toBe(true);
    await expectAnswered(await byRedirect(request({ nameId, sessionIndex, id })), id);
    expect(await isSignedIn(agent)).toBe(false);
  });

  test('may have an unescaped question mark in its query, and its signature covers it (RFC 3986 3.4, SAML Bindings 3.4.4.1)', async () => {
    const lea = await someone();
    const plain = addressWith(service.issuer + path, { name: 'SAMLRequest', xml: request(lea) });
    const algorithm = encodeURIComponent('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256');
    const query = `${plain.split('?')[1]}&RelayState=/a?b&SigAlg=${algorithm}`;
    const signature = sign('sha256', Buffer.from(query), provider.pinned.privateKey).toString('base64');
    const address = `${service.issuer}${path}?${query}&Signature=${encodeURIComponent(signature)}`;
    const { location } = await new UserAgent(service).get(address);
    expect(new URL(location!).searchParams.get('RelayState')).toBe('/a?b');
    expect(await isSignedIn(lea.agent)).toBe(false);
  });

  test.each<[string, (lea: Asked) => Promise<Page> | Page]>([
    [
      'without a signature, by redirect',
      async (lea) =>
        new UserAgent(service).get(addressWith(service.issuer + path, { name: 'SAMLRequest', xml: request(lea) })),
    ],
    ['without a signature, by post', (lea) => byPost(request(lea))],
    ['signed by another key, by redirect', (lea) => byRedirect(request(lea), provider.other.privateKey)],
    [
      'signed by another key, by post',
      (lea) => byPost(signElement(request({ ...lea, id: '_o' }), '_o', provider.other)),
    ],
    [
      'signed for another subject and wrapped',
      (lea) => {
        const signed = signElement(request({ nameId: 'nobody', id: '_w1' }), '_w1', provider.pinned);
        return byPost(
          request(lea).replace('<saml:NameID', `<samlp:Extensions>${signed}</samlp:Extensions><saml:NameID`),
        );
      },
    ],
    [
      'with a signature of its parts',
      (lea) =>
        byPost(
          signElement(request({ nameId: 'nobody', id: '_w2' }), '_w2', provider.pinned).replace('nobody', lea.nameId),
        ),
    ],
    ['of another issuer', (lea) => byRedirect(request({ ...lea, issuer: 'https://evil.example' }))],
    ['for another destination', (lea) => byRedirect(request({ ...lea, destination: 'https://evil.example' }))],
    ['that is old', (lea) => byRedirect(request({ ...lea, now: new Date(Date.now() - 600_000) }))],
    ['of another version', (lea) => byRedirect(request(lea).replace('Version="2.0"', 'Version="1.1"'))],
    ['without a time', (lea) => byRedirect(request(lea).replace(/ IssueInstant="[^"]*"/, ''))],
    ['without a subject', (lea) => byRedirect(request(lea).replace(/<saml:NameID.*<\/saml:NameID>/, ''))],
    ['without an ID', (lea) => byRedirect(request(lea).replace(/ ID="[^"]*"/, ''))],
    [
      'that names 21 sessions',
      (lea) =>
        byRedirect(
          request(lea).replace(
            '</samlp:LogoutRequest>',
            `${'<samlp:SessionIndex>_none</samlp:SessionIndex>'.repeat(20)}</samlp:LogoutRequest>`,
          ),
        ),
    ],
    [
      'with a signature inside, beside that of the address',
      (lea) => byRedirect(signElement(request({ ...lea, id: '_in' }), '_in', provider.other)),
    ],
    ['from the future', (lea) => byRedirect(request({ ...lea, now: new Date(Date.now() + 600_000) }))],
    ['with a DOCTYPE', (lea) => byRedirect(`<!DOCTYPE x>${request(lea)}`)],
    [
      'with 20,000 elements (federation F38)',
      (lea) => byRedirect(request(lea).replace('<saml:NameID', `${'<x/>'.repeat(20_000)}<saml:NameID`)),
    ],
  ])('%s is refused, and the session lives (federation F48)', async (_what, send) => {
    const lea = await someone();
    const page = await send(lea);
    expect(page.status).toBe(400);
    expect(await isSignedIn(lea.agent)).toBe(true);
  });

  test.each<[string, (lea: Asked) => Asked]>([
    ['another NameID', (lea) => ({ ...lea, nameId: 'nobody' })],
    ['another session', (lea) => ({ ...lea, sessionIndex: '_nothing' })],
  ])('that names %s ends nothing (federation F48)', async (_what, change) => {
    const lea = await someone();
    expect((await byRedirect(request(change(lea)))).status).toBe(303);
    expect(await isSignedIn(lea.agent)).toBe(true);
  });

  test('names by its NameID no user whom an attribute identifies (federation FR19)', async () => {
    await addSamlConnection(service, provider, 'named', {
      provisioning: 'on',
      username_from: 'uid',
      settings: { subject_attribute: 'uid' },
    });
    const agent = new UserAgent(service);
    const uid = `named-${++number}`;
    await signInBySaml(agent, provider, 'named', {
      assertion: { nameId: '_once', sessionIndex: '_named', attributes: { uid } },
    });
    expect(await isSignedIn(agent)).toBe(true);
    const at = `${service.issuer}/connections/named/saml/logout`;
    const xml = request({ nameId: uid, destination: at });
    const address = addressWith(at, { name: 'SAMLRequest', xml }, provider.pinned.privateKey);
    expect((await new UserAgent(service).get(address)).status).toBe(303);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('ends no session that came by another connection (federation FR19)', async () => {
    await addSamlConnection(service, provider, 'twin', { provisioning: 'on' });
    const agent = new UserAgent(service);
    const nameId = `twin-${++number}`;
    await signInBySaml(agent, provider, 'twin', { assertion: { nameId, sessionIndex: '_twin' } });
    expect((await byRedirect(request({ nameId, sessionIndex: '_twin' }))).status).toBe(303);
    expect(await isSignedIn(agent)).toBe(true);
  });
});

describe('the addresses of SAML', () => {
  const answerOnly = addressWith('', { name: 'SAMLResponse', xml: '<x/>' });

  test('are not those of a connection of another kind (federation 9)', async () => {
    await service.database.sql(`INSERT INTO connections (id, kind, display_name, status, settings)
      VALUES ('plain', 'oidc', 'Plain', 'enabled', '{"issuer": "https://company.example", "client_id": "x"}')`);
    const agent = new UserAgent(service);
    expect((await agent.get(`/connections/plain/saml/logout${answerOnly}`)).status).toBe(404);
    const SAMLResponse = encodedForm('<x/>');
    const posted = await agent.post(
      '/connections/plain/saml/acs',
      { SAMLResponse },
      { 'sec-fetch-site': 'cross-site' },
    );
    expect([posted.status, posted.location]).toEqual([400, undefined]);
  });

  test('take the answer to a logout only from a navigation (security R160)', async () => {
    const get = (dest: string) => new UserAgent(service).get(path + answerOnly, { 'sec-fetch-dest': dest });
    expect([(await get('empty')).status, (await get('document')).status]).toEqual([403, 200]);
  });

  test('take so many logouts from a network as LIMIT_CONNECTION_ANSWERS allows (security R160)', async () => {
    const limited = await startTestService({
      environment: { LIMIT_CONNECTION_ANSWERS: '2', OUTBOUND_ALLOW: provider.host },
    });
    try {
      await addSamlConnection(limited, provider, 'saml');
      const statuses: number[] = [];
      for (let count = 0; count < 3; count++) statuses.push((await new UserAgent(limited).get(path)).status);
      expect(statuses).toEqual([400, 400, 429]);
    } finally {
      await limited.stop();
    }
  });
});

describe('signing out here', () => {
  test('sends the browser there with a signed request that names the session, and it comes back (federation 4)', async () => {
    const { agent, nameId, sessionIndex } = await someone();
    const page = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
    const left = new URL(page.location ?? '');
    expect(left.origin + left.pathname).toBe(`${provider.base}/slo`);
    const { serviceProvider } = readMetadata(
      await (await fetch(`${service.issuer}/connections/saml/saml/metadata`)).text(),
    );
    const asked = readQuery(
      left.search.slice(1),
      serviceProvider!.certificates.map(({ publicKey }) => publicKey),
    );
    expect(asked).toMatchObject({ name: 'SAMLRequest', signed: true });
    const xml = Buffer.from(asked.message).toString();
    expect(xml).toContain(`>${nameId}</saml:NameID><samlp:SessionIndex>${sessionIndex}</samlp:SessionIndex>`);
    // the session here has ended before, whatever the other side says
    expect(await isSignedIn(agent)).toBe(false);
    for (const state of [asked.relayState!, 'https://evil.example']) {
      const back = await agent.get(
        addressWith(service.issuer + path, { name: 'SAMLResponse', xml: '<x/>', relayState: state }),
      );
      expect(back.status).toBe(200);
    }
    const posted = await new UserAgent(service).post(
      path,
      { SAMLResponse: 'x', RelayState: 'https://evil.example' },
      { origin: 'null' },
    );
    expect(posted.location).toBe(`${service.issuer}/connections/saml/signed-out`);
  });
});
