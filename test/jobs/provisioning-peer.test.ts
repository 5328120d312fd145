// Keeps a SCIM server of another make (scim2-server of PyPI) in step, with outages between the changes. Only the walk `provisioning` fetches and runs it.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminToken, eventually, withoutLimits } from '../helpers/grants.ts';
import { provisioningOf } from '../helpers/provisioning.ts';
import { ScimApplications, type Values } from '../helpers/scim-application.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { build, buildFolder, run } from '../relying-parties/fetched-parties.ts';

const isWalk = process.env['WALKS'] === 'all';
const bearer = 'token of the peer';
let service: TestService;
let peer: ChildProcess | undefined;
let port: number;
let dump: string;
let program: string;
beforeAll(async () => {
  if (!isWalk) return;
  const folder = buildFolder('scim2-server');
  build(folder, () => {
    run('python3', ['-m', 'venv', folder]);
    const requirements = join(import.meta.dirname, '../relying-parties/scim2-server/requirements.txt');
    run(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  });
  program = join(folder, 'bin/scim2-server');
  port = await freePort();
  dump = mkdtempSync(join(tmpdir(), 'gatehouse-peer-'));
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${port}` } });
});
afterAll(async () => {
  await service?.stop();
  peer?.kill('SIGKILL');
  if (dump) rmSync(dump, { recursive: true, force: true });
});

const uri = () => `http://127.0.0.1:${port}`;
const ask = async (path: string): Promise<Values> => {
  const response = await fetch(`${uri()}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  return (await response.json()) as Values;
};
const all = async (collection: 'Users' | 'Groups') => ((await ask(`/${collection}`))['Resources'] ?? []) as Values[];

async function start(): Promise<void> {
  peer = spawn(program, ['--port', String(port), '--bearer-token', bearer], { stdio: 'ignore' });
  await eventually(
    () => ask('/Users').catch(() => undefined),
    (answer) => answer !== undefined,
  );
}
/** An outage: the server is frozen, and answers nothing. */
const freeze = () => peer!.kill('SIGSTOP');
const thaw = () => peer!.kill('SIGCONT');

test.runIf(isWalk)(
  'a SCIM server of another make is kept in step through creation, rename, loss of access, disabling and return, with outages between (federation 8)',
  async () => {
    await start();
    const applications = new ScimApplications();
    const provisioning = provisioningOf(service, applications, await adminToken(service));
    const { api, settled, pausesEnd } = provisioning;
    const target = await provisioning.newTarget({ users: 3, base_url: uri(), bearer_token: bearer });
    const [ada, bob, eve] = target.subs as [string, string, string];
    await api(target.at, 'PATCH', { groups: [target.group] });
    await settled(target);
    const of = async (sub: string) => (await all('Users')).find((one) => one['externalId'] === sub);
    const members = async () =>
      ((await all('Groups'))[0]?.['members'] as { value: string }[] | undefined)?.map(({ value }) => value).sort() ??
      [];
    expect(await all('Users')).toHaveLength(3);
    expect(await members()).toEqual((await all('Users')).map((one) => String(one['id'])).sort());
    const ids = new Set((await all('Users')).map((one) => one['id']));

    const steps: [() => Promise<unknown>, () => Promise<void>][] = [
      [
        () => api(`/users/${ada}`, 'PATCH', { username: 'ada-renamed', claims: { name: 'Ada', family_name: 'L' } }),
        async () =>
          expect(await of(ada)).toMatchObject({
            userName: 'ada-renamed',
            displayName: 'Ada',
            name: { familyName: 'L' },
          }),
      ],
      [
        () => api(`/users/${ada}`, 'PATCH', { claims: { family_name: null } }),
        async () => expect((await of(ada))!['name'] ?? {}).not.toHaveProperty('familyName'),
      ],
      [
        () => api(`/users/${bob}`, 'PATCH', { groups: [] }),
        async () => {
          expect(await of(bob)).toMatchObject({ active: false });
          expect(await members()).toHaveLength(2);
        },
      ],
      [
        () => api(`/users/${eve}`, 'PATCH', { status: 'disabled' }),
        async () => expect(await of(eve)).toMatchObject({ active: false }),
      ],
      [
        () => api(`/users/${bob}`, 'PATCH', { groups: [target.group] }),
        async () => {
          expect(await of(bob)).toMatchObject({ active: true });
          expect(await members()).toHaveLength(2);
        },
      ],
      [
        () => api(`/users/${eve}`, 'PATCH', { status: 'enabled' }),
        async () => expect(await of(eve)).toMatchObject({ active: true }),
      ],
    ];
    for (const [change, check] of steps) {
      freeze();
      await change();
      await eventually(
        () => service.database.sql(`SELECT FROM provisioning_runs WHERE target_id = $1 AND failures > 0`, [target.id]),
        (rows) => rows.length === 1,
      );
      thaw();
      await pausesEnd(target);
      await settled(target);
      await check();
    }
    expect(new Set((await all('Users')).map((one) => one['id']))).toEqual(ids);
    // an account that an administrator there deletes is made anew, and the group gets it
    const { id } = (await of(ada))!;
    await fetch(`${uri()}/Users/${String(id)}`, { method: 'DELETE', headers: { authorization: `Bearer ${bearer}` } });
    await api(`${target.at}/reconcile`, 'POST', {});
    await settled(target);
    expect(await of(ada)).toMatchObject({ userName: 'ada-renamed', active: true });
  },
);
