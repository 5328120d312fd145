// Provisioning targets: which accounts an application gets, when nothing is sent, and what a hostile or absent application can do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attemptLimits } from '../../src/domain/provisioning/target-client.ts';
import { openConsole } from '../helpers/console.ts';
import { adminToken, eventually, withoutLimits } from '../helpers/grants.ts';
import { eventsOf } from '../helpers/events.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { type MadeTarget, provisioningOf } from '../helpers/provisioning.ts';
import { type Resource, ScimApplications, type ScimRequest, type Values } from '../helpers/scim-application.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let applications: ScimApplications;
let service: TestService;
let provisioning: ReturnType<typeof provisioningOf>;
beforeAll(async () => {
  applications = await new ScimApplications().start();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: applications.host } });
  provisioning = provisioningOf(service, applications, await adminToken(service));
});
afterAll(async () => {
  await service?.stop();
  await applications?.stop();
});

const api = (...call: Parameters<(typeof provisioning)['api']>) => provisioning.api(...call);
const changeUser = async (sub: string, body: object) => {
  const { status } = await api(`/users/${sub}`, 'PATCH', body);
  expect(status).toBe(200);
};
const accountsAt = ({ app }: MadeTarget): Resource[] => [...applications.of(app).values()];
const accountOf = (target: MadeTarget, sub: string): Resource | undefined =>
  accountsAt(target).find((one) => one['externalId'] === sub);
const operationsOf = ({ body }: ScimRequest) => body['Operations'] as { op: string; path: string; value: unknown }[];
const hidden = 'the application does not show who is in the group: it was not written, so that no member is lost';
const failureOfGroup = async (target: MadeTarget, name: string) => {
  const [row] = await service.database.sql<{ last_failure: string | null }>(
    'SELECT last_failure FROM provisioned_groups WHERE target_id = $1 AND name = $2',
    [target.id, name],
  );
  return row?.last_failure;
};
const group = (target: MadeTarget, name: string) =>
  [...applications.of(target.app, 'Groups').values()].find((one) => one['displayName'] === name);
const membersOf = (one: Resource | undefined) =>
  ((one?.['members'] ?? []) as { value: string }[]).map(({ value }) => value);
const summaryOf = async (target: MadeTarget, sub: string) =>
  (await provisioning.accounts(target)).find((one) => one.sub === sub)!;

