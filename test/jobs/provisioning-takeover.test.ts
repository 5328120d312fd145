// Which account that was there before a user gets at an application: none of a name that the user chose, unless the account has the user's address.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../helpers/grants.ts';
import { createMailBed } from '../helpers/mail-bed.ts';
import { type MadeTarget, provisioningOf } from '../helpers/provisioning.ts';
import { type Resource, ScimApplications } from '../helpers/scim-application.ts';
import { startDirectory } from '../helpers/scim.ts';
import type { TestService } from '../helpers/service.ts';

const bed = createMailBed();
let applications: ScimApplications;
let service: TestService;
let admin: string;
let provisioning: ReturnType<typeof provisioningOf>;
/** Of a client that every user may use. */
let target: MadeTarget;
beforeAll(async () => {
  applications = await new ScimApplications().start();
  ({ service, admin } = await bed.start({ OUTBOUND_ALLOW: applications.host }));
  provisioning = provisioningOf(service, applications, admin);
});
beforeEach(async () => {
  target = await provisioning.newTarget({ users: 0 });
  expect((await api(`/clients/${target.clientId}`, 'PATCH', { access: 'everyone', access_groups: [] })).status).toBe(
    200,
  );
  await provisioning.settled(target);
});
afterAll(async () => {
  await bed.stop();
  await applications?.stop();
});

const api = (...call: Parameters<(typeof provisioning)['api']>) => provisioning.api(...call);
/** A user who signs up with a name of their choice, and with an address that our mail confirms. */
async function signUp(username: string, email: string): Promise<string> {
  await bed.order('/sign-up', { email });
  const fields = { username, name: 'Mallory', new_password: 'three umbrellas under a lighthouse' };
  expect((await bed.follow(await bed.linkTo(email, /./), fields)).status).toBe(303);
  return (await service.store.users.findByEmail(email))!.sub;
}
const add = (userName: string, email: string): Resource =>
  applications.add(target.app, {
    userName,
    active: true,
    title: 'Administrator of the wiki',
    emails: [{ value: email, primary: true }],
  });
const accountOf = async (sub: string) => (await provisioning.accounts(target)).find((one) => one.sub === sub)!;
/** Waits until the application was asked about the user. */
const answered = (sub: string) =>
  eventually(
    () => accountOf(sub),
    (one) => one?.['answered_at'] !== undefined && !one.waiting,
  );

test('a user who signs up with the name of an account that was there does not get it, and an administrator who renames the user solves it (federation 8)', async () => {
  const there = add('wikiadmin', 'boss@company.example');
  const before = structuredClone(there);
  const sub = await signUp('wikiadmin', 'mallory@evil.example');
  expect(await answered(sub)).toMatchObject({
    state: 'none',
    problem: 'taken',
    waiting: false,
    last_failure: expect.stringMatching(/^an account of this name exists there: /),
  });
  expect((await provisioning.shown(target)).counts.failing).toBe(1);
  await api(`${target.at}/reconcile`, 'POST', {});
  await provisioning.settled(target);
  expect(there).toEqual(before);
  // with another name the user gets another account
  expect((await api(`/users/${sub}`, 'PATCH', { username: 'mallory' })).status).toBe(200);
  await provisioning.settled(target);
  expect(applications.named(target.app, 'mallory')).toMatchObject([{ externalId: sub, active: true }]);
  // and its end is the end of this one alone
  expect((await api(`/users/${sub}`, 'DELETE')).status).toBe(204);
  await provisioning.settled(target);
  expect(applications.named(target.app, 'mallory')).toMatchObject([{ active: false }]);
  expect(there).toEqual(before);
});

test('a user gets the account of the own name if it has the address that is confirmed here by more than a word (federation 8, security R156)', async () => {
  const own = add('carol', 'Carol@Home.example');
  const carol = await signUp('carol', 'carol@home.example');
  expect(await answered(carol)).toMatchObject({ state: 'active', last_act: 'adopted', remote_id: own.id });
  expect(own).toMatchObject({ externalId: carol, title: 'Administrator of the wiki' });
  // the letter K of Kelvin is another one, though its lower case is k
  const kelvin = add('mike', 'mi\u212Ae@home.example');
  const mike = await signUp('mike', 'mike@home.example');
  expect(await answered(mike)).toMatchObject({ state: 'none', problem: 'taken' });
  // the word of a provider is not enough; an administrator's is
  kelvin['emails'] = [{ value: 'mike@home.example' }];
  await service.database.sql(`UPDATE users SET email_confirmed_by = 'word' WHERE sub = $1`, [mike]);
  await api(`${target.at}/reconcile`, 'POST', {});
  await provisioning.settled(target);
  expect(await accountOf(mike)).toMatchObject({ state: 'none', problem: 'taken' });
  expect(kelvin).not.toHaveProperty('externalId');
  expect((await api(`/users/${mike}`, 'PATCH', { email_verified: true })).status).toBe(200);
  await provisioning.settled(target);
  expect(await accountOf(mike)).toMatchObject({ state: 'active', last_act: 'adopted', remote_id: kelvin.id });
});

test('a user whose name an administrator, an import or a source gave gets the account of this name (federation 8)', async () => {
  const directory = await startDirectory(service, admin, 'hr');
  const bySource = add('given-by-source', 'a@company.example');
  const byAdministrator = add('given-by-admin', 'b@company.example');
  const byImport = add('given-by-import', 'd@company.example');
  const byRename = add('given-by-rename', 'c@company.example');
  const { id: first } = await directory.user({ userName: 'given-by-source' });
  const { body } = await api('/users', 'POST', { username: 'given-by-admin' });
  const imported = await fetch(`${service.issuer}/admin/api/users/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'text/csv' },
    body: 'username\ngiven-by-import\n',
  });
  expect([imported.status, await imported.text()]).toEqual([200, expect.stringContaining('"created":1')]);
  const { sub: ofImport } = (await service.store.users.findByUsername('given-by-import'))!;
  const renamed = await signUp('chosen', 'chosen@home.example');
  expect(await answered(renamed)).toMatchObject({ state: 'active', last_act: 'created' });
  applications.of(target.app).delete(applications.named(target.app, 'chosen')[0]!.id);
  expect((await api(`/users/${renamed}`, 'PATCH', { username: 'given-by-rename' })).status).toBe(200);
  await provisioning.settled(target);
  expect([bySource, byAdministrator, byImport, byRename].map((one) => one['externalId'])).toEqual([
    first,
    body['sub'],
    ofImport,
    renamed,
  ]);
});
