// Specification sections 2.4 to 2.8: tests what each scope grants, and the shapes of UserInfo, address, settings and scope.
import { beforeAll, expect, test } from 'vitest';
import { call, obtainTokens, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import type { TestUser } from '../helpers/service.ts';
import { ask, createTestUser, everyClaim, everyScope, runCodeFlow, second, useService, wholeClient } from './kit.ts';

const service = useService();
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  client = await service().createClient(wholeClient, { firstParty: true });
  user = await createTestUser(service());
});

/** The claims that UserInfo at the second instance releases for a token of these scopes, without sub. */
async function released(scope: string): Promise<Record<string, unknown>> {
  const tokens = await obtainTokens(service(), client, user, { scope });
  const { sub, ...claims } = (await userinfo(second(service()), tokens.access_token)).body;
  expect(sub).toBe(user.sub);
  return claims;
}
async function addressOf(claims: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { code } = await runCodeFlow(service(), client, {}, { user: await createTestUser(service(), claims) });
  return (await ask(second(service()), '/user/me/address', `Bearer ${code}`)).body;
}

test('2.4 profile: it grants access to its fourteen claims and to no others (decisions 5)', async () => {
  const profile = Object.entries(everyClaim).filter(([name]) => name !== 'phone_number' && name !== 'address');
  const expected = { ...Object.fromEntries(profile), updated_at: expect.any(Number) };
  expect(await released('openid profile')).toEqual(expected);
});

test('2.4 email: it grants access to email, always together with email_verified (decisions 5)', async () => {
  expect(await released('openid email')).toEqual({ email: user.email, email_verified: false });
});

test('2.4 address: it grants access to the address claim (decisions 5)', async () => {
  expect(await released('openid address')).toEqual({ address: expect.objectContaining({ locality: 'Bremen' }) });
});

test('2.4 phone: it grants access to phone_number and phone_number_verified (decisions 5)', async () => {
  const claims = { phone_number: everyClaim.phone_number, phone_number_verified: false };
  expect(await released('openid phone')).toEqual(claims);
});

test('2.4 scope: it provides the user name and the group assignments (decisions 5)', async () => {
  const claims = { preferred_username: 'ada.l', groups: ['harbour', 'staff'] };
  expect(await released('openid scope')).toEqual(claims);
});

test('2.4 scopes of a token: they alone determine what protected endpoints return, and each is optional (decisions 5)', async () => {
  expect(await released('openid')).toEqual({});
  const tokens = await obtainTokens(service(), client, user, { scope: 'openid email' });
  const token = tokens.access_token;
  const info = await call(`${second(service())}/user/me/info`, { token });
  expect(info.body).toEqual({ sub: user.sub, email: user.email, email_verified: false });
  for (const name of ['address', 'scope'])
    expect((await call(`${second(service())}/user/me/${name}`, { token })).status).toBe(403);
});

test('2.5 UserInfo response: a JSON object with the string fields of the specification (decisions 5)', async () => {
  const { access_token } = await obtainTokens(service(), client, user, { scope: everyScope });
  const { headers, body } = await userinfo(second(service()), access_token);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  for (const field of ['sub', 'name', 'given_name', 'family_name', 'preferred_username', 'email', 'picture'])
    expect(body[field], field).toEqual(expect.any(String));
});

test('2.5 UserInfo response: a claim without a value is left out (decisions 5)', async () => {
  const { tokens } = await runCodeFlow(
    service(),
    client,
    {},
    { user: await service().createUser({ claims: { name: '' } }) },
  );
  const { body } = await userinfo(second(service()), tokens.access_token);
  expect(Object.keys(body).sort()).toEqual(['groups', 'preferred_username', 'sub', 'updated_at']);
});

test('2.6 subset: the address contains only the known fields, such as country and region (decisions 5)', async () => {
  expect(await addressOf({ address: { country: 'DE', region: 'Bremen' } })).toEqual({
    country: 'DE',
    region: 'Bremen',
    formatted: 'Bremen\nDE',
  });
  expect(await addressOf({})).toEqual({});
});

test('2.6 formatted: it may be the only field, and is then returned unchanged (decisions 5)', async () => {
  const address = { formatted: '1 Quay\n28195 Bremen' };
  expect(await addressOf({ address })).toEqual(address);
});

test('2.6 formatted and components: both are returned, and formatted combines the components (decisions 5)', async () => {
  const parts = { street_address: '1 Quay', locality: 'Bremen', postal_code: '28195', country: 'DE' };
  expect(await addressOf({ address: parts })).toEqual({ ...parts, formatted: '1 Quay\n28195 Bremen\nDE' });
  const both = { ...parts, formatted: '1 Quay, Bremen' };
  expect(await addressOf({ address: both })).toEqual(both);
});

test('2.6 component sub-fields: they have the names of the standard, and there are no others (decisions 5)', async () => {
  const names = ['street_address', 'locality', 'region', 'postal_code', 'country', 'formatted'];
  const stored = Object.fromEntries([...names, 'planet'].map((name) => [name, `the ${name}`]));
  expect(Object.keys(await addressOf({ address: stored })).sort()).toEqual([...names].sort());
});

test('2.7 key/value pairs: any JSON value under any key is stored unchanged (decisions 5)', async () => {
  const { code, user: owner } = await runCodeFlow(service(), client);
  const settings = { theme: 'dark', 'a/../b ✓': [1, null, { deep: true }], size: { width: 3.5 }, off: false };
  await ask(service().issuer, '/user/me/settings', `Bearer ${code}`, { settings });
  expect((await ask(second(service()), '/user/me/settings', `Bearer ${code}`)).body).toEqual({
    sub: owner.sub,
    client_id: client.clientId,
    settings,
  });
});

test('2.7 per client: another client of the same End-User can neither read nor change them (decisions 5)', async () => {
  const other = await service().createClient(wholeClient, { firstParty: true });
  const mine = await runCodeFlow(service(), client);
  const its = await runCodeFlow(service(), other, {}, { user: mine.user });
  await ask(service().issuer, '/user/me/settings', `Bearer ${mine.code}`, { settings: { a: 1 } });
  await ask(service().issuer, '/user/me/settings', `Bearer ${its.code}`, { settings: { a: null, b: 2 } });
  const read = async (code: string) =>
    (await ask(second(service()), '/user/me/settings', `Bearer ${code}`)).body['settings'];
  expect([await read(mine.code), await read(its.code)]).toEqual([{ a: 1 }, { b: 2 }]);
});

test('2.8 UserScope: the user name and the groups, as sub, username and scope (decisions 5)', async () => {
  const { code } = await runCodeFlow(service(), client, {}, { user });
  const { body } = await ask(second(service()), '/user/me/scope', `Bearer ${code}`);
  expect(body).toEqual({ sub: user.sub, username: user.username, scope: ['harbour', 'staff'] });
});