describe('who has an account', () => {
  test('a new target is held with its counts, and sends nothing until an administrator approves what was shown (federation 8, FR16)', async () => {
    const target = await provisioning.newTarget({ users: 3, approved: false });
    const held = await provisioning.until(target, ({ counts }) => counts.creating === 3);
    expect(held).toMatchObject({ state: 'held', counts: { active: 0, creating: 3, leaving: 0, waiting: 3 } });
    await changeUser(target.subs[0]!, { username: `${target.app}-renamed` });
    await provisioning.settled(target);
    expect(applications.requests.filter(({ app }) => app === target.app)).toEqual([]);
    expect(await api(`${target.at}/approve`, 'POST', {})).toMatchObject({ status: 200, body: { leaving: 0 } });
    expect(await provisioning.settled(target)).toMatchObject({ state: 'active', counts: { active: 3, waiting: 0 } });
    expect(
      accountsAt(target)
        .map((one) => one['userName'])
        .sort(),
    ).toEqual([`${target.app}-renamed`, `${target.app}-user-1`, `${target.app}-user-2`].sort());
    expect((await api(`${target.at}/approve`, 'POST', {})).status).toBe(409);
    const [approved] = await eventsOf(service, { type: 'provisioning_target.approved', clientId: target.clientId });
    expect(approved!.detail).toEqual({ provisioning_target: target.id, leaving: 0 });
  });

  test('an account has the chosen attributes, a confirmed address only, and the subject of the user for the client (federation 8)', async () => {
    const target = await provisioning.newTarget({
      users: 0,
      metadata: { subject_type: 'pairwise' },
      attributes: ['name', 'displayName', 'emails', 'locale'],
    });
    const claims = {
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      locale: 'en-GB',
      nickname: 'ada',
    };
    const user = { groups: [target.group], claims };
    const confirmed = await service.createUser({
      ...user,
      username: 'ada-out',
      email: 'ada-out@corp.example',
      emailVerified: true,
    });
    const other = await service.createUser({ ...user, username: 'eve-out', email: 'eve-out@corp.example' });
    await provisioning.until(target, ({ counts }) => counts.active === 2);
    const [subject] = await service.database.sql<{ subject: string }>(
      'SELECT subject FROM pairwise_subjects WHERE sub = $1',
      [confirmed.sub],
    );
    const account = accountOf(target, subject!.subject)!;
    expect(account).toEqual({
      id: account.id,
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'ada-out',
      externalId: subject!.subject,
      active: true,
      name: { formatted: 'Ada Lovelace', givenName: 'Ada', familyName: 'Lovelace' },
      displayName: 'Ada Lovelace',
      emails: [{ value: 'ada-out@corp.example', type: 'work', primary: true }],
      locale: 'en-GB',
    });
    expect(applications.named(target.app, 'eve-out')[0]).not.toHaveProperty('emails');
    expect(JSON.stringify(accountsAt(target))).not.toContain(other.sub);
    const [post] = applications.writes(target.app);
    expect(post!.headers).toMatchObject({
      authorization: `Bearer token of ${target.app}`,
      'content-type': 'application/scim+json',
    });
  });

  test('the account follows a rename, changed attributes, the loss of a group, disabling, deletion and each return (federation 8, FR37)', async () => {
    const target = await provisioning.newTarget({ users: 2 });
    const [sub, other] = target.subs as [string, string];
    const { id } = accountOf(target, sub)!;
    const writes = () => applications.writes(target.app).length;
    await changeUser(sub, { username: `${target.app}-renamed`, claims: { given_name: 'Ada', family_name: 'L' } });
    await provisioning.settled(target);
    await changeUser(sub, { claims: { family_name: null } });
    await provisioning.settled(target);
    expect(operationsOf(applications.writes(target.app).at(-1)!)).toEqual([{ op: 'remove', path: 'name.familyName' }]);
    expect(accountOf(target, sub)).toMatchObject({ id, userName: `${target.app}-renamed`, name: { givenName: 'Ada' } });
    // what the application does not get changes nothing there
    const before = writes();
    await changeUser(sub, { claims: { nickname: 'ada' } });
    await provisioning.settled(target);
    expect(writes()).toBe(before);

    const leaves: [object, object][] = [
      [{ groups: [] }, { groups: [target.group] }],
      [{ status: 'disabled' }, { status: 'enabled' }],
    ];
    for (const [leave, back] of leaves) {
      await changeUser(sub, leave);
      await provisioning.settled(target);
      expect(accountOf(target, sub)).toMatchObject({ id, active: false });
      expect(await summaryOf(target, sub)).toMatchObject({ state: 'left', last_act: 'disabled', answer_status: 200 });
      await changeUser(sub, back);
      await provisioning.settled(target);
      expect(accountOf(target, sub)).toMatchObject({ id, active: true });
    }
    await api(`/clients/${target.clientId}`, 'PATCH', { access_groups: ['another group'] });
    await provisioning.settled(target);
    expect(accountsAt(target).map((one) => one['active'])).toEqual([false, false]);
    await api(`/clients/${target.clientId}`, 'PATCH', { access_groups: [target.group] });
    await provisioning.settled(target);
    expect(accountsAt(target).map((one) => one['active'])).toEqual([true, true]);

    expect((await api(`/users/${other}`, 'DELETE')).status).toBe(204);
    await provisioning.settled(target);
    expect(accountOf(target, other)).toMatchObject({ active: false });
    expect(accountsAt(target)).toHaveLength(2);
  });

  test('several changes of a user are sent in their order, and a change that comes during a request is sent after it (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    let release = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      applications.answers.set(target.app, (request, response) => {
        if (request.method !== 'PATCH') return undefined;
        applications.answers.delete(target.app);
        release = () => applications.answer(request, response);
        resolve();
        return 'answered';
      });
    });
    await changeUser(sub, { username: `${target.app}-first` });
    await arrived;
    await changeUser(sub, { username: `${target.app}-second` });
    await changeUser(sub, { username: `${target.app}-third` });
    await eventually(
      () => service.database.sql(`SELECT FROM provisioned_users WHERE target_id = $1 AND revision >= 4`, [target.id]),
      (rows) => rows.length === 1,
    );
    expect(applications.writes(target.app).filter(({ method }) => method === 'PATCH')).toHaveLength(1);
    release();
    await provisioning.settled(target);
    const names = applications.writes(target.app).filter(({ method }) => method === 'PATCH');
    expect(names.map((one) => operationsOf(one)[0]!.value)).toEqual([`${target.app}-first`, `${target.app}-third`]);
  });

  test('what a target no longer does with accounts, it leaves: nothing stays as it is, and delete deletes only what it made (federation 8, F82)', async () => {
    const kept = await provisioning.newTarget({ users: 1, leave: 'nothing' });
    await changeUser(kept.subs[0]!, { groups: [] });
    await provisioning.settled(kept);
    expect(accountsAt(kept)).toMatchObject([{ active: true }]);

    const target = await provisioning.newTarget({ users: 1, leave: 'delete' });
    const before = applications.add(target.app, { userName: 'was-there', active: true, title: 'Chief' });
    const { sub } = await service.createUser({ username: 'was-there', groups: [target.group] });
    await provisioning.until(target, ({ counts }) => counts.active === 2);
    expect(before).toMatchObject({ externalId: sub, title: 'Chief' });
    expect(await summaryOf(target, sub)).toMatchObject({ last_act: 'adopted', remote_id: before.id });
    for (const one of [sub, target.subs[0]!]) await changeUser(one, { groups: [] });
    await provisioning.settled(target);
    expect(accountsAt(target)).toMatchObject([{ id: before.id, active: false }]);
    // a deleted account is made anew
    await changeUser(target.subs[0]!, { groups: [target.group] });
    await provisioning.settled(target);
    expect(accountOf(target, target.subs[0]!)).toMatchObject({ active: true });
  });
});

describe('whom an account is of', () => {
  test('an account is found by externalId, then by userName, and never by an address; one of another externalId is left alone (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 0 });
    const newUser = (username: string, email?: string) =>
      service.createUser({ username, groups: [target.group], ...(email && { email, emailVerified: true }) });
    const taken = applications.add(target.app, { userName: 'taken-out', externalId: 'of another system' });
    const byAddress = applications.add(target.app, {
      userName: 'root-out',
      emails: [{ value: 'mine@out.example' }],
    });
    const { sub: refused } = await newUser('taken-out');
    const { sub: mailed } = await newUser('mailed-out', 'mine@out.example');
    await provisioning.until(target, ({ counts }) => counts.active === 1 && counts.failing === 1);
    expect(taken).toEqual({ id: taken.id, userName: 'taken-out', externalId: 'of another system' });
    expect(byAddress).not.toHaveProperty('externalId');
    expect(accountOf(target, mailed)).toMatchObject({ userName: 'mailed-out' });
    expect(await summaryOf(target, refused)).toMatchObject({ state: 'none', problem: 'taken', waiting: false });
    // the id that the target gave goes before every name
    const { id } = accountOf(target, mailed)!;
    applications
      .of(target.app)
      .set(id, { ...applications.of(target.app).get(id)!, externalId: '', userName: 'other-out' });
    await changeUser(mailed, { claims: { name: 'Mailed' } });
    await provisioning.settled(target);
    expect(applications.of(target.app).get(id)).toMatchObject({ displayName: 'Mailed' });
    expect(accountsAt(target)).toHaveLength(3);
  });

  test('what was written is remembered, and not what the application made of it (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    const account = accountOf(target, sub)!;
    account['userName'] = String(account['userName']).toUpperCase();
    account['displayName'] = 'as the application likes it';
    const before = applications.writes(target.app).length;
    expect((await api(`${target.at}/reconcile`, 'POST', {})).status).toBe(204);
    await provisioning.settled(target);
    expect(applications.writes(target.app)).toHaveLength(before);
  });

  test('reconciliation makes a missing account anew and enables one that was disabled there, and the night begins it by itself (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 2 });
    const [gone, off] = target.subs as [string, string];
    const find = (sub: string) => accountOf(target, sub);
    for (const begin of [
      () => api(`${target.at}/reconcile`, 'POST', {}),
      () =>
        service.database.sql(
          `WITH told AS (SELECT pg_notify('gatehouse', 'provisioned')) UPDATE provisioning_runs SET reviewed_at = now() - interval '25 hours' FROM told WHERE target_id = $1`,
          [target.id],
        ),
    ]) {
      const { id } = find(gone)!;
      applications.of(target.app).delete(id);
      find(off)!['active'] = false;
      await begin();
      await eventually(
        async () => accountsAt(target),
        (all) => all.length === 2 && all.every((one) => one['active'] === true),
      );
      expect(find(gone)!.id).not.toBe(id);
      await provisioning.settled(target);
    }
  });
});

