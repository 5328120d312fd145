// Administrators manage provisioning targets by the console and by commands: they see what would happen, approve it, and see what each user came to.
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
let provisioning: ReturnType<typeof provisioningOf>;
beforeAll(async () => {
  applications = await new ScimApplications().start();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: applications.host } });
  const admin = await service.createUser({ username: 'root', admin: true });
  ({ agent } = await openConsole(service, admin));
  provisioning = provisioningOf(service, applications, await adminToken(service));
});
afterAll(async () => {
  await service?.stop();
  await applications?.stop();
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
