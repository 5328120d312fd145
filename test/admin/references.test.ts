// What names a group, a client or a connection follows when that gets another name, and does not mean a later one of the same name.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenTypes } from '../../src/oauth/token-exchange.ts';
import { jwtBearerGrant, tokenExchangeGrant } from '../../src/oauth/registrable-values.ts';
import { newShape } from '../../src/entities/entity.ts';
import { declaredEntities } from '../helpers/entities.ts';
import { eventsOf } from '../helpers/events.ts';
import { exchange, made } from '../helpers/exchange.ts';
import { adminToken, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { type Directory, startDirectory } from '../helpers/scim.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

let service: TestService;
let token: string;
let directory: Directory;
let client: TestClient;
let count = 0;
const issuerOf = (name: string) => `https://${name}.example`;
beforeAll(async () => {
  service = await startTestService({
    environment: { ...withoutLimits, ID_JAG: 'on', LIMIT_SCIM: '0', CONNECTIONS_ALLOW: 'directory.example:636' },
  });
  token = await adminToken(service);
  directory = await startDirectory(service, token, 'hr');
  client = await service.createClient({
    scope: 'openid',
    grant_types: ['authorization_code', tokenExchangeGrant, jwtBearerGrant],
  });
});
afterAll(() => service?.stop());

const api = (path: string, method = 'GET', body?: object) =>
  call(`${service.issuer}/admin/api/${path}`, { method, token, ...(body && { body }) });

const connectionOf = (id: string) => ({
  id,
  kind: 'ldap',
  display_name: id,
  status: 'disabled',
  settings: { url: 'ldaps://directory.example', bind_dn: 'cn=reader', base: 'ou=people' },
  secret: 'a secret of the directory',
});
const makeConnection = (id: string, members: object) =>
  made(service, token, 'connections', { ...connectionOf(id), ...members });

/** Makes a group by each way to make one, and everything that can name it. */
async function named(by: 'administrator' | 'directory') {
  const name = `crew-${++count}`;
  const group = by === 'directory' ? await directory.group(name) : await made(service, token, 'groups', { name });
  await api('groups', 'POST', { name: `${name}-others` });
  const one = await service.createClient();
  await made(service, token, `clients/${one.clientId}`, { access: 'groups', access_groups: [name] }, 'PATCH');
  const target = await made(service, token, 'provisioning-targets', {
    client: one.clientId,
    base_url: 'https://app.example/scim',
    bearer_token: 'a secret of the application',
    groups: [name],
  });
  const link = await made(service, token, 'sign-up-links', {
    name,
    uses: 5,
    groups: [name],
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const entry = { client: client.clientId, id: 'there', scopes: ['read'] };
  const server = await made(service, token, 'connected-servers', {
    name,
    issuer: issuerOf(name),
    clients: [
      { ...entry, groups: [name] },
      { ...entry, client: one.clientId, groups: [`${name}-others`, name] },
    ],
  });
  await makeConnection(name, {
    group_rules: [
      { equals: 'sailors', group: name },
      { all: true, prefix: 'all-' },
    ],
    default_groups: [`${name}-others`, name],
  });
  return {
    name,
    async rename(to: string) {
      if (by === 'administrator') await made(service, token, `groups/${name}`, { name: to }, 'PATCH');
      else await directory.patch(`/Groups/${group['id'] as string}`, { op: 'replace', path: 'displayName', value: to });
    },
    async remove() {
      const path = by === 'administrator' ? undefined : `/Groups/${group['id'] as string}`;
      const { status } = path ? await directory.send('DELETE', path) : await api(`groups/${name}`, 'DELETE');
      expect(status).toBeLessThan(300);
    },
    /** The groups at each place. */
    async places() {
      const [{ body: access }, { body: sent }, { body: given }, { body: known }, { body: connection }] =
        await Promise.all([
          api(`clients/${one.clientId}`),
          api(`provisioning-targets/${target['id'] as string}`),
          api(`sign-up-links/${link['id'] as string}`),
          api(`connected-servers/${server['id'] as string}`),
          api(`connections/${name}`),
        ]);
      return {
        client: access['access_groups'],
        target: sent['groups'],
        link: given['groups'],
        server: (known['clients'] as { groups: string[] }[]).map(({ groups }) => groups),
        rules: connection['group_rules'],
        defaults: connection['default_groups'],
      };
    },
  };
}

describe.each(['administrator', 'directory'] as const)('by the %s', (by) => {
  test('a renamed group has its new name at every place (federation 7, federation 8)', async () => {
    const { name, rename, places } = await named(by);
    const others = `${name}-others`;
    await rename(`deck-${name}`);
    expect(await places()).toEqual({
      client: [`deck-${name}`],
      target: [`deck-${name}`],
      link: [`deck-${name}`],
      server: [[`deck-${name}`], [others, `deck-${name}`]],
      rules: [
        { equals: 'sailors', group: `deck-${name}` },
        { all: true, prefix: 'all-' },
      ],
      defaults: [others, `deck-${name}`],
    });
    const names = { group_before: name, group: `deck-${name}` };
    const events = await eventsOf(service, { type: 'connection.changed' });
    expect(events.at(-1)?.detail).toEqual({ connection: name, members: ['default_groups', 'group_rules'], ...names });
    expect((await eventsOf(service, { type: 'connected_server.changed' })).at(-1)?.detail).toEqual({
      connected_server: name,
      members: ['clients'],
      ...names,
    });
  });

  test('a later group with the name of a deleted one gets nothing of it (federation 7, security R133)', async () => {
    const { name, remove, places } = await named(by);
    await remove();
    const others = `${name}-others`;
    const left = { client: [], target: [], link: [], server: [[others]] };
    expect(await places()).toMatchObject(left);
    await made(service, token, 'groups', { name });
    const user = await service.createUser({ groups: [name] });
    const { id_token: idToken } = await obtainTokens(service, client, user);
    const answer = await exchange(service.issuer, client, idToken, {
      subject_token_type: tokenTypes.idToken,
      requested_token_type: tokenTypes.idJag,
      audience: issuerOf(name),
    });
    expect([answer.status, answer.body['error']]).toEqual([400, 'unauthorized_client']);
    expect(await places()).toMatchObject(left);
  });
});

test('a connected server forgets a deleted client: a later one of its id gets no ID-JAG (security R133)', async () => {
  const metadata = { redirect_uris: ['https://shop.example/'], scope: 'openid' };
  const create = () => api('clients', 'POST', { client_id: 'shop', ...metadata });
  expect((await create()).status).toBe(201);
  const entry = { id: 'there', scopes: ['read'], groups: [] };
  const { id } = await made(service, token, 'connected-servers', {
    name: 'Tracker',
    issuer: 'https://tracker.example',
    clients: [
      { client: 'shop', ...entry },
      { client: client.clientId, ...entry },
    ],
  });
  expect((await api('clients/shop', 'DELETE')).status).toBeLessThan(300);
  expect((await create()).status).toBe(201);
  const { body } = await api(`connected-servers/${id as string}`);
  expect([body['clients'], body['version']]).toEqual([[{ client: client.clientId, ...entry }], 2]);
});

test('an entry of a connected server names groups that exist (security R133)', async () => {
  const answer = await api('connected-servers', 'POST', {
    name: 'Typing error',
    issuer: 'https://typing.example',
    clients: [{ client: client.clientId, id: 'there', scopes: ['read'], groups: ['no-such-group'] }],
  });
  expect([answer.status, answer.body['error_description']]).toEqual([
    400,
    'clients names the group no-such-group, which does not exist',
  ]);
});

test('a connection does not get the id of a deleted one that a client names: the client would admit the users of another (federation 7, F27)', async () => {
  await makeConnection('short-lived', {});
  const { clientId } = await service.createClient();
  await made(service, token, `clients/${clientId}`, { connections: ['short-lived'] }, 'PATCH');
  await api('connections/short-lived', 'DELETE');
  const again = () => api('connections', 'POST', connectionOf('short-lived'));
  const refused = await again();
  expect([refused.status, refused.body['error_description']]).toEqual([
    409,
    `the client ${clientId} still names a connection that had this id: change that client first, or choose another id`,
  ]);
  await made(service, token, `clients/${clientId}`, { connections: [] }, 'PATCH');
  expect((await again()).status).toBe(201);
});

test('no noun that an address names is called . or .., which programs take for folders (pages, groups)', async () => {
  const members = { claims: ['nickname'] };
  for (const name of ['.', '..']) {
    const answer = await api('scopes', 'POST', { name, ...members });
    expect([answer.status, answer.body['error_description']]).toEqual([
      400,
      expect.stringContaining('name must not be'),
    ]);
    const named = (await declaredEntities()).flatMap((of) => {
      const key = of.key ?? (of.find?.includes(`${of.called} = `) ? of.called : undefined);
      return key !== undefined && key in of.members && newShape(of).shape[key]!.safeParse(name).success
        ? [of.table]
        : [];
    });
    // a provisioning target has the id of its client, which is never one of these
    expect(named).toEqual(['provisioning_targets']);
  }
});