describe('too much at once', () => {
  test('an application whose access_groups are emptied by mistake is held, and nothing is sent until an administrator says so (federation F83, FR16)', async () => {
    const target = await provisioning.newTarget({ users: 7 });
    const before = applications.requests.length;
    await api('/groups', 'POST', { name: `empty of ${target.app}` });
    await api(`/clients/${target.clientId}`, 'PATCH', { access_groups: [`empty of ${target.app}`] });
    await provisioning.until(target, ({ state }) => state === 'held');
    const held = await provisioning.settled(target);
    expect(held.counts).toMatchObject({ active: 7, leaving: 7 });
    expect(applications.requests).toHaveLength(before);
    const events = await eventsOf(service, { type: 'provisioning_target.held' });
    expect(events.map(({ detail }) => detail)).toContainEqual({ provisioning_target: target.id, leaving: 7 });
    // a user changes meanwhile: it waits, too
    await changeUser(target.subs[0]!, { username: `${target.app}-meanwhile` });
    await provisioning.settled(target);
    expect(applications.requests).toHaveLength(before);
    // the approval is for as many as were shown
    expect((await api(`${target.at}/approve`, 'POST', { leaving: 6 })).status).toBe(409);
    // corrected: there is nothing to end, and the approval only lets go on
    await api(`/clients/${target.clientId}`, 'PATCH', { access_groups: [target.group] });
    await provisioning.until(target, ({ counts }) => counts.leaving === 0);
    expect(await api(`${target.at}/approve`, 'POST', { leaving: 7 })).toMatchObject({ body: { leaving: 0 } });
    await provisioning.settled(target);
    expect(accountsAt(target).every((one) => one['active'] === true)).toBe(true);
    // meant: approved, all accounts end
    await api(`/clients/${target.clientId}`, 'PATCH', { access_groups: [`empty of ${target.app}`] });
    await provisioning.until(target, ({ state, counts }) => state === 'held' && counts.leaving === 7);
    await api(`${target.at}/approve`, 'POST', { leaving: 7 });
    expect(await provisioning.settled(target)).toMatchObject({ state: 'active', counts: { active: 0 } });
    expect(accountsAt(target).every((one) => one['active'] === false)).toBe(true);
  });

  test('five users who leave are followed at once, and a sixth within a day is held, if that is over a tenth (federation 8, FR16)', async () => {
    const target = await provisioning.newTarget({ users: 8 });
    for (const sub of target.subs.slice(0, 5)) {
      await changeUser(sub, { status: 'disabled' });
      await provisioning.settled(target);
    }
    expect(accountsAt(target).filter((one) => one['active'] === false)).toHaveLength(5);
    await changeUser(target.subs[5]!, { status: 'disabled' });
    await provisioning.until(target, ({ state }) => state === 'held');
    expect(accountsAt(target).filter((one) => one['active'] === false)).toHaveLength(5);
    await api(`${target.at}/approve`, 'POST', { leaving: 1 });
    await provisioning.settled(target);
    expect(accountsAt(target).filter((one) => one['active'] === false)).toHaveLength(6);
    // the approval begins a new count
    await changeUser(target.subs[6]!, { status: 'disabled' });
    expect(await provisioning.settled(target)).toMatchObject({ state: 'active', counts: { active: 1 } });
  });

  test('users who are disabled in one statement are held as well, and with sixty others they are not (federation 8, FR16)', async () => {
    const few = await provisioning.newTarget({ users: 6 });
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = ANY ($1)`, [few.subs]);
    await provisioning.until(few, ({ state, counts }) => state === 'held' && counts.leaving === 6);
    expect(accountsAt(few).every((one) => one['active'] === true)).toBe(true);
    const many = await provisioning.newTarget({ users: 1 });
    const rows = `SELECT $1 || '-bulk-' || n, ARRAY[$2]::text[] FROM generate_series(1, 60) AS n`;
    await service.database.sql(`INSERT INTO users (username, groups) ${rows}`, [many.app, many.group]);
    await provisioning.until(many, ({ counts }) => counts.active === 61);
    await service.database.sql(
      `UPDATE users SET status = 'disabled' WHERE sub IN (SELECT sub FROM users WHERE username LIKE $1 || '-bulk-%' LIMIT 6)`,
      [many.app],
    );
    await provisioning.until(many, ({ counts }) => counts.active === 55);
    expect((await provisioning.settled(many)).state).toBe('active');
  });
});

describe('a hostile or absent application', () => {
  test('401, 429 with Retry-After, 500, 503 and a redirect inward pause all requests to the target, and what waits is sent afterwards (federation F82, FR46)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const other = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    const cases: [number, Record<string, string>, number][] = [
      [401, {}, 5],
      [429, { 'retry-after': '3000' }, 3000],
      [500, {}, 5],
      [503, { 'retry-after': new Date(Date.now() + 7_200_000).toUTCString() }, 7000],
      [302, { location: `${applications.uri(other.app)}/Users` }, 5],
    ];
    for (const [status, headers, least] of cases) {
      applications.answers.set(target.app, (_, response) => applications.send(response, status, {}, headers));
      const inward = applications.requests.filter(({ app }) => app === other.app).length;
      const name = `${target.app}-after-${status}`;
      await changeUser(sub, { username: name });
      const failing = await provisioning.until(
        target,
        ({ state, counts }) => state === 'failing' && counts.failing === 1,
      );
      expect(failing.counts.waiting).toBe(1);
      expect(await summaryOf(target, sub)).toMatchObject({ last_failure: `answered ${status}`, answer_status: status });
      const [{ pause }] = (await service.database.sql<{ pause: number }>(
        'SELECT extract(epoch FROM retry_at - now())::float8 AS pause FROM provisioning_runs WHERE target_id = $1',
        [target.id],
      )) as [{ pause: number }];
      expect(pause).toBeGreaterThan(least - 200 < 0 ? 0 : least - 200);
      expect(applications.requests.filter(({ app }) => app === other.app)).toHaveLength(inward);
      applications.answers.delete(target.app);
      await provisioning.pausesEnd(target);
      await provisioning.until(target, ({ state }) => state === 'active');
      expect(accountOf(target, sub)).toMatchObject({ userName: name });
    }
    expect(accountsAt(target)).toHaveLength(1);
  });

  test('a list that ignores the filter matches no account, and an administrator there stays as before (federation F82)', async () => {
    const target = await provisioning.newTarget({ users: 0 });
    const root = applications.add(target.app, { userName: 'root', active: true, roles: [{ value: 'admin' }] });
    const before = structuredClone(root);
    applications.answers.set(target.app, ({ method, id }, response) =>
      method === 'GET' && id === undefined
        ? applications.send(response, 200, { totalResults: 1, Resources: accountsAt(target) })
        : undefined,
    );
    const { sub } = await service.createUser({ username: 'unfiltered-out', groups: [target.group] });
    await provisioning.until(target, ({ counts }) => counts.active === 1);
    await changeUser(sub, { status: 'disabled' });
    await provisioning.settled(target);
    expect(root).toEqual(before);
    expect(accountOf(target, sub)).toMatchObject({ userName: 'unfiltered-out', active: false });
    expect(accountsAt(target)).toHaveLength(2);
  });

  test('an empty echo makes no second account: the account is found, or nothing more is sent (federation F82)', async () => {
    const target = await provisioning.newTarget({ users: 0 });
    const emptily = (hides: boolean) =>
      applications.answers.set(target.app, (request, response) => {
        if (request.method === 'POST') {
          applications.add(target.app, request.body);
          return applications.send(response, 201);
        }
        return hides && request.method === 'GET' && request.id === undefined
          ? applications.send(response, 200, { Resources: [] })
          : undefined;
      });
    emptily(false);
    const { sub: found } = await service.createUser({ username: 'echo-out', groups: [target.group] });
    await provisioning.until(target, ({ counts }) => counts.active === 1);
    expect(await summaryOf(target, found)).toMatchObject({ remote_id: accountOf(target, found)!.id });
    emptily(true);
    const { sub } = await service.createUser({ username: 'hidden-out', groups: [target.group] });
    await provisioning.until(target, ({ counts }) => counts.failing === 1 && counts.waiting === 0);
    expect(await summaryOf(target, sub)).toMatchObject({ state: 'none', problem: 'unnamed' });
    await changeUser(sub, { username: 'hidden-out-2' });
    await api(`${target.at}/reconcile`, 'POST', {});
    await provisioning.settled(target);
    expect(accountsAt(target)).toHaveLength(2);
  });

  test('an answer of 10 MiB is not read to its end, ids that lead elsewhere are no ids, and a refused request is tried later (federation F82)', async () => {
    const target = await provisioning.newTarget({ users: 0 });
    let answer: (request: ScimRequest) => [number, unknown] | undefined = () => [
      200,
      { Resources: 'x'.repeat(10 << 20) },
    ];
    applications.answers.set(target.app, (request, response) => {
      const given = answer(request);
      return given && applications.send(response, ...given);
    });
    const { sub } = await service.createUser({ username: 'big-out', groups: [target.group] });
    await provisioning.until(target, ({ state, counts }) => state === 'failing' && counts.failing === 1);
    expect((await summaryOf(target, sub))['last_failure']).toMatch(/too long/);
    answer = ({ method }) => (method === 'GET' ? [200, { Resources: [{ id: '..', userName: 'big-out' }] }] : undefined);
    await provisioning.pausesEnd(target);
    await provisioning.until(target, ({ counts }) => counts.active === 1);
    expect(
      applications.requests.filter((one) => one.app === target.app).every(({ collection }) => collection === 'Users'),
    ).toBe(true);
    answer = ({ method }) =>
      method === 'PATCH' ? [400, { scimType: 'invalidPath', detail: 'big-out is not good' }] : undefined;
    await changeUser(sub, { username: 'big-out-2' });
    await provisioning.until(target, ({ counts }) => counts.failing === 1);
    const failed = await summaryOf(target, sub);
    expect(failed).toMatchObject({ last_failure: 'answered 400 invalidPath', waiting: true });
    expect((await provisioning.shown(target)).state).toBe('active');
  });

  test('administrators get one mail about an application that fails for an hour, and another one only after it has worked again (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1, metadata: { client_name: 'Wiki of the harbour' } });
    const [sub] = target.subs as [string];
    await service.createUser({ admin: true, email: 'boss-of-targets@example.com', emailVerified: true });
    const told = async () => {
      const events = await eventsOf(service, { type: 'provisioning_target.failing', clientId: target.clientId });
      return events.map(({ detail }) => detail);
    };
    const failures = async () => {
      const [run] = await service.database.sql<{ failures: number }>(
        'SELECT failures FROM provisioning_runs WHERE target_id = $1',
        [target.id],
      );
      return run!.failures;
    };
    /** Lets the next attempt fail as if the first one was so many minutes ago. */
    const failAfter = async (minutes: number) => {
      const before = await failures();
      await service.database.sql(
        'UPDATE provisioning_runs SET failing_since = now() - make_interval(mins => $2) WHERE target_id = $1 AND failures > 0',
        [target.id, minutes],
      );
      await provisioning.pausesEnd(target);
      await eventually(failures, (count) => count > before);
    };
    for (const round of [1, 2]) {
      applications.answers.set(target.app, (_, response) => applications.send(response, 503));
      await changeUser(sub, { username: `${target.app}-untold-${round}` });
      await eventually(failures, (count) => count > 0);
      await failAfter(59);
      expect(await told()).toHaveLength(round - 1);
      await failAfter(61);
      await failAfter(200);
      expect(await told()).toEqual(Array.from({ length: round }, () => ({ provisioning_target: target.id })));
      applications.answers.delete(target.app);
      await provisioning.pausesEnd(target);
      await provisioning.settled(target);
    }
    const mails = await eventually(
      async () =>
        (await mailsIn(service.dataDir)).filter(
          ({ parsed }) => parsed.subject === 'An application gets no account changes',
        ),
      ({ length }) => length >= 2,
    );
    expect(mails).toHaveLength(2);
    const [{ parsed, text }] = mails as [(typeof mails)[number]];
    expect([parsed.to].flat()[0]?.text).toBe('boss-of-targets@example.com');
    expect(text).toContain('Wiki of the harbour');
    expect(text).toContain(`${service.issuer}/admin/provisioning-targets`);
  });

  test('a target that answers nothing holds up no other, and neither does one that is not there (federation 8, F82)', async () => {
    const silent = await provisioning.newTarget({ users: 1 });
    const other = await provisioning.newTarget({ users: 1 });
    let waits = 0;
    applications.answers.set(silent.app, () => {
      waits++;
      return 'answered';
    });
    await changeUser(silent.subs[0]!, { username: `${silent.app}-unheard` });
    await eventually(
      async () => waits,
      (count) => count > 0,
    );
    await changeUser(other.subs[0]!, { username: `${other.app}-heard` });
    await provisioning.settled(other);
    expect(accountOf(other, other.subs[0]!)).toMatchObject({ userName: `${other.app}-heard` });
    expect((await provisioning.shown(silent)).counts.waiting).toBe(1);
  });
});

describe('groups', () => {
  test('a group has its members with an account, in portions of 100, and follows renames, leavers and its end (federation 8, FR38)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    await service.database.sql(
      `INSERT INTO users (username, groups) SELECT $1 || '-member-' || n, ARRAY[$2]::text[] FROM generate_series(1, 230) AS n`,
      [target.app, target.group],
    );
    await provisioning.until(target, ({ counts }) => counts.active === 231);
    const ofOthers = { id: 'group-of-others', displayName: `crew of ${target.app}`, members: [{ value: 'stranger' }] };
    applications.of(target.app, 'Groups').set(ofOthers.id, ofOthers);
    await api('/groups', 'POST', { name: ofOthers.displayName });
    await api(`/groups/${encodeURIComponent(ofOthers.displayName)}/members`, 'POST', { add: [target.subs[0]!] });
    expect((await api(target.at, 'PATCH', { groups: [target.group, ofOthers.displayName] })).status).toBe(200);
    await provisioning.settled(target);
    const made = group(target, target.group)!;
    expect(new Set(membersOf(made))).toEqual(new Set([...applications.of(target.app).keys()]));
    const portions = applications
      .writes(target.app)
      .filter(({ collection, method, id }) => collection === 'Groups' && method === 'PATCH' && id === made.id)
      .map((one) => (operationsOf(one)[0]!.value as Values[]).length);
    expect(portions).toEqual([100, 100, 31]);
    expect(membersOf(ofOthers)).toEqual(['stranger', accountOf(target, target.subs[0]!)!.id]);

    await changeUser(target.subs[0]!, { status: 'disabled' });
    await provisioning.settled(target);
    expect(membersOf(ofOthers)).toEqual(['stranger']);
    expect(membersOf(made)).toHaveLength(230);
    await api(`/groups/${encodeURIComponent(target.group)}`, 'PATCH', { name: `renamed of ${target.app}` });
    await provisioning.settled(target);
    expect(group(target, `renamed of ${target.app}`)).toMatchObject({ id: made.id });
    expect(membersOf(group(target, `renamed of ${target.app}`))).toHaveLength(230);
    expect((await api(target.at, 'PATCH', { groups: [] })).status).toBe(200);
    await provisioning.settled(target);
    // only the group that this service made is deleted
    expect([...applications.of(target.app, 'Groups').values()]).toEqual([ofOthers]);
  });

  test('a group that is deleted at the application is made anew with all its members (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 3 });
    await api(target.at, 'PATCH', { groups: [target.group] });
    await provisioning.settled(target);
    applications.of(target.app, 'Groups').clear();
    await changeUser(target.subs[0]!, { groups: [] });
    await provisioning.settled(target);
    await api(`${target.at}/reconcile`, 'POST', {});
    await provisioning.settled(target);
    expect(membersOf(group(target, target.group))).toHaveLength(2);
  });

  test('a group that the application hid until its creation was refused is not deleted in the end (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const { app } = target;
    const crew = { id: 'crew', displayName: target.group, members: [{ value: 'stranger' }] };
    applications.of(app, 'Groups').set('crew', crew);
    applications.answers.set(app, ({ filter }, response) =>
      filter?.startsWith('displayName') ? applications.send(response, 501) : undefined,
    );
    await api(target.at, 'PATCH', { groups: [target.group] });
    await eventually(
      () => failureOfGroup(target, target.group),
      (said) => said === 'answered 409 uniqueness',
    );
    applications.answers.delete(app);
    await provisioning.pausesEnd(target);
    await provisioning.settled(target);
    expect(membersOf(crew)).toEqual(['stranger', accountOf(target, target.subs[0]!)!.id]);
    await api(target.at, 'PATCH', { groups: [] });
    await provisioning.settled(target);
    expect([...applications.of(app, 'Groups').values()]).toEqual([{ ...crew, members: [{ value: 'stranger' }] }]);
  });

  test('a group that is gone when it is renamed is made anew with all its members (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 3 });
    await api(target.at, 'PATCH', { groups: [target.group] });
    await provisioning.settled(target);
    applications.of(target.app, 'Groups').clear();
    const name = `anew of ${target.app}`;
    await api(`/groups/${encodeURIComponent(target.group)}`, 'PATCH', { name });
    await provisioning.settled(target);
    expect(membersOf(group(target, name))).toHaveLength(3);
  });
});

describe('an application without PATCH', () => {
  // a service has at most 32 targets
  beforeAll(async () => {
    await service.database.sql('DELETE FROM provisioning_targets');
  });

  test.each([501, 405, 404])(
    'that answers %s to it gets whole accounts and groups, and keeps what it has beside what is sent (federation 8, RFC 7644 3.5.1)',
    async (status) => {
      const target = await provisioning.newTarget({ users: 0 });
      const { app } = target;
      applications.withoutPatch.set(app, status);
      const name = `put-${status}`;
      const before = applications.add(app, {
        userName: name,
        active: true,
        title: 'Chief',
        groups: [{ value: 'of the application' }],
        name: { familyName: 'Old', honorificPrefix: 'Dr' },
      });
      const { sub } = await service.createUser({
        username: name,
        groups: [target.group],
        claims: { family_name: 'New', name: 'Dr New' },
      });
      await provisioning.until(target, ({ counts }) => counts.active === 1);
      const account = () => applications.of(app).get(before.id)!;
      expect(account()).toEqual({
        id: before.id,
        schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
        userName: name,
        externalId: sub,
        active: true,
        title: 'Chief',
        displayName: 'Dr New',
        name: { formatted: 'Dr New', familyName: 'New', honorificPrefix: 'Dr' },
      });
      await changeUser(sub, { claims: { name: null } });
      await provisioning.settled(target);
      expect(account()).not.toHaveProperty('displayName');
      expect(account()['name']).toEqual({ familyName: 'New', honorificPrefix: 'Dr' });

      const ofOthers = { id: `crew-${status}`, displayName: `crew of ${app}`, members: [{ value: 'stranger' }] };
      applications.of(app, 'Groups').set(ofOthers.id, ofOthers);
      await api('/groups', 'POST', { name: ofOthers.displayName });
      await api(`/groups/${encodeURIComponent(ofOthers.displayName)}/members`, 'POST', { add: [sub] });
      await api(target.at, 'PATCH', { groups: [ofOthers.displayName] });
      await provisioning.settled(target);
      const members = () => applications.of(app, 'Groups').get(ofOthers.id)!['members'];
      expect(members()).toEqual([{ value: 'stranger' }, { value: before.id }]);
      await changeUser(sub, { status: 'disabled' });
      await provisioning.settled(target);
      expect(account()).toMatchObject({ active: false, title: 'Chief' });
      expect(members()).toEqual([{ value: 'stranger' }]);
      // it is asked once for the first PATCH, and again after its address or its token may have changed
      const asked = applications.requests.filter((one) => one.app === app);
      expect(asked.filter(({ method }) => method === 'PATCH').length).toBeLessThanOrEqual(2);
    },
  );

  test('a change that another client makes between the reading and the writing is not undone (RFC 7644 3.14)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const { app } = target;
    const [sub] = target.subs as [string];
    applications.withoutPatch.set(app, 501);
    let between = 1;
    applications.answers.set(app, ({ method }) => {
      if (method === 'PUT' && between-- > 0) accountOf(target, sub)!['title'] = 'Captain';
      return undefined;
    });
    await changeUser(sub, { claims: { name: 'Ada' } });
    await provisioning.settled(target);
    expect(accountOf(target, sub)).toMatchObject({ title: 'Captain', displayName: 'Ada' });
  });

  test.each([403, 429, 503])(
    'a refused PATCH of one account holds up no other where /ServiceProviderConfig answers %s (federation 8)',
    async (status) => {
      const target = await provisioning.newTarget({ users: 2 });
      const [sub, other] = target.subs as [string, string];
      const { id } = accountOf(target, sub)!;
      const kinds = [undefined, 'invalidValue'];
      for (const scimType of kinds) {
        applications.answers.set(target.app, (request, response) => {
          if (request.collection === 'ServiceProviderConfig') return applications.send(response, status);
          return request.method === 'PATCH' && request.id === id
            ? applications.send(response, 400, { scimType })
            : undefined;
        });
        const name = `Other ${scimType}`;
        await changeUser(sub, { claims: { name } });
        await eventually(
          () => summaryOf(target, sub),
          (one) => one['last_failure'] === ['answered 400', scimType].filter(Boolean).join(' '),
        );
        await changeUser(other, { claims: { name } });
        await eventually(
          async () => accountOf(target, other),
          (account) => account?.['displayName'] === name,
        );
        expect((await provisioning.shown(target)).state).toBe('active');
      }
      const asked = applications.requests.filter(({ app }) => app === target.app);
      expect(asked.filter(({ collection }) => collection === 'ServiceProviderConfig')).toHaveLength(1);
    },
  );

  test('a PATCH that is refused with the kind of its error is no reason to ask for /ServiceProviderConfig (RFC 7644 3.12)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    applications.answers.set(target.app, (request, response) =>
      request.method === 'PATCH' ? applications.send(response, 400, { scimType: 'invalidValue' }) : undefined,
    );
    await changeUser(target.subs[0]!, { claims: { name: 'Refused' } });
    await provisioning.until(target, ({ counts }) => counts.failing === 1);
    const asked = applications.requests.filter(({ app }) => app === target.app);
    expect(asked.map(({ collection }) => collection)).not.toContain('ServiceProviderConfig');
  });

  test('a group keeps the members of others that it shows as Members, is not written once it shows none, and holds up no account if its answer is too long (RFC 7643 2.1, federation F82)', async () => {
    const target = await provisioning.newTarget({ users: 3 });
    const { app } = target;
    const [first, second, third] = target.subs as [string, string, string];
    applications.withoutPatch.set(app, 501);
    const groups = applications.of(app, 'Groups');
    const name = `crew of ${app}`;
    groups.set('crew', { id: 'crew', displayName: name, members: [{ Value: 'stranger' }] });
    let show = (members: unknown): Values => ({ Members: members });
    applications.answers.set(app, ({ method, collection, id }, response) => {
      if (method !== 'GET' || collection !== 'Groups' || id === undefined) return undefined;
      const { members, Members = members, ...others } = groups.get(id)!;
      return applications.send(response, 200, { ...others, ...show(Members) });
    });
    await api('/groups', 'POST', { name });
    const join = (...add: string[]) => api(`/groups/${encodeURIComponent(name)}/members`, 'POST', { add });
    await join(first);
    await api(target.at, 'PATCH', { groups: [name] });
    await provisioning.settled(target);
    const written = {
      id: 'crew',
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      displayName: name,
      Members: [{ Value: 'stranger' }, { value: accountOf(target, first)!.id }],
    };
    expect(groups.get('crew')).toEqual(written);

    const failure = () => failureOfGroup(target, name);
    show = () => ({});
    await join(second);
    await eventually(failure, (said) => said === hidden);
    expect(groups.get('crew')).toEqual(written);
    show = () => ({ description: 'x'.repeat(1 << 20) });
    await provisioning.pausesEnd(target);
    await eventually(failure, (said) => said === 'the answer is too long');
    expect((await provisioning.shown(target)).state).toBe('active');
    await changeUser(third, { claims: { name: 'Third' } });
    await eventually(
      async () => accountOf(target, third),
      (account) => account?.['displayName'] === 'Third',
    );
  });

  test('a group that was there before is neither filled nor renamed while the application hides its members, and one that the service made is (RFC 7643 2.4, federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const { app } = target;
    const [sub] = target.subs as [string];
    applications.withoutPatch.set(app, 501);
    const groups = applications.of(app, 'Groups');
    const [before, own] = [`before of ${app}`, `own of ${app}`];
    const crew = { id: 'crew', displayName: before, members: [{ value: 'stranger' }] };
    groups.set('crew', crew);
    let hides = true;
    applications.answers.set(app, ({ method, collection, id }, response) => {
      if (!hides || method !== 'GET' || collection !== 'Groups' || id === undefined) return undefined;
      return applications.send(response, 200, { ...groups.get(id)!, members: undefined });
    });
    for (const name of [before, own]) await api('/groups', 'POST', { name });
    await api(target.at, 'PATCH', { groups: [before, own] });
    await provisioning.settled(target);
    const renamed = `renamed of ${app}`;
    await api(`/groups/${encodeURIComponent(before)}`, 'PATCH', { name: renamed });
    await eventually(
      () => failureOfGroup(target, renamed),
      (said) => typeof said === 'string' || groups.get('crew') !== crew,
    );
    expect(await failureOfGroup(target, renamed)).toBe(hidden);
    for (const name of [renamed, own]) await api(`/groups/${encodeURIComponent(name)}/members`, 'POST', { add: [sub] });
    const { id } = accountOf(target, sub)!;
    await eventually(
      () => failureOfGroup(target, own),
      (said) => typeof said === 'string' || group(target, own)?.['members'] !== undefined,
    );
    expect(group(target, own)!['members']).toEqual([{ value: id }]);
    expect(groups.get('crew')).toEqual(crew);
    // the page of the target says why
    const page = `/admin/provisioning-targets/${target.id}`;
    const console = await openConsole(service, await service.createUser({ admin: true }), page);
    expect(console.page.body).toContain(hidden);
    hides = false;
    await provisioning.pausesEnd(target);
    await provisioning.settled(target);
    expect(groups.get('crew')).toMatchObject({ displayName: renamed, members: [{ value: 'stranger' }, { value: id }] });
    expect((await console.agent.get(page)).body).not.toContain(hidden);
  });

  test('a part of a name that the application does not have is removed without an empty name (RFC 7643 2.5)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    applications.withoutPatch.set(target.app, 501);
    await changeUser(sub, { claims: { given_name: 'Ada' } });
    await provisioning.settled(target);
    expect(accountOf(target, sub)).toMatchObject({ name: { givenName: 'Ada' } });
    delete accountOf(target, sub)!['name'];
    await changeUser(sub, { claims: { given_name: null } });
    await provisioning.settled(target);
    expect(accountOf(target, sub)).not.toHaveProperty('name');
  });

  test('an attempt begins no request when the time for them is over, and the account waits (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    const before = applications.requests.length;
    const { begin } = attemptLimits;
    attemptLimits.begin = 0;
    try {
      await changeUser(sub, { claims: { name: 'Late' } });
      await eventually(
        () => summaryOf(target, sub),
        (one) => one['last_failure'] === 'the requests took too long',
      );
    } finally {
      attemptLimits.begin = begin;
    }
    expect(applications.requests).toHaveLength(before);
    await provisioning.pausesEnd(target);
    expect(await provisioning.settled(target)).toMatchObject({ state: 'active' });
    expect(accountOf(target, sub)).toMatchObject({ displayName: 'Late' });
  });

  test('an account that is deleted there is made anew (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    applications.withoutPatch.set(target.app, 404);
    applications.of(target.app).clear();
    await changeUser(sub, { claims: { name: 'Anew' } });
    await provisioning.settled(target);
    expect(accountsAt(target)).toMatchObject([{ externalId: sub, displayName: 'Anew' }]);
  });
});

describe('the target', () => {
  test('addresses inside of the network, without https, with a user name, a query or port 25 are refused (federation F82, FR46)', async () => {
    const { clientId } = await service.createClient();
    for (const base_url of [
      'http://app.example/scim',
      'https://127.0.0.1/scim',
      'https://169.254.169.254/',
      'https://[::ffff:7f00:1]/',
      'https://localhost/',
      'https://user:secret@app.example/',
      'https://app.example:25/',
      'https://app.example/scim?x=1',
      'javascript:alert(1)',
    ])
      expect(
        await api('/provisioning-targets', 'POST', { client: clientId, base_url, bearer_token: 'x' }),
      ).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    const base = { client: clientId, base_url: 'https://app.example/scim' };
    for (const wrong of [
      {},
      { bearer_token: 'x', client_id: 'y' },
      { token_endpoint: 'https://app.example/token', client_id: 'y' },
      { token_endpoint: 'https://10.0.0.1/token', client_id: 'y', client_secret: 'z' },
      { bearer_token: 'x', client: 'unknown' },
      { bearer_token: 'x', groups: ['unknown group'] },
      { bearer_token: 'x', attributes: ['password'] },
    ])
      expect((await api('/provisioning-targets', 'POST', { ...base, ...wrong })).status).toBe(400);
  });

  test('its secrets are shown to no one, and another server gets none of them without being given it (federation FR17)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const shown = await api(target.at);
    expect(shown.body['bearer_token']).toMatchObject({ set: true });
    expect(JSON.stringify(shown.body)).not.toContain('token of');
    const refused = await api(target.at, 'PATCH', { base_url: 'https://other.example/scim' });
    expect(refused).toMatchObject({ status: 400 });
    const moved = applications.uri(`${target.app}-moved`);
    // another path of the same server is another service: its first run is held
    expect((await api(target.at, 'PATCH', { base_url: moved })).status).toBe(200);
    await provisioning.until(target, ({ state, counts }) => state === 'held' && counts.creating === 1);
    expect(
      (await api(target.at, 'PATCH', { base_url: 'https://other.example/scim', bearer_token: 'new' })).status,
    ).toBe(200);
    const [changed] = await eventsOf(service, { type: 'provisioning_target.changed', clientId: target.clientId });
    expect(JSON.stringify(changed!.detail)).not.toMatch(/token of|"new"/);
    expect(
      (await api('/provisioning-targets', 'POST', { client: target.clientId, base_url: moved, bearer_token: 'x' }))
        .status,
    ).toBe(409);
  });

  test('a target with a token endpoint gets an access token by client credentials, and a new one after 401 (RFC 6749 4.4)', async () => {
    const tokens: string[] = [];
    const app = 'oauth-app';
    applications.answers.set(app, ({ collection, headers, body }, response) => {
      if (collection === 'token') {
        expect(headers.authorization).toBe(`Basic ${Buffer.from('a%3Ab:se+cret').toString('base64')}`);
        expect(body).toEqual({ grant_type: 'client_credentials' });
        tokens.push(`token ${tokens.length}`);
        return applications.send(response, 200, { access_token: tokens.at(-1), expires_in: 3600 });
      }
      return headers.authorization === `Bearer ${tokens.at(-1)}` ? undefined : applications.send(response, 401);
    });
    const target = await provisioning.newTarget({
      users: 1,
      base_url: applications.uri(app),
      bearer_token: undefined,
      token_endpoint: `${applications.uri(app)}/token`,
      client_id: 'a:b',
      client_secret: 'se cret',
    });
    expect(tokens).toHaveLength(1);
    tokens.push('another one ends the first');
    await changeUser(target.subs[0]!, { username: `${target.app}-again` });
    await provisioning.settled(target);
    expect(tokens).toHaveLength(3);
    expect(applications.named(app, `${target.app}-again`)).toHaveLength(1);
  });

  test('of a deleted user nothing stays that was written about the user, and the account still ends (federation F112, FR37)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    const [sub] = target.subs as [string];
    applications.answers.set(target.app, (_, response) => applications.send(response, 503));
    await changeUser(sub, { claims: { name: 'Marked Name' } });
    await provisioning.until(target, ({ state }) => state === 'failing');
    expect((await api(`/users/${sub}`, 'DELETE')).status).toBe(204);
    const stored = () =>
      service.database.sql<{ row: string }>('SELECT p::text AS row FROM provisioned_users p WHERE sub = $1', [sub]);
    expect((await stored())[0]!.row).not.toMatch(/Marked|app-\d+-user/);
    applications.answers.delete(target.app);
    await provisioning.pausesEnd(target);
    await provisioning.settled(target);
    expect(accountOf(target, sub)).toMatchObject({ active: false });
    // the row goes with the first review after a day
    await service.database.sql(`UPDATE provisioned_users SET left_at = now() - interval '2 days' WHERE sub = $1`, [
      sub,
    ]);
    await api(`${target.at}/reconcile`, 'POST', {});
    await eventually(stored, (rows) => rows.length === 0);
  });

  test('a disabled target gets nothing, and what it missed once it is enabled; a deleted one leaves its accounts (federation 8)', async () => {
    const target = await provisioning.newTarget({ users: 1 });
    await api(target.at, 'PATCH', { status: 'disabled' });
    const before = applications.requests.length;
    await changeUser(target.subs[0]!, { groups: [] });
    await provisioning.settled(target);
    expect(applications.requests).toHaveLength(before);
    expect((await provisioning.shown(target)).state).toBe('disabled');
    expect((await api(`${target.at}/reconcile`, 'POST', {})).status).toBe(409);
    await api(target.at, 'PATCH', { status: 'enabled' });
    await eventually(
      async () => accountOf(target, target.subs[0]!),
      (account) => account?.['active'] === false,
    );
    const writes = applications.writes(target.app).length;
    expect((await api(target.at, 'DELETE')).status).toBe(204);
    expect(applications.writes(target.app)).toHaveLength(writes);
    expect(accountsAt(target)).toHaveLength(1);
  });
});
