// Tests the memberships of groups: each has a source, and users.groups is their union, whoever writes it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

const sourcesOf = async (sub: string) => Object.fromEntries(await service.store.memberships.ofUser(sub));
const groupsOf = async (sub: string) => (await service.store.users.find(sub))!.groups;
const set = (sub: string, source: string, names: string[], guarded: string[] = []) =>
  service.store.transaction(({ memberships }) => memberships.set(sub, source, names, guarded));

describe('the sources of memberships (federation 3)', () => {
  test('an import, an administrator and plain SQL add by hand, at once (federation 3)', async () => {
    const { sub } = await service.createUser({ groups: ['staff', 'staff', 'crew'] });
    expect(await sourcesOf(sub)).toEqual({ crew: ['manual'], staff: ['manual'] });
    await service.database.sql(`UPDATE users SET groups = '{staff,quay}' WHERE sub = $1`, [sub]);
    expect(await sourcesOf(sub)).toEqual({ quay: ['manual'], staff: ['manual'] });
    await service.store.users.update(sub, { groups: [] });
    expect(await sourcesOf(sub)).toEqual({});
  });

  test('a source adds and removes only its own, and the union stays (federation 3, F22)', async () => {
    const { sub } = await service.createUser({ groups: ['staff', 'crew'] });
    expect(await set(sub, 'honest', ['crew', 'pilots'])).toEqual({ joined: ['pilots'], departed: [], skipped: [] });
    expect(await groupsOf(sub)).toEqual(['staff', 'crew', 'pilots']);
    expect(await sourcesOf(sub)).toEqual({ crew: ['manual', 'honest'], pilots: ['honest'], staff: ['manual'] });
    await set(sub, 'other', ['pilots']);
    expect(await set(sub, 'honest', [])).toEqual({ joined: [], departed: [], skipped: [] });
    expect(await sourcesOf(sub)).toEqual({ crew: ['manual'], pilots: ['other'], staff: ['manual'] });
    expect(await set(sub, 'other', [])).toEqual({ joined: [], departed: ['pilots'], skipped: [] });
    expect(await groupsOf(sub)).toEqual(['staff', 'crew']);
    expect(await set('nobody', 'other', ['staff'])).toEqual({ joined: [], departed: [], skipped: [] });
  });

  test('a guarded group is skipped unless it names the source (federation 3, FR7)', async () => {
    const { sub } = await service.createUser();
    expect(await set(sub, 'honest', ['ops', 'pilots'], ['ops'])).toMatchObject({
      joined: ['pilots'],
      skipped: ['ops'],
    });
    expect(await groupsOf(sub)).toEqual(['pilots']);
    await service.store.groups.insert({ name: 'ops' });
    await service.store.groups.update('ops', { guardedSources: ['honest'] });
    expect(await set(sub, 'liar', ['ops'], ['ops'])).toMatchObject({ joined: [], skipped: ['ops'] });
    expect(await set(sub, 'honest', ['ops', 'pilots'], ['ops'])).toMatchObject({ joined: ['ops'], skipped: [] });
    expect(await sourcesOf(sub)).toEqual({ ops: ['honest'], pilots: ['honest'] });
  });

  test('a renamed group keeps the source of each membership, and a deleted one loses all of them (federation 3)', async () => {
    const { sub } = await service.createUser({ groups: ['old name'] });
    const { sub: other } = await service.createUser();
    await set(other, 'honest', ['old name']);
    await service.store.groups.move('old name', [sub, other], 'new name');
    expect(await sourcesOf(sub)).toEqual({ 'new name': ['manual'] });
    expect(await sourcesOf(other)).toEqual({ 'new name': ['honest'] });
    await service.store.groups.leave('new name', [sub, other]);
    expect([await sourcesOf(sub), await sourcesOf(other)]).toEqual([{}, {}]);
  });

  test('an administrator adds by hand beside a source, and removes whatever its source (federation 3)', async () => {
    const { sub } = await service.createUser();
    await set(sub, 'honest', ['pilots']);
    expect(await service.store.groups.join('pilots', [sub])).toEqual([]);
    expect(await sourcesOf(sub)).toEqual({ pilots: ['manual', 'honest'] });
    expect(await service.store.groups.leave('pilots', [sub])).toEqual([sub]);
    expect(await sourcesOf(sub)).toEqual({});
  });

  test('no user is in more than a thousand groups, whatever a source says (federation 4, F22)', async () => {
    const { sub } = await service.createUser({ groups: ['staff'] });
    const { joined, skipped } = await set(
      sub,
      'honest',
      Array.from({ length: 1200 }, (_, index) => `many ${index}`),
    );
    expect([joined.length, skipped.length, (await groupsOf(sub)).length]).toEqual([999, 201, 1000]);
  });

  test('two sources and an administrator at once lose no membership (federation FR38)', async () => {
    for (let round = 0; round < 10; round++) {
      const { sub } = await service.createUser();
      await Promise.all([
        set(sub, 'honest', ['a', 'b']),
        set(sub, 'other', ['b', 'c']),
        service.database.sql(`UPDATE users SET groups = array_append(groups, 'd') WHERE sub = $1`, [sub]),
      ]);
      expect((await groupsOf(sub)).sort()).toEqual(['a', 'b', 'c', 'd']);
      expect(await sourcesOf(sub)).toEqual({ a: ['honest'], b: ['honest', 'other'], c: ['other'], d: ['manual'] });
    }
  });
});
