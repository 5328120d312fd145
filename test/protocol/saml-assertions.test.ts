// Tests what the service signs for SAML applications: names, attributes, times, and encryption (federation F47).
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { newKeyPair, type PostedAnswer, SamlApplication, statusesOf } from '../helpers/saml-application.ts';
import { idpMetadata } from '../helpers/saml-application.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const keys = newKeyPair();
const hostile = `<b>&"'</b> ]]> \u{1F600} é`;
let service: TestService;
let user: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, PROFILE_EDITABLE: 'nickname' } });
  user = await service.createUser({
    email: 'ada@corp.example',
    emailVerified: true,
    groups: ['wiki-editors', 'wiki-readers', 'staff'],
    claims: { name: hostile, nickname: 'a\u0007b', given_name: 'Ada' },
  });
  agent = new UserAgent(service);
  await agent.signIn(user);
});
afterAll(() => service?.stop());

const create = (members: Record<string, unknown> = {}) => SamlApplication.create(service, members, keys);
const timeIn = ({ xml }: PostedAnswer, name: string) =>
  new Date(new RegExp(`${name}="([^"]+)"`).exec(xml)![1]!).getTime();

test('names with markup, quotes, emoji and control characters are well-formed for a foreign parser, and only mapped attributes are sent (federation F47)', async () => {
  const sp = await create({
    claim_rules: [
      { claim: 'https://example.com/name', from: 'name', into: ['saml'] },
      { claim: 'nick', from: 'nickname', into: ['saml'] },
      { claim: 'wiki', from: 'groups', only: { prefix: 'wiki-' }, strip: 'wiki-', into: ['saml'] },
      { claim: 'elsewhere', from: 'given_name', into: ['id_token'] },
      { claim: 'team', from: 'constant', value: 'R&D', into: ['saml'] },
    ],
  });
  const profile = await sp.read(await sp.signIn(agent, user));
  expect(profile['attributes']).toEqual({
    'https://example.com/name': hostile,
    nick: 'a\uFFFDb',
    wiki: ['editors', 'readers'],
    team: 'R&D',
  });
});

test('persistent NameIDs differ between applications and last, and audience, recipient, request and times are right (federation F47)', async () => {
  const [first, second] = [await create(), await create({ session_lifetime: 3600 })];
  const answers = [await first.signIn(agent, user), await second.signIn(agent, user, { id: '_asked' })] as const;
  const names = [await first.read(answers[0]), await second.read(answers[1])];
  expect(new Set([names[0]!.nameID, names[1]!.nameID, user.sub]).size).toBe(3);
  expect((await first.read(await first.signIn(new UserAgent(service), user))).nameID).toBe(names[0]!.nameID);
  const { xml } = answers[1];
  for (const part of [
    `Recipient="${second.acsUri}"`,
    `Destination="${second.acsUri}"`,
    `<saml:Audience>${second.entityId}</saml:Audience>`,
    'InResponseTo="_asked"',
    'Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"',
  ])
    expect(xml).toContain(part);
  const issued = timeIn(answers[1], 'IssueInstant');
  expect(timeIn(answers[1], 'NotOnOrAfter') - issued).toBe(300_000);
  expect(timeIn(answers[1], 'SessionNotOnOrAfter') - issued).toBe(3_600_000);
  expect(answers[0].xml).not.toContain('SessionNotOnOrAfter');
  await expect(first.read(answers[1])).rejects.toThrow();
});

test.each([
  ['email', 'ada@corp.example', 'emailAddress'],
  ['username', undefined, 'unspecified'],
  ['attribute:given_name', 'Ada', 'unspecified'],
])('the NameID is %s where the application is configured so (federation 9)', async (nameId, value, format) => {
  const sp = await create({ name_id: nameId });
  const profile = await sp.read(await sp.signIn(agent, user));
  expect(profile.nameID).toBe(value ?? user.username);
  expect(profile.nameIDFormat).toContain(format);
});

test('an address that nobody confirmed is neither a NameID nor an attribute (federation FR2)', async () => {
  const doubtful = await service.createUser({ email: 'eve@corp.example', emailVerified: false });
  const browser = new UserAgent(service);
  const named = await create({ name_id: 'email' });
  expect(statusesOf(await named.signIn(browser, doubtful))).toEqual(['Responder', 'InvalidNameIDPolicy']);
  const byClaim = await create({ name_id: 'attribute:email' });
  expect(statusesOf(await byClaim.signIn(browser, doubtful))).toEqual(['Responder', 'InvalidNameIDPolicy']);
  const mapped = await create({ claim_rules: [{ claim: 'mail', from: 'email', into: ['saml'] }] });
  expect((await mapped.signIn(browser, doubtful)).xml).not.toContain('eve@');
  expect((await mapped.signIn(agent, user)).xml).toContain('ada@corp.example');
  const absent = await create({ name_id: 'attribute:family_name' });
  expect(statusesOf(await absent.signIn(agent, user))).toEqual(['Responder', 'InvalidNameIDPolicy']);
});

