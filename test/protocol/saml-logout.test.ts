// Tests the logout of SAML applications: a signed request ends the sessions that it names, and nothing else does (federation F48, FR19).
import { randomBytes } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from '../helpers/events.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import {
  answerOf,
  type KeyPair,
  newKeyPair,
  queryOf,
  SamlApplication,
  signedXml,
  statusesOf,
} from '../helpers/saml-application.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
let keys: KeyPair;
let sp: SamlApplication;
let other: SamlApplication;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  user = await service.createUser();
  keys = newKeyPair();
  sp = await SamlApplication.create(service, {}, keys);
  other = await SamlApplication.create(service);
});
afterAll(() => service?.stop());

/** A browser that is signed in to the application, and what the application knows of the session. */
async function signedIn(): Promise<{ agent: UserAgent; nameId: string; sessionIndex: string }> {
  const agent = new UserAgent(service);
  const { nameID, sessionIndex } = await sp.read(await sp.signIn(agent, user));
  return { agent, nameId: nameID, sessionIndex: sessionIndex! };
}
const lives = async (agent: UserAgent): Promise<boolean> =>
  statusesOf(answerOf(await sp.begin(agent, { attributes: 'IsPassive="true"' }))!)[0] === 'Success';

const logout = (agent: UserAgent, xml: string, options: Parameters<typeof queryOf>[1] = { key: keys.privateKey }) =>
  agent.get(`/saml/logout?${queryOf(xml, options)}`, { 'sec-fetch-site': 'cross-site' });

test('a signed request ends the session that it names, and is answered at the registered address with a signature (SAML Profiles 4.4)', async () => {
  const { agent, ...session } = await signedIn();
  const { agent: elsewhere } = await signedIn();
  const page = await logout(agent, sp.logoutRequest({ ...session, id: '_out' }), {
    key: keys.privateKey,
    relayState: 'r',
  });
  expect(page.status).toBe(302);
  const target = new URL(page.location!);
  expect(target.href).toMatch(`${sp.sloUri}?`);
  expect(target.searchParams.get('RelayState')).toBe('r');
  expect(target.searchParams.get('Signature')).toBeTruthy();
  const xml = inflateRawSync(Buffer.from(target.searchParams.get('SAMLResponse')!, 'base64')).toString();
  expect(statusesOf({ xml })).toEqual(['Success']);
  expect(xml).toContain('InResponseTo="_out"');
  expect(await lives(agent)).toBe(false);
  expect(await lives(elsewhere)).toBe(true);
  const [event] = await eventsOf(service, { type: 'saml_session.ended', sub: user.sub });
  expect(event).toMatchObject({ actor: sp.clientId, client_id: sp.clientId, outcome: 'success' });
});

test('a request without a session index ends every session of the user at the application, also by POST (SAML Core 3.7.1)', async () => {
  const first = await signedIn();
  const second = await signedIn();
  const xml = signedXml(sp.logoutRequest({ nameId: first.nameId }), keys);
  const answer = answerOf(await sp.post(first.agent, xml, 'state', '/saml/logout'))!;
  expect(answer).toMatchObject({ action: sp.sloUri, relayState: 'state' });
  expect(statusesOf(answer)).toEqual(['Success']);
  expect(answer.xml).toMatch(/Signature/);
  expect([await lives(first.agent), await lives(second.agent)]).toEqual([false, false]);
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

test('no request that is not the application’s own, whole and new ends a session (federation F48)', async () => {
  const { agent, ...session } = await signedIn();
  const good = (parts = {}) => sp.logoutRequest({ ...session, ...parts });
  const by = (xml: string, key = keys.privateKey) => logout(agent, xml, { key });
  const enveloped = (xml: string) => sp.post(agent, xml, undefined, '/saml/logout');
  const inner = signedXml(good(), keys);
  const attacks: (() => Promise<{ status: number; location: string | undefined }>)[] = [
    () => logout(agent, good(), {}),
    () => enveloped(good()),
    () => by(good(), newKeyPair().privateKey),
    () => by(good({ issuer: other.entityId }), keys.privateKey),
    () => by(good({ issuer: other.entityId }), other.keys.privateKey),
    () => by(good({ at: minutesAgo(10) })),
    () => by(good({ at: minutesAgo(-10) })),
    () => by(good({ attributes: `NotOnOrAfter="${minutesAgo(5).toISOString()}"` })),
    () => by(good({ destination: `${service.issuer}/saml/sso` })),
    () => by(good({ destination: 'https://elsewhere.example/saml/logout' })),
    () => by(good({ nameId: `${session.nameId.slice(0, -1)}<!-- -->${session.nameId.slice(-1)}` })),
    () => enveloped(inner.replace(session.nameId, randomBytes(8).toString('hex'))),
    () =>
      enveloped(
        good({ nameId: 'x' }).replace('</saml:Issuer>', `</saml:Issuer><samlp:Extensions>${inner}</samlp:Extensions>`),
      ),
    () => enveloped(signedXml(good(), newKeyPair())),
    () => agent.get('/saml/logout'),
    () => by(sp.authnRequest()),
  ];
  for (const [index, attack] of attacks.entries()) {
    const { status, location } = await attack();
    expect(status, `attack ${index}`).toBeLessThan(500);
    expect(location?.startsWith(sp.sloUri) ?? false, `attack ${index}`).toBe(false);
    expect(await lives(agent), `attack ${index}`).toBe(true);
  }
  // another subject is answered, and nothing ends
  const unknown = await by(good({ nameId: 'nobody' }));
  const answer = inflateRawSync(
    Buffer.from(new URL(unknown.location!).searchParams.get('SAMLResponse')!, 'base64'),
  ).toString();
  expect(statusesOf({ xml: answer })).toEqual(['Requester', 'UnknownPrincipal']);
  await by(good({ sessionIndex: '_unknown' }));
  expect(await lives(agent)).toBe(true);
});

test('a request counts once: the session of a later sign-in survives it (federation F48)', async () => {
  const { agent, nameId } = await signedIn();
  const xml = sp.logoutRequest({ nameId });
  expect((await logout(agent, xml)).location).toMatch(sp.sloUri);
  const later = await signedIn();
  expect((await logout(later.agent, xml)).location ?? '').not.toMatch(sp.sloUri);
  expect(await lives(later.agent)).toBe(true);
});

test('a disabled application ends nothing (federation F46)', async () => {
  const { agent, ...session } = await signedIn();
  const token = await adminToken(service);
  const change = (body: Record<string, unknown>) =>
    call(`${service.issuer}/admin/api/clients/${sp.clientId}`, { method: 'PATCH', token, body });
  const { version } = (await change({ status: 'disabled' })).body;
  try {
    const page = await logout(agent, sp.logoutRequest(session));
    expect([page.status, page.location]).toEqual([400, undefined]);
  } finally {
    await change({ status: 'enabled', version });
  }
  expect(await lives(agent)).toBe(true);
});

test('the page after a sign-out names the applications that may still be open, since they get no logout request (federation 9)', async () => {
  const { agent } = await signedIn();
  const page = await agent.submit(await agent.get('/logout'), { decision: 'sign-out' });
  expect(page.body).toContain('You might still be signed in to these applications');
  expect(page.body).toContain(`<bdi>${sp.name}</bdi>`);
});
