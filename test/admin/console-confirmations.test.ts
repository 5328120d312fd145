// Each dangerous act in the console asks for as much confirmation as its damage deserves.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let agent: UserAgent;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  ({ agent } = await openConsole(service, await service.createUser({ username: 'root', admin: true })));
});
afterAll(() => service?.stop());

interface Prepared {
  /** The page with the form. */
  page: string;
  action: string;
  fields?: Record<string, string>;
  /** What the administrator has to type. */
  name?: string;
  /** Whether the act has taken effect. */
  happened(): Promise<boolean>;
}

const row = async (text: string, values: unknown[] = []) => (await service.database.sql(text, values))[0];
let signInAge = 0;
/** Makes each sign-in so old, in minutes. */
async function ageSignIn(minutes: number) {
  await service.database.sql('UPDATE sessions SET auth_time = auth_time + make_interval(mins => $1)', [
    signInAge - minutes,
  ]);
  signInAge = minutes;
}
afterEach(() => ageSignIn(0));
const user = (change: Parameters<TestService['createUser']>[0] = {}) => service.createUser(change);
const userAct =
  (operation: string, change: Parameters<TestService['createUser']>[0], gone: (found: unknown) => boolean) =>
  async (): Promise<Prepared> => {
    const { sub, username } = await user(change);
    const page = `/admin/users/${sub}/${operation}`;
    return { page, action: page, name: username, happened: async () => gone(await service.store.users.find(sub)) };
  };
const clientAct =
  (operation: string, of: () => Promise<{ clientId: string; name: string }>) => async (): Promise<Prepared> => {
    const { clientId, name } = await of();
    const page = `/admin/clients/${clientId}/${operation}`;
    const happened = async () => (await service.store.clients.find(clientId))?.status !== 'enabled';
    return { page, action: page, name, happened };
  };
const newClient = async () => {
  const { clientId } = await service.createClient({ client_name: 'Wharf' });
  return { clientId, name: 'Wharf' };
};
async function session() {
  const person = await user();
  await new UserAgent(service).signIn(person);
  const found = await service.store.sessions.list({ sub: person.sub }, { limit: 1, after: undefined });
  const left = () => service.store.sessions.list({ sub: person.sub }, { limit: 1, after: undefined });
  return { person, sid: found[0]!.sid, happened: async () => (await left()).length === 0 };
}

const asked = ['button', 'confirmation', 'name'] as const;
/** The acts in the order of their damage. `recent`: whether they need a sign-in within 15 minutes. */
const acts: [act: string, asks: (typeof asked)[number], recent: boolean, prepare: () => Promise<Prepared>][] = [
  [
    'end one session',
    'button',
    false,
    async () => {
      const { person, sid, happened } = await session();
      const page = `/admin/sessions?user=${person.username}`;
      return { page, action: '/admin/sessions', fields: { end: sid }, happened };
    },
  ],
  [
    'revoke the access of an application',
    'button',
    false,
    async () => {
      const person = await user();
      const { clientId, ...client } = await service.createClient();
      await obtainTokens(service, { clientId, ...client }, person);
      const page = `/admin/users/${person.sub}`;
      const happened = async () => (await service.store.grants.list(person.sub)).length === 0;
      return { page, action: page, fields: { act: 'withdraw', client_id: clientId }, happened };
    },
  ],
  [
    'disable a user',
    'confirmation',
    true,
    userAct('disable', {}, (found) => (found as { status: string }).status === 'disabled'),
  ],
  [
    'remove the administrator role',
    'confirmation',
    true,
    userAct('no-admin', { admin: true }, (found) => !(found as { admin: boolean }).admin),
  ],
  [
    'remove the second factors of a user',
    'confirmation',
    true,
    async () => {
      const { sub } = await user();
      await service.database.sql(`INSERT INTO passkey_users (sub, user_handle) VALUES ($1, sha512($1::text::bytea))`, [
        sub,
      ]);
      await service.database.sql(
        `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, aaguid, backup_eligible, backed_up, name)
         VALUES ('blue', sha256('blue'), $1, '\\x00', 0, gen_random_uuid(), false, false, 'blue')`,
        [sub],
      );
      const page = `/admin/users/${sub}/second-factors/remove`;
      const happened = async () => (await service.store.secondFactors.list(sub)).length === 0;
      return { page, action: page, happened };
    },
  ],
  ['disable a client', 'confirmation', true, clientAct('disable', newClient)],
  [
    'end all sessions of a user',
    'name',
    false,
    async () => {
      const { person, happened } = await session();
      const page = `/admin/sessions/end?sub=${person.sub}`;
      return { page, action: '/admin/sessions/end', name: person.username, happened };
    },
  ],
  ['delete a user', 'name', true, userAct('delete', {}, (found) => found === undefined)],
  [
    'delete a group',
    'name',
    true,
    async () => {
      await user({ groups: ['short lived'] });
      const page = '/admin/groups/short%20lived/delete';
      const happened = async () => (await service.store.groups.find('short lived')) === undefined;
      return { page, action: page, name: 'short lived', happened };
    },
  ],
  ['delete a client', 'name', true, clientAct('delete', newClient)],
  ['make an administrator', 'name', true, userAct('make-admin', {}, (found) => (found as { admin: boolean }).admin)],
  [
    'rotate keys with immediate effect',
    'name',
    true,
    async () => {
      const count = async () => Number((await row('SELECT count(*) FROM signing_keys'))!['count']);
      const before = await count();
      const page = '/admin/keys/rotate';
      const fields = { alg_EdDSA: 'on', immediate: 'on' };
      const happened = async () => (await count()) > before;
      return { page, action: page, fields, name: new URL(service.issuer).host, happened };
    },
  ],
  [
    'withdraw a key',
    'name',
    true,
    async () => {
      const keys = '/admin/keys/rotate';
      await agent.post(keys, { ...formOf(await agent.get(keys), keys), alg_ES256: 'on' });
      const kid = String(
        (await row(`SELECT kid FROM signing_keys WHERE alg = 'ES256' ORDER BY created_at DESC`))!['kid'],
      );
      const happened = async () => (await row('SELECT FROM signing_keys WHERE kid = $1', [kid])) === undefined;
      const page = `/admin/keys/withdraw?kid=${kid}`;
      return { page, action: '/admin/keys/withdraw', name: kid.slice(0, 8), happened };
    },
  ],
  [
    'disable the client of the console',
    'name',
    true,
    clientAct('disable', async () => ({ clientId: 'gatehouse-console', name: 'Gatehouse console' })),
  ],
];

