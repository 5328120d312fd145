// Changes a client, a user and a group by command: the members that are given, and no others.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { eventsOf } from '../helpers/events.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

const succeeds = async (...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(service, args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};

test('client change sets registered metadata and settings, keeps the others, and --unset removes a member (decisions 8)', async () => {
  const { clientId, redirectUri } = await service.createClient({ policy_uri: 'https://rp.example.com/policy' });
  const printed = await succeeds(
    'client',
    'change',
    clientId,
    '--name',
    'Harbour',
    '--tos-uri',
    'https://rp.example.com/terms',
    '--start-uri',
    'https://rp.example.com/start',
    '--access-token-lifetime',
    '60',
    '--unset',
    'policy-uri',
    '--require-pkce',
  );
  expect(printed).toBe(`Changed the client ${clientId}.\n`);
  const client = (await service.store.clients.find(clientId))!;
  expect(client.metadata).toMatchObject({
    client_name: 'Harbour',
    tos_uri: 'https://rp.example.com/terms',
    require_pkce: true,
  });
  expect(client.metadata.redirect_uris).toEqual([redirectUri]);
  expect(client.metadata).not.toHaveProperty('policy_uri');
  expect(client).toMatchObject({ startUri: 'https://rp.example.com/start', accessTokenLifetime: 60 });
  expect(await eventsOf(service, { type: 'client.updated', clientId })).toMatchObject([{ actor: 'command line' }]);
});

test('client change prints the secret that a new authentication method needs, once (decisions 2)', async () => {
  const { clientId } = await service.createClient({ token_endpoint_auth_method: 'none' });
  const printed = await succeeds('client', 'change', clientId, '--auth-method', 'client_secret_post');
  expect(printed).toMatch(/client_secret {2,}[\w-]{20,}/);
  expect(await succeeds('client', 'show', clientId)).not.toMatch(/client_secret {2,}[\w-]{20,}/);
});

test('client change refuses what registration refuses, and changes nothing (RFC 7591 2)', async () => {
  const { clientId } = await service.createClient();
  const before = await service.store.clients.find(clientId);
  const refused = await runCommand(service, ['client', 'change', clientId, '--redirect-uri', 'javascript:alert(1)']);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('redirect_uris');
  expect(await service.store.clients.find(clientId)).toEqual(before);
});

test('user change merges claims, replaces groups, and --unset removes a claim (decisions 8)', async () => {
  const user = await service.createUser({ groups: ['crew'], claims: { name: 'Ada', nickname: 'A' } });
  const changed = ['--claim', 'name=Ada L.', '--group', 'harbour', '--unset', 'claim.nickname'];
  expect(await succeeds('user', 'change', user.username, ...changed)).toBe(`Changed ${user.username}.\n`);
  const { groups, claims } = (await service.store.users.find(user.sub))!;
  expect({ groups, claims }).toEqual({ groups: ['harbour'], claims: { name: 'Ada L.' } });
  expect(await succeeds('user', 'change', user.username, '--claim', 'name=Ada L.')).toBe(
    `Nothing of ${user.username} changed.\n`,
  );
});

test('group change describes a group, and leaves its members alone (decisions 8)', async () => {
  const { sub } = await service.createUser({ groups: ['pilots'] });
  expect(await succeeds('group', 'change', 'pilots', '--description', 'Who steers')).toBe(
    'Changed the group pilots.\n',
  );
  expect(await service.store.groups.find('pilots')).toMatchObject({ description: 'Who steers' });
  expect((await service.store.users.find(sub))!.groups).toEqual(['pilots']);
});
