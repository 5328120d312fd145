// Tests the attributes that a connection sets by its rules (federation 4, 7).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let admin: (path: string, options: object) => ReturnType<typeof call>;
const rules = [
  { to: 'cost_centre', from: 'department.number' },
  { to: 'floor', from: 'floor' },
  { to: 'teams', from: 'teams' },
  { to: 'badge', from: 'badge' },
  { to: 'name', from: 'name' },
];
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      PROFILE_EDITABLE: 'nickname',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  const token = await adminToken(service);
  admin = (path, options) => call(`${service.issuer}/admin/api${path}`, { token, ...options });
  for (const attribute of [
    { name: 'cost_centre', type: 'string', label: { en: 'Cost centre' }, person: 'write', max: 10 },
    { name: 'floor', type: 'number', person: 'read' },
    { name: 'teams', type: 'string_list', person: 'none' },
    { name: 'badge', type: 'string', unique: true },
    { name: 'hobby', type: 'string', label: { en: 'Hobby' }, person: 'write' },
  ])
    expect((await admin('/attributes', { method: 'POST', body: attribute })).status).toBe(201);
  await addConnection(service, provider, 'corporate', { provisioning: 'on', claim_rules: rules });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});

/** Signs in with an answer that says this of the user. */
async function signIn(sub: string, said: Record<string, unknown>): Promise<UserAgent> {
  provider.be({ sub, preferred_username: sub, auth_time: Math.floor(Date.now() / 1000), ...said });
  const agent = new UserAgent(service);
  await signInBy(agent, 'corporate');
  return agent;
}
const claimsOf = async (username: string) => (await service.store.users.findByUsername(username))!.claims;

describe('a user who signs in by a connection', () => {
  test('gets the attributes that its rules name, each by its type, at the first sign-in and at later ones (federation 4)', async () => {
    await signIn('ada', { department: { number: 'D 100' }, floor: '3', teams: ['a', 'b'], badge: '0042', name: 'Ada' });
    expect(await claimsOf('ada')).toEqual({
      cost_centre: 'D 100',
      floor: 3,
      teams: ['a', 'b'],
      badge: '0042',
      name: 'Ada',
    });
    await signIn('ada', { department: { number: 'D 200' }, floor: 4, teams: 'c', badge: '0042', name: 'Ada' });
    expect(await claimsOf('ada')).toEqual({
      cost_centre: 'D 200',
      floor: 4,
      teams: ['c'],
      badge: '0042',
      name: 'Ada',
    });
  });

  test('keeps values that the answer does not have, and gets no value that does not fit (federation 4, F15)', async () => {
    await signIn('ben', { department: { number: 'D 1' }, floor: 1 });
    await signIn('ben', { department: { number: 'longer than ten' }, floor: 'upstairs', teams: [7], badge: { a: 1 } });
    expect(await claimsOf('ben')).toEqual({ cost_centre: 'D 1', floor: 1 });
  });

  test('gets no value of a unique attribute that another user has, and is signed in (federation 7)', async () => {
    await signIn('cleo', { badge: '0100', floor: 1 });
    const agent = await signIn('dan', { badge: '0100', floor: 2 });
    expect((await agent.get('/account')).status).toBe(200);
    expect([await claimsOf('cleo'), await claimsOf('dan')]).toEqual([{ badge: '0100', floor: 1 }, { floor: 2 }]);
    // the value is free once its user has another one
    await signIn('cleo', { badge: '0101', floor: 1 });
    await signIn('dan', { badge: '0100', floor: 2 });
    expect(await claimsOf('dan')).toEqual({ badge: '0100', floor: 2 });
  });

  test('cannot change attributes of the connection on the account pages, not even by a posted form (federation 4, F64)', async () => {
    const agent = await signIn('eve', { department: { number: 'D 5' }, floor: 1 });
    expect((await agent.get('/account/profile')).body).toContain('This comes from <bdi>The corporate</bdi>');
    const page = await agent.get('/account/profile/edit');
    expect(page.body).toContain('Cost centre');
    expect(page.body).not.toContain('name="attribute.cost_centre"');
    expect(page.body).toContain('name="attribute.hobby"');
    const fields = { ...hiddenFields(page.body), 'attribute.cost_centre': 'mine', 'attribute.hobby': 'chess' };
    expect((await agent.post('/account/profile/edit', fields)).status).toBe(303);
    expect(await claimsOf('eve')).toEqual({ cost_centre: 'D 5', floor: 1, hobby: 'chess' });
  });

  test('gets nothing for an attribute that was deleted since (federation 4)', async () => {
    await changeConnection(service, 'corporate', { claim_rules: [...rules, { to: 'gone', from: 'gone' }] });
    await signIn('fay', { gone: 'x', floor: 1 });
    expect(await claimsOf('fay')).toEqual({ floor: 1 });
  });
});

test.each([
  ['an attribute that is not defined', 'unknown_one', 'create the attribute first'],
  ['a reserved claim', 'email_verified', 'must be a standard claim or an attribute'],
  ['a member of objects', '__proto__', 'must be a standard claim or an attribute'],
])('a rule for %s is refused, and the answer says why (federation 4, FR41)', async (_title, to, words) => {
  const answer = await admin('/connections/corporate', { method: 'PATCH', body: { claim_rules: [{ to, from: 'x' }] } });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body)).toContain(words);
});