test('an act with less damage never asks for more than one with more damage (pages, dangerous acts)', () => {
  const levels = acts.map(([, asks]) => asked.indexOf(asks));
  expect(levels).toEqual(levels.toSorted());
});

describe.each(acts)('to %s', (act, asks, recent, prepare) => {
  test(`the administrator is asked for: ${asks}${recent ? ', with a recent sign-in' : ''} (pages, dangerous acts; security R91)`, async () => {
    const { page, action, fields = {}, name, happened } = await prepare();
    if (!recent) await ageSignIn(16);
    const shown = await agent.get(page);
    expect(shown.status).toBe(200);
    expect(shown.body.includes('name="typed"'), 'asks for a name').toBe(asks === 'name');
    // a list may have its filter at the same address
    const body = shown.body.slice(Math.max(0, shown.body.indexOf('<form id="ending"')));
    const form = { ...formOf({ ...shown, body }, action), ...fields };
    if (asks === 'name') {
      for (const typed of [undefined, '', 'something else', `${name}s`]) {
        const refused = await agent.post(action, { ...form, ...(typed !== undefined && { typed }) });
        expect([typed, refused.status]).toEqual([typed, 400]);
      }
      expect(await happened()).toBe(false);
    }
    const complete = { ...form, ...(asks === 'name' && { typed: name! }) };
    if (recent) {
      await ageSignIn(16);
      expect((await agent.post(action, complete)).location).toContain('/authorize?');
      expect(await happened()).toBe(false);
      await ageSignIn(0);
    }
    const done = await agent.post(action, complete);
    expect(done.location, act).toContain('done=');
    expect(await happened()).toBe(true);
  });
});

test('the page that disables a client says how many users are signed in to it (pages, dangerous acts)', async () => {
  // the last act has disabled the console's own client
  await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = 'gatehouse-console'`);
  const { agent: administrator } = await openConsole(service, await user({ admin: true }));
  const client = await service.createClient();
  const page = () => administrator.get(`/admin/clients/${client.clientId}/disable`);
  expect((await page()).body).toContain('No user is signed in to this client.');
  const person = await user();
  await obtainTokens(service, client, person);
  await obtainTokens(service, client, person);
  expect((await page()).body).toContain('1 user is signed in to this client and loses access immediately.');
  await obtainTokens(service, client, await user());
  expect((await page()).body).toContain('2 users are signed in to this client and lose access immediately.');
  await service.database.sql(
    `INSERT INTO users (sub, username) SELECT 'many-' || n, 'many-' || n FROM generate_series(1, 1001) AS n`,
  );
  await service.database.sql(
    `INSERT INTO client_sessions (sid, sub, client_id, client_epoch, scope, offline, auth_time, amr, expires_at)
     SELECT s.sid, u.sub, s.client_id, s.client_epoch, s.scope, true, s.auth_time, s.amr, s.expires_at
       FROM users u, (SELECT * FROM client_sessions WHERE client_id = $1 LIMIT 1) AS s WHERE u.sub LIKE 'many-%'`,
    [client.clientId],
  );
  expect((await page()).body).toContain('More than 1,000 users are signed in');
});
