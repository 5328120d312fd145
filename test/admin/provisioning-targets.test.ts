// Administrators manage provisioning targets by the console and by commands: they see what would happen, approve it, and see what each user came to.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, withoutLimits } from '../helpers/grants.ts';
import { provisioningOf } from '../helpers/provisioning.ts';
import { ScimApplications } from '../helpers/scim-application.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import type { UserAgent } from '../helpers/user-agent.ts';

let applications: ScimApplications;
let service: TestService;
let agent: UserAgent;
let folder: string;
let provisioning: ReturnType<typeof provisioningOf>;
beforeAll(async () => {
  applications = await new ScimApplications().start();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: applications.host } });
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  provisioning = provisioningOf(service, applications, await adminToken(service));
  folder = mkdtempSync(join(tmpdir(), 'targets-'));
});
afterAll(async () => {
  await service?.stop();
  await applications?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

const list = '/admin/provisioning-targets';
/** Sends the form of a page. */
async function send(page: string, action: string, fields: Record<string, string> = {}) {
  const form = formOf(await agent.get(page), action);
  return agent.follow(await agent.post(action, { ...form, ...fields }));
}

test('the console creates a target, says what the first run would do, approves that number alone, and shows the last answer of each user as text (federation 8, FR16)', async () => {
  expect((await agent.get(list)).body).toContain('No provisioning targets yet.');
  const { clientId } = await service.createClient();
  await provisioning.api('/groups', 'POST', { name: 'outward' });
  await provisioning.api(`/clients/${clientId}`, 'PATCH', { access: 'groups', access_groups: ['outward'] });
  await service.createUser({ username: 'walter<b>', groups: ['outward'] });
  applications.answers.set('console', ({ method }, response) =>
    method === 'POST' ? applications.send(response, 400, { scimType: 'invalidValue' }) : undefined,
  );
  const fields = {
    client: clientId,
    base_url: applications.uri('console'),
    bearer_token: 'of the console',
    leave: 'disable',
  };
  const made = await send(`${list}/new`, `${list}/new`, { ...fields, status: 'enabled', 'attributes.1': 'on' });
  expect(made.body).toContain('Provisioning target added');
  expect(made.body).toContain('Nothing is sent until you approve the first run');
  expect(made.body).not.toContain('of the console');
  const [target] = await service.store.provisioningTargets.list({ limit: 10, after: undefined });
  expect(target).toMatchObject({ client: clientId, attributes: ['displayName'], leave: 'disable' });
  const at = `/provisioning-targets/${target!.id}`;
  const uri = `${list}/${target!.id}`;
  await provisioning.until({ at }, ({ counts }) => counts.creating === 1);
  expect((await agent.get(uri)).body).toContain('1 account would be created or enabled.');
  const open = formOf(await agent.get(uri), `${uri}/approve`);
  const approved = await send(uri, `${uri}/approve`);
  expect(approved.body).toContain('Approved. Changes are being sent.');
  await provisioning.until({ at }, ({ counts }) => counts.failing === 1);
  const { body } = await agent.get(uri);
  expect(body).toContain('answered 400 invalidValue');
  expect(body).toContain('walter&lt;b&gt;');
  expect(body).not.toContain('walter<b>');
  applications.answers.delete('console');
  expect((await send(uri, `${uri}/reconcile`)).body).toContain('All users are being compared.');
  await provisioning.until({ at }, ({ counts }) => counts.active === 1);
  expect((await agent.get(uri)).body).toContain('1 active account');
  // a second approval, of a page that was open
  expect((await agent.post(`${uri}/approve`, open)).status).toBe(409);

  const shown = await runCommand(service, ['provisioning-target', 'users', clientId]);
  expect(shown.stdout).toMatch(/walter<b>\s+active\s+created\s+201/);
  const again = await runCommand(service, ['provisioning-target', 'approve', clientId]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('does not wait for an approval') as string });
});

test('a target at another origin demands the client secret anew, too: its access tokens would go there (security R162)', async () => {
  const { clientId } = await service.createClient();
  const own = { token_endpoint: 'https://wiki.example/token', client_id: 'gatehouse', client_secret: 'of the wiki' };
  const base = { client: clientId, base_url: 'https://wiki.example/scim' };
  const made = await provisioning.api('/provisioning-targets', 'POST', { ...base, ...own });
  expect(made.status).toBe(201);
  const at = `/provisioning-targets/${made.body['id'] as string}`;
  const elsewhere = { base_url: 'https://evil.example/scim' };
  const refusals = [
    elsewhere,
    { ...elsewhere, token_endpoint: 'https://evil.example/token' },
    { ...elsewhere, client_id: 'other' },
    { token_endpoint: 'https://evil.example/token' },
  ];
  for (const change of refusals)
    expect(await provisioning.api(at, 'PATCH', change)).toMatchObject({
      status: 400,
      body: { error_description: 'client_secret must be given again: another server gets it' },
    });
  const uri = `${list}/${made.body['id'] as string}/edit`;
  const { token_endpoint, client_id } = own;
  const typed = { ...elsewhere, token_endpoint, client_id, leave: 'disable', status: 'enabled' };
  const form = await agent.post(uri, { ...formOf(await agent.get(uri), uri), ...typed });
  expect(form.status).toBe(400);
  expect(form.body).toContain('Enter it again: another server will get it');
  expect((await provisioning.api(at)).body).toMatchObject(base);
  const changes = [
    { base_url: 'https://wiki.example/scim/v2', token_endpoint: 'https://wiki.example/oauth/token' },
    { ...elsewhere, client_secret: 'of the wiki' },
    {
      base_url: 'https://third.example/scim',
      bearer_token: 'new',
      token_endpoint: null,
      client_id: null,
      client_secret: null,
    },
  ];
  for (const change of changes) expect((await provisioning.api(at, 'PATCH', change)).status).toBe(200);
});

test('a plan of a configuration file at another origin is refused while the file does not give the secret (security R162)', async () => {
  const { clientId } = await service.createClient();
  const file = join(folder, 'target.yaml');
  const variables = { environment: { TARGET_SECRET: 'of the wiki' } };
  const config = (act: string, ...more: string[]) => runCommand(service, ['config', act, file, ...more], variables);
  const write = (origin: string, secret: string, rest = '') =>
    writeFileSync(
      file,
      [
        'apiVersion: gatehouse/v1\nname: targets\nprovisioning_targets:',
        `  ${clientId}:\n    base_url: ${origin}/scim\n    ${secret}${rest}\n`,
      ].join('\n'),
    );
  const ways = [
    ['bearer_token', ''],
    ['client_secret', '\n    token_endpoint: https://wiki.example/token\n    client_id: gatehouse'],
  ] as const;
  for (const [member, rest] of ways) {
    const given = `${member}: {env: TARGET_SECRET}`;
    write('https://wiki.example', given, rest);
    expect(await config('apply')).toMatchObject({ code: 0, stderr: '' });
    write('https://evil.example', 'leave: nothing', rest);
    const refused = { code: 1, stdout: '', stderr: expect.stringContaining(`${member} must be given again`) as string };
    expect(await config('plan')).toMatchObject(refused);
    expect(await config('apply')).toMatchObject(refused);
    write('no address', 'leave: nothing', rest);
    expect(await config('apply')).toMatchObject({ code: 1, stdout: '' });
    // with the secret the file says who gets it, also where it is the same
    write('https://other.example', given, rest);
    expect((await config('plan')).stdout).toContain(`${member}: (set) → (changes)`);
    expect(await config('apply')).toMatchObject({ code: 0, stderr: '' });
    expect((await config('plan')).code).toBe(0);
    writeFileSync(file, 'apiVersion: gatehouse/v1\nname: targets\n');
    expect(await config('apply', '--prune')).toMatchObject({ code: 0, stderr: '' });
  }
});