test('no value that users write themselves is a NameID: not of the profile, and not of an attribute (federation 9, security R163)', async () => {
  const token = await adminToken(service);
  const api = (path: string, method: string, body?: unknown) =>
    call(`${service.issuer}/admin/api/${path}`, { token, method, body });
  for (const [name, person] of [
    ['employee_number', 'write'],
    ['badge', 'read'],
  ])
    expect(await api('attributes', 'POST', { name, type: 'string', person })).toMatchObject({ status: 201 });
  const sp = await create({ name_id: 'attribute:badge' });
  const path = `clients/${sp.clientId}`;
  const refused = { status: 400, body: { error: 'invalid_request' } };
  for (const name of ['nickname', 'employee_number']) {
    await expect(create({ name_id: `attribute:${name}` })).rejects.toThrow('users can change this value');
    expect(await api(path, 'PATCH', { name_id: `attribute:${name}` })).toMatchObject(refused);
  }
  // neither does the attribute open later, nor does one begin with it
  const open = await api('attributes/badge', 'PATCH', { person: 'write' });
  expect(open).toMatchObject({ status: 409, body: { error: 'conflict' } });
  expect(open.body['error_description']).toContain(sp.clientId);
  expect(await api('attributes/badge', 'DELETE')).toMatchObject({ status: 204 });
  expect(await api('attributes', 'POST', { name: 'badge', type: 'string', person: 'write' })).toMatchObject({
    status: 409,
  });
  expect(await api(path, 'PATCH', { name_id: 'persistent' })).toMatchObject({ status: 200 });
  expect(await api('attributes', 'POST', { name: 'badge', type: 'string', person: 'write' })).toMatchObject({
    status: 201,
  });
  // one from before stays, and doctor names it
  await service.database.sql(`UPDATE clients SET name_id = 'attribute:badge' WHERE client_id = $1`, [sp.clientId]);
  expect(await api(path, 'PATCH', { name_id: 'attribute:badge', client_name: 'Old' })).toMatchObject({ status: 200 });
  const seen = await service.store.doctorView.writtenNameIds(['nickname']);
  expect(seen).toEqual([{ clientId: sp.clientId, name: 'badge' }]);
});

test('a value of more than 256 characters is no NameID (SAML Core 8.3.7)', async () => {
  const sp = await create({ name_id: 'attribute:given_name' });
  for (const [length, status] of [
    [256, 'Success'],
    [257, 'Responder'],
  ] as const) {
    const named = await service.createUser({ claims: { given_name: 'n'.repeat(length) } });
    expect(statusesOf(await sp.signIn(new UserAgent(service), named))[0]).toBe(status);
  }
});

test('the whole response is signed if the application wants it, and the assertion is encrypted to its certificate (SAML Core 2.3.4, 5.4)', async () => {
  const whole = await create({ sign_response: true });
  const signed = await whole.signIn(agent, user);
  expect(signed.xml.match(/<ds:Signature /g)).toHaveLength(2);
  await whole.read(signed, { wantAuthnResponseSigned: true });
  const sealed = await create({ encryption_certificate: keys.certificate });
  const answer = await sealed.signIn(agent, user);
  expect(answer.xml).toContain('EncryptedAssertion');
  expect(answer.xml).not.toContain('<saml:Assertion');
  const decryptionPvk = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect((await sealed.read(answer, { decryptionPvk })).nameID).toBeDefined();
  expect(answer.xml).toMatch(/aes256-gcm/);
});

test('a key is changed in three steps, with two certificates in between: what was signed before and after is known to each application (federation 9)', async () => {
  const sp = await create();
  const token = await adminToken(service);
  const base = `${service.issuer}/admin/api/saml-keys`;
  type Keys = { keys: { id: string; state: string; certificate: string }[] };
  const listed = async () => (await call(base, { token })).body as unknown as Keys;
  const [old] = (await listed()).keys;
  expect(await call(base, { token, body: {} })).toMatchObject({ status: 201 });
  expect((await listed()).keys.map(({ state }) => state).sort()).toEqual(['signing', 'waiting']);
  expect(await call(base, { token, body: {} })).toMatchObject({ status: 409 });
  const before = await idpMetadata(service);
  expect(before.certificates).toHaveLength(2);
  const next = (await listed()).keys.find(({ state }) => state === 'waiting')!;
  const bare = (pem: string) => pem.replace(/-----[A-Z ]+-----|\s+/g, '');
  expect((await sp.signIn(agent, user)).xml).toContain(bare(old!.certificate));
  expect(await call(`${base}/${old!.id}`, { method: 'DELETE', token })).toMatchObject({ status: 409 });
  expect(await call(`${base}/${next.id}/activate`, { token, body: {} })).toMatchObject({ status: 200 });
  const answer = await sp.signIn(agent, user);
  expect(answer.xml).toContain(bare(next.certificate));
  await sp.read(answer);
  expect(await call(`${base}/${old!.id}/activate`, { token, body: {} })).toMatchObject({ status: 409 });
  expect(await call(`${base}/${old!.id}`, { method: 'DELETE', token })).toMatchObject({ status: 204 });
  const after = await idpMetadata(service);
  expect(after.certificates).toEqual([bare(next.certificate)]);
  expect(new X509Certificate(next.certificate).publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 3072 });
});
