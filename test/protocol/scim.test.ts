// SCIM 2.0: a directory writes its users and groups here, and reaches nothing else (RFC 7643, RFC 7644).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteGoneUsers } from '../../src/domain/scim/gone-users.ts';
import { adminToken, call, obtainTokens, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { eventsOf } from '../helpers/events.ts';
import { ask, createSite, SiteBrowser, siteCookieOf } from '../helpers/protected-sites.ts';
import { answerOf, SamlApplication, statusesOf } from '../helpers/saml-application.ts';
import { type Directory, enterprise, groupSchema, startDirectory, userSchema } from '../helpers/scim.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let admin: string;
let x1: Directory;
let x2: Directory;
/** Has a connection with authority over corp.example, and adopts. */
let corp: Directory;
beforeAll(async () => {
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, LIMIT_SCIM: '0', REQUIRE_SECOND_FACTOR_GROUPS: 'ops' },
  });
  admin = await adminToken(service);
  await service.database.sql(
    `INSERT INTO connections (id, kind, display_name, status, authoritative_domains, settings)
     VALUES ('honest', 'oidc', 'Honest', 'enabled', '{corp.example}', $1)`,
    [{ issuer: 'https://idp.corp.example', client_id: 'gatehouse', token_endpoint_auth_method: 'none' }],
  );
  x1 = await startDirectory(service, admin, 'x1');
  x2 = await startDirectory(service, admin, 'x2');
  corp = await startDirectory(service, admin, 'corp', { connection_id: 'honest', adopt: 'domain' });
});
afterAll(() => service?.stop());

const api = (path: string, method = 'GET', body?: object) =>
  call(`${service.issuer}/admin/api${path}`, { method, token: admin, ...(body && { body }) });
const find = async (directory: Directory, filter: string, path = '/Users') => {
  const { status, body } = await directory.send('GET', `${path}?${new URLSearchParams({ filter })}`);
  return {
    status,
    scimType: body['scimType'],
    total: body['totalResults'],
    resources: body['Resources'] as Record<string, unknown>[],
  };
};
const members = async (directory: Directory, id: string) =>
  (((await directory.find(`/Groups/${id}`))['members'] ?? []) as { value: string }[]).map(({ value }) => value).sort();

describe('who calls', () => {
  test('every request without the token of the source gets the same answer, whatever exists (federation F69)', async () => {
    const user = await service.createUser();
    const client = await service.createClient();
    const { access_token: accessToken } = await obtainTokens(service, client, user);
    const revoked = await startDirectory(service, admin, 'revoked');
    const { body } = await api('/scim-sources/revoked/tokens');
    await api(`/scim-sources/revoked/tokens/${(body['tokens'] as { id: string }[])[0]!.id}`, 'DELETE');
    const off = await startDirectory(service, admin, 'off');
    await api('/scim-sources/off', 'PATCH', { status: 'disabled' });
    const made = await x1.user({ userName: 'who-calls' });
    const at = `${x1.base}/Users/${made.id}`;
    const requests: [string, Record<string, string>][] = [
      [at, {}],
      [at, { authorization: 'Bearer' }],
      [at, { authorization: 'Bearer null' }],
      [at, { authorization: `Bearer ${x2.token}` }],
      [at, { authorization: `Bearer ${accessToken}` }],
      [at, { authorization: `Bearer ${admin}` }],
      [at, { authorization: `Basic ${Buffer.from(`x1:${x1.token}`).toString('base64')}` }],
      [`${revoked.base}/Users`, { authorization: `Bearer ${revoked.token}` }],
      [`${off.base}/Users`, { authorization: `Bearer ${off.token}` }],
      [`${service.issuer}/scim/v2/none/Users`, { authorization: `Bearer ${x1.token}` }],
      [`${at}?access_token=${x1.token}`, {}],
      [`${x1.base}/Users/none`, {}],
      [`${x1.base}/none`, {}],
    ];
    for (const [address, headers] of requests) {
      const answer = await call(address, { headers });
      expect(answer.status, JSON.stringify(headers)).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"');
      expect(answer.body).toEqual({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        status: '401',
        detail: 'send the token of this source as Bearer',
      });
    }
  });

  test('a source reads and changes its own users and groups alone, and no others exist for it (federation F69; federation FR34)', async () => {
    const stranger = await service.createUser();
    const other = await x2.user({ userName: 'of-x2', externalId: 'e-of-x2' });
    const group = await x2.group('group-of-x2', [other.id]);
    for (const id of [stranger.sub, other.id, 'none', encodeURIComponent('a\0b')]) {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const patch = {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', path: 'active', value: false }],
        };
        const body = { PUT: { schemas: [userSchema], userName: 'stolen' }, PATCH: patch }[method];
        const { status, body: answer } = await x1.send(method, `/Users/${id}`, body);
        expect([status, answer['detail']], `${method} ${id}`).toEqual([404, 'there is no such resource']);
      }
    }
    expect((await x1.send('GET', `/Groups/${group.id}`)).status).toBe(404);
    expect((await x1.send('DELETE', `/Groups/${group.id}`)).status).toBe(404);
    expect((await find(x1, `userName eq "of-x2" or externalId eq "e-of-x2" or id eq "${stranger.sub}"`)).total).toBe(0);
    const { status, body } = await x1.send('POST', '/Groups', {
      schemas: [groupSchema],
      displayName: 'with-strangers',
      members: [{ value: stranger.sub }],
    });
    expect([status, body['scimType']]).toEqual([400, 'invalidValue']);
    expect(await members(x2, group.id)).toEqual([other.id]);
  });

  test('a source has two tokens at most, so that one can be renewed; their use is shown, and their values are not (federation 8)', async () => {
    const source = await startDirectory(service, admin, 'renewing');
    const second = await api('/scim-sources/renewing/tokens', 'POST');
    expect(second.status).toBe(201);
    expect((await api('/scim-sources/renewing/tokens', 'POST')).status).toBe(409);
    for (const token of [source.token, String(second.body['token'])])
      expect((await call(`${source.base}/Users`, { token })).status).toBe(200);
    const { body } = await api('/scim-sources/renewing/tokens');
    const tokens = body['tokens'] as Record<string, string>[];
    expect(tokens.map(({ last_used_at: used }) => typeof used)).toEqual(['string', 'string']);
    expect(JSON.stringify(body)).not.toContain('ghsc_');
    await api(`/scim-sources/renewing/tokens/${tokens[0]!['id']}`, 'DELETE');
    expect((await call(`${source.base}/Users`, { token: source.token })).status).toBe(401);
    expect((await call(`${source.base}/Users`, { token: String(second.body['token']) })).status).toBe(200);
  });

  test('beyond LIMIT_SCIM a source is told when to ask again (federation 8)', async () => {
    const limited = await startTestService({ environment: { ...withoutLimits, LIMIT_SCIM: '2' } });
    try {
      const source = await startDirectory(limited, await adminToken(limited), 'busy');
      const answers = [];
      for (let n = 0; n < 3; n++) answers.push(await source.send('GET', '/Users'));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(Number(answers[2]!.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await limited.stop();
    }
  });
});

describe('discovery', () => {
  test('it says what there is, and no password (RFC 7644 4)', async () => {
    const { body: config } = await x1.send('GET', '/ServiceProviderConfig');
    expect(config).toMatchObject({
      patch: { supported: true },
      filter: { maxResults: 200 },
      etag: { supported: true },
      bulk: { supported: false },
    });
    const { body: types } = await x1.send('GET', '/ResourceTypes');
    expect((types['Resources'] as { id: string }[]).map(({ id }) => id)).toEqual(['User', 'Group']);
    const schemas = await x1.send('GET', '/Schemas');
    expect(schemas.headers.get('content-type')).toBe('application/scim+json; charset=utf-8');
    expect(JSON.stringify(schemas.body)).not.toMatch(/"(password|roles|entitlements|x509Certificates)"/);
    for (const id of [userSchema, groupSchema, enterprise]) expect((await x1.find(`/Schemas/${id}`)).id).toBe(id);
    expect((await x1.send('GET', '/Schemas/none')).status).toBe(404);
    const { status, body } = await x1.send('GET', '/none');
    expect([status, body['status']]).toEqual([404, '404']);
  });
});

describe('users', () => {
  test('a user is stored as claims, read as the source wrote it, and replaced as a whole (RFC 7644 3.3, 3.5.1)', async () => {
    const made = await x1.user({
      userName: 'mary',
      externalId: 'e-mary',
      name: { givenName: 'Mary', familyName: 'Example' },
      displayName: 'Mary Example',
      emails: [{ value: 'mary@else.example', type: 'work', primary: true }],
      phoneNumbers: [{ value: '+49 30 1', type: 'work' }],
      locale: 'de-DE',
      [enterprise]: { department: 'Harbour' },
      password: 'Correct-horse-battery-9',
    });
    expect(made).toMatchObject({
      userName: 'mary',
      active: true,
      name: { givenName: 'Mary' },
      [enterprise]: { department: 'Harbour' },
    });
    expect(made).not.toHaveProperty('password');
    const { body: user } = await api(`/users/${made.id}`);
    expect(user).toMatchObject({
      username: 'mary',
      claims: { given_name: 'Mary', name: 'Mary Example', phone_number: '+49 30 1', locale: 'de-DE' },
    });
    expect(user['email'] ?? null).toBeNull();
    const { body: replaced } = await x1.send('PUT', `/Users/${made.id}`, {
      schemas: [userSchema],
      userName: 'mary2',
      displayName: 'M.',
    });
    expect(replaced).toMatchObject({ userName: 'mary2', displayName: 'M.', active: true });
    expect(replaced).not.toHaveProperty('name');
    const { body: after } = await api(`/users/${made.id}`);
    expect(after).toMatchObject({ username: 'mary2', claims: { name: 'M.' } });
    expect(after['claims']).not.toHaveProperty('given_name');
    expect((await eventsOf(service, { type: 'user.created', sub: made.id }))[0]).toMatchObject({ actor: 'scim:x1' });
  });

  test('a password of a directory signs no user in, and names and addresses of others are not taken (federation F71; federation FR35)', async () => {
    const alice = await service.createUser({ username: 'alice', email: 'alice@corp.example' });
    await service.database.sql(`UPDATE users SET email_verified = true, email_confirmed_by = 'mail' WHERE sub = $1`, [
      alice.sub,
    ]);
    for (const userName of ['alice', 'ALICE', 'ａlice', 'alice@corp.example', 'Alice@Corp.Example']) {
      const { status, body } = await x1.send('POST', '/Users', {
        schemas: [userSchema],
        userName,
        password: 'Correct-horse-battery-9',
      });
      expect([status, body['scimType']], userName).toEqual([409, 'uniqueness']);
    }
    const made = await x1.user({
      userName: 'mallory',
      password: 'Correct-horse-battery-9',
      emails: [{ value: 'alice@corp.example' }],
    });
    await x1.patch(`/Users/${made.id}`, { op: 'replace', path: 'password', value: 'Correct-horse-battery-9' });
    await x1.patch(`/Users/${made.id}`, { op: 'replace', path: 'emails', value: [{ value: 'bob@else.example' }] });
    expect((await x1.patch(`/Users/${made.id}`, { op: 'replace', path: 'userName', value: 'alice' })).status).toBe(409);
    const [row] = await service.database.sql<Record<string, unknown>>(
      'SELECT email, password_hash, admin, groups FROM users WHERE sub = $1',
      [made.id],
    );
    expect(row).toEqual({ email: null, password_hash: null, admin: false, groups: [] });
    const agent = new UserAgent(service);
    const { status } = await agent.signIn({ username: 'mallory', password: 'Correct-horse-battery-9' });
    expect(status).toBe(400);
    expect((await find(x1, 'userName eq "alice"')).total).toBe(0);
  });

  test('adoption takes an ordinary user over by a confirmed address in the domain of the connection, with name and address unchanged, and no other (federation F71)', async () => {
    const confirmed = async (username: string, by: string | undefined, values: object = {}) => {
      const user = await service.createUser({ username, email: `${username}@corp.example`, ...values });
      await service.database.sql('UPDATE users SET email_verified = $2, email_confirmed_by = $3 WHERE sub = $1', [
        user.sub,
        by !== undefined,
        by,
      ]);
      return user;
    };
    const post = (username: string, more: object = {}) =>
      corp.send('POST', '/Users', {
        schemas: [userSchema],
        userName: `${username}@corp.example`,
        externalId: `e-${username}`,
        displayName: 'Another',
        emails: [{ value: `${username}@corp.example`, primary: true }],
        ...more,
      });
    const anna = await confirmed('anna', 'mail');
    const { status, body } = await post('anna');
    expect([status, body['id']]).toEqual([201, anna.sub]);
    expect((await api(`/users/${anna.sub}`)).body).toMatchObject({ username: 'anna', email: 'anna@corp.example' });
    const links = await service.database.sql('SELECT subject, how FROM linked_identities WHERE sub = $1', [anna.sub]);
    expect(links).toEqual([{ subject: 'e-anna', how: 'provisioned' }]);
    // another source does not take the user over, too, and an externalId names one user
    const second = await startDirectory(service, admin, 'second-corp', { connection_id: 'honest', adopt: 'domain' });
    const twice = await second.send('POST', '/Users', {
      schemas: [userSchema],
      userName: 'anna@corp.example',
      externalId: 'e-anna-of-second',
      emails: [{ value: 'anna@corp.example', primary: true }],
    });
    expect([twice.status, twice.body['scimType']]).toEqual([409, 'uniqueness']);
    const again = await post('annabel', { externalId: 'e-anna' });
    expect([again.status, again.body['scimType']]).toEqual([409, 'uniqueness']);
    expect((await corp.find(`/Users/${anna.sub}`))['userName']).toBe('anna@corp.example');
    await confirmed('unsure', undefined);
    await confirmed('by-word', 'word');
    const root = await confirmed('root-of-corp', 'mail');
    await api(`/users/${root.sub}`, 'PATCH', { admin: true });
    const guard = await confirmed('guard', 'mail');
    await api(`/users/${guard.sub}`, 'PATCH', { groups: ['ops'] });
    for (const name of ['unsure', 'by-word', 'root-of-corp', 'guard']) {
      const { status, body } = await post(name);
      expect([status, body['scimType']], name).toEqual([409, 'uniqueness']);
    }
    expect(
      await service.database.sql(`SELECT FROM linked_identities WHERE sub = ANY ($1)`, [[root.sub, guard.sub]]),
    ).toEqual([]);
    // an address of any other domain stays with the source
    const elsewhere = await corp.user({ userName: 'elsewhere', emails: [{ value: 'elsewhere@else.example' }] });
    expect(elsewhere['emails']).toEqual([{ value: 'elsewhere@else.example' }]);
    expect((await api(`/users/${elsewhere.id}`)).body['email'] ?? null).toBeNull();
    // a new address by authority is confirmed, and that of another is a conflict
    const fresh = await post('fresh');
    expect((await api(`/users/${String(fresh.body['id'])}`)).body).toMatchObject({
      email: 'fresh@corp.example',
      email_verified: true,
    });
    const moved = await corp.patch(`/Users/${String(fresh.body['id'])}`, {
      op: 'replace',
      path: 'emails[primary eq true].value',
      value: 'anna@corp.example',
    });
    expect([moved.status, moved.body['scimType']]).toEqual([409, 'uniqueness']);
  });

  test('a source changes no name, no address and no status of an administrator (federation FR35)', async () => {
    const made = await corp.user({
      userName: 'promoted',
      externalId: 'e-promoted',
      emails: [{ value: 'promoted@corp.example' }],
    });
    await service.database.sql(`UPDATE users SET admin = true WHERE sub = $1`, [made.id]);
    for (const [path, value] of [
      ['userName', 'other'],
      ['emails', [{ value: 'thief@corp.example' }]],
      ['externalId', 'e-thief'],
      ['active', false],
    ] as const)
      expect((await corp.patch(`/Users/${made.id}`, { op: 'replace', path, value })).status, path).toBe(403);
    expect((await corp.send('DELETE', `/Users/${made.id}`)).status).toBe(403);
    expect((await api(`/users/${made.id}`)).body).toMatchObject({
      username: 'promoted',
      status: 'enabled',
      email: 'promoted@corp.example',
    });
  });

  test('when a user leaves, all sessions and tokens have ended before the answer, and the return of the user brings none of them back (federation F78; federation FR37)', async () => {
    const user = await service.createUser({ username: 'leaver', email: 'leaver@corp.example' });
    await service.database.sql(`UPDATE users SET email_verified = true, email_confirmed_by = 'mail' WHERE sub = $1`, [
      user.sub,
    ]);
    await corp.user({ userName: 'leaver', externalId: 'e-leaver', emails: [{ value: 'leaver@corp.example' }] });
    const client = await service.createClient();
    const tokens = await obtainTokens(service, client, user);
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
    const application = await SamlApplication.create(service);
    const site = await createSite(service, admin, 'leaving.example');
    const browser = new SiteBrowser(service);
    await browser.signIn(site, user);
    expect(statusesOf(await application.signIn(browser.agent, user))).toEqual(['Success']);
    /** What the application and the site answer to the browser at an instance, without a question to the user. */
    const atInstance = async (base: string) => {
      const agent = new UserAgent({ issuer: base });
      for (const [name, value] of browser.agent.cookies) agent.cookies.set(name, value);
      const passive = answerOf(await application.begin(agent, { attributes: 'IsPassive="true"' }))!;
      return [...statusesOf(passive), (await ask(service, site, { base, cookie: siteCookieOf(browser, site) })).status];
    };
    for (const instance of service.instances) expect(await atInstance(instance)).toEqual(['Success', 200]);
    const off = await corp.patch(`/Users/${user.sub}`, { op: 'Replace', path: 'active', value: 'False' });
    expect([off.status, off.body['active']]).toEqual([200, false]);
    for (const instance of service.instances) expect((await userinfo(instance, tokens.access_token)).status).toBe(401);
    for (const instance of service.instances)
      expect(await atInstance(instance)).toEqual(['Responder', 'NoPassive', 401]);
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
    const on = await corp.patch(`/Users/${user.sub}`, { op: 'replace', value: { active: true } });
    expect(on.body['active']).toBe(true);
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    for (const instance of service.instances)
      expect(await atInstance(instance)).toEqual(['Responder', 'NoPassive', 401]);
    expect((await refresh(service.issuer, client, tokens.refresh_token)).status).toBe(400);
    // the source does not enable a user whom an administrator disabled, also after it had disabled the user itself
    await corp.patch(`/Users/${user.sub}`, { op: 'replace', path: 'active', value: false });
    await api(`/users/${user.sub}`, 'PATCH', { status: 'enabled' });
    await api(`/users/${user.sub}`, 'PATCH', { status: 'disabled' });
    const kept = await corp.patch(`/Users/${user.sub}`, { op: 'replace', path: 'active', value: true });
    expect(kept.body['active']).toBe(false);
  });

  test('a deleted user is gone for the source, and comes back with the same externalId as the same user without old sessions (federation F81)', async () => {
    const made = await x1.user({ userName: 'gone-and-back', externalId: 'e-gone' });
    const group = await x1.group('group-of-gone', [made.id]);
    expect((await x1.send('DELETE', `/Users/${made.id}`)).status).toBe(204);
    expect((await x1.send('GET', `/Users/${made.id}`)).status).toBe(404);
    expect((await find(x1, 'userName eq "gone-and-back"')).total).toBe(0);
    expect(await members(x1, group.id)).toEqual([]);
    expect((await api(`/users/${made.id}`)).body).toMatchObject({ status: 'disabled', groups: [] });
    const back = await x1.user({ userName: 'gone-and-back', externalId: 'e-gone' });
    expect(back).toMatchObject({ id: made.id, active: true });
    expect((await api(`/users/${made.id}`)).body).toMatchObject({ status: 'enabled' });
    expect((await service.database.sql('SELECT FROM sessions WHERE sub = $1', [made.id])).length).toBe(0);
    const deleting = await startDirectory(service, admin, 'deleting', { on_delete: 'delete' });
    const other = await deleting.user({ userName: 'really-gone' });
    await deleting.send('DELETE', `/Users/${other.id}`);
    expect((await api(`/users/${other.id}`)).status).toBe(404);
  });

  test('a user whom the source deleted and an administrator kept is kept, also when an administrator disables the user months later (federation 8)', async () => {
    const nightly = async () => {
      await service.database.sql(`UPDATE scim_users SET deleted_at = deleted_at - interval '100 days'`);
      await deleteGoneUsers(service.store);
    };
    const statusOf = async (sub: string) => (await api(`/users/${sub}`)).body['status'];
    const set = async (sub: string, status: string) =>
      expect((await api(`/users/${sub}`, 'PATCH', { status })).status).toBe(200);
    const kept = await x1.user({ userName: 'kept', externalId: 'e-kept' });
    const left = await x1.user({ userName: 'left' });
    for (const { id } of [kept, left]) expect((await x1.send('DELETE', `/Users/${id}`)).status).toBe(204);
    await set(kept.id, 'enabled');
    // an administrator who locks a user keeps nothing
    await set(left.id, 'disabled');
    await nightly();
    expect([await statusOf(kept.id), await statusOf(left.id)]).toEqual(['enabled', undefined]);
    await set(kept.id, 'disabled');
    await nightly();
    expect(await statusOf(kept.id)).toBe('disabled');
    // once the source has the user back, it may delete the user again
    await x1.user({ userName: 'kept', externalId: 'e-kept' });
    await set(kept.id, 'enabled');
    expect((await x1.send('DELETE', `/Users/${kept.id}`)).status).toBe(204);
    await nightly();
    expect(await statusOf(kept.id)).toBeUndefined();
  });

  test('an administrator who disables a user whom the source has disabled is heard: the source does not enable the user (federation 8, FR37)', async () => {
    const { id } = await x1.user({ userName: 'locked', active: false });
    const lock = () => api(`/users/${id}`, 'PATCH', { status: 'disabled' });
    const disabled = async () =>
      (await eventsOf(service, { type: 'user.disabled', sub: id })).map(({ actor, detail }) => [actor, detail]);
    expect(await disabled()).toHaveLength(1);
    const { headers } = await x1.send('GET', `/Users/${id}`);
    expect(await lock()).toMatchObject({ status: 200, body: { status: 'disabled' } });
    const detail = { members: ['status'], status: 'disabled' };
    expect(await disabled()).toEqual(expect.arrayContaining([[expect.not.stringMatching('scim:x1'), detail]]));
    expect(await disabled()).toHaveLength(2);
    // a second time it is no decision
    await lock();
    expect(await disabled()).toHaveLength(2);
    const on = await x1.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true });
    expect([on.status, on.body['active']]).toEqual([200, false]);
    // for the source the user is as before
    expect((await x1.send('GET', `/Users/${id}`)).headers.get('etag')).toBe(headers.get('etag'));
    const put = { schemas: [userSchema], userName: 'locked', active: true };
    expect((await x1.send('PUT', `/Users/${id}`, put)).body['active']).toBe(false);
    expect((await api(`/users/${id}`)).body).toMatchObject({ status: 'disabled' });
  });

  test('versions are compared before a change, and an unchanged resource is not sent again (RFC 7644 3.14)', async () => {
    const made = await x1.user({ userName: 'versioned' });
    const { headers } = await x1.send('GET', `/Users/${made.id}`);
    const etag = headers.get('etag')!;
    expect((await x1.send('GET', `/Users/${made.id}`, undefined, { 'if-none-match': etag })).status).toBe(304);
    const put = { schemas: [userSchema], userName: 'versioned', title: 'Pilot' };
    expect((await x1.send('PUT', `/Users/${made.id}`, put, { 'if-match': etag })).status).toBe(200);
    expect((await x1.send('PUT', `/Users/${made.id}`, put, { 'if-match': etag })).status).toBe(412);
    expect((await x1.send('DELETE', `/Users/${made.id}`, undefined, { 'if-match': etag })).status).toBe(412);
    // the same once more is no change
    const { headers: before } = await x1.send('GET', `/Users/${made.id}`);
    const { headers: after } = await x1.send('PUT', `/Users/${made.id}`, put);
    expect(after.get('etag')).toBe(before.get('etag'));
  });
});

describe('filters and pages', () => {
  test('a filter means what RFC 7644 says, or is refused as invalidFilter (federation F72; federation FR36)', async () => {
    const source = await startDirectory(service, admin, 'filters');
    await source.user({
      userName: 'per%cent',
      displayName: 'a"b\\c',
      externalId: 'X1',
      emails: [
        { value: 'ab@work.example', type: 'work' },
        { value: 'cd@home.example', type: 'home' },
      ],
    });
    await source.user({ userName: 'under_score', name: { familyName: 'Öl' }, active: false });
    const means: [string, number][] = [
      ['userName eq "PER%CENT"', 1],
      ['userName EQ "per%cent"', 1],
      [`${userSchema}:userName eq "per%cent"`, 1],
      ['userName co "%"', 1],
      ['userName co "_"', 1],
      ['userName sw "%"', 0],
      ['userName ew "cent"', 1],
      ['userName ne "per%cent"', 1],
      ['externalId eq "x1"', 0],
      ['externalId eq "X1"', 1],
      [String.raw`displayName eq "a\"b\\c"`, 1],
      ['displayName pr', 1],
      ['not (displayName pr)', 1],
      ['name.familyName eq "öl"', 1],
      ['active eq false', 1],
      ['active eq "True"', 1],
      ['emails eq "ab@work.example"', 1],
      ['emails.type eq "home"', 1],
      ['emails[type eq "work" and value sw "a"]', 1],
      ['emails[type eq "home" and value sw "a"]', 0],
      ['meta.lastModified gt "2020-01-01T00:00:00Z"', 2],
      ['meta.lastModified lt "2020-01-01T00:00:00Z"', 0],
      ['userName eq "a" or (userName eq "per%cent" and active eq true)', 1],
      ['userName eq "nobody"', 0],
      [`${'('.repeat(8)}userName pr${')'.repeat(8)}`, 2],
      [Array(40).fill('userName pr').join(' and '), 2],
    ];
    for (const [filter, total] of means) {
      const found = await find(source, filter);
      expect([found.status, found.total], filter).toEqual([200, total]);
    }
    const refused = [
      `${'('.repeat(9)}userName pr${')'.repeat(9)}`,
      Array(41).fill('userName pr').join(' and '),
      `userName eq "${'x'.repeat(2000)}"`,
      '('.repeat(2000),
      'userName eq "a',
      'userName eq "a" trailing',
      'password pr',
      '__proto__ pr',
      'constructor pr',
      'userName eq "a" or 1 eq 1',
      'userName',
      'userName is "a"',
      'userName eq a',
      'userName eq 1',
      String.raw`userName eq "\u0000"`,
      String.raw`userName eq "\ud800"`,
      'meta.lastModified gt "yesterday"',
      'meta.lastModified co "2020-01-01T00:00:00Z"',
      'emails[type eq "work"',
      'emails[emails[type pr]]',
      'active gt true',
      `userName eq "a"); DELETE FROM users; --`,
      'groups.value eq "a"',
      'a.b.c pr',
      'urn:x:userName pr',
    ];
    for (const filter of refused) {
      const found = await find(source, filter);
      expect([found.status, found.scimType], filter.slice(0, 60)).toEqual([400, 'invalidFilter']);
    }
    const search = { schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'], filter: '('.repeat(20_000) };
    expect((await source.send('POST', '/Users/.search', search)).body['scimType']).toBe('invalidFilter');
  });

  test('pages begin with 1 and have at most 200 resources, whatever numbers are sent (federation F80)', async () => {
    const source = await startDirectory(service, admin, 'pages');
    for (let n = 0; n < 5; n++) await source.user({ userName: `page-${n}` });
    const page = async (query: string) => {
      const { status, body } = await source.send('GET', `/Users?${query}`);
      const all = (body['Resources'] ?? []) as { userName: string }[];
      return [
        status,
        body['totalResults'],
        body['startIndex'],
        body['itemsPerPage'],
        all.map(({ userName }) => userName.slice(5)).join(''),
      ];
    };
    expect(await page('startIndex=0&count=2')).toEqual([200, 5, 1, 2, '01']);
    expect(await page('startIndex=-1&count=2')).toEqual([200, 5, 1, 2, '01']);
    expect(await page('startIndex=3&count=2')).toEqual([200, 5, 3, 2, '23']);
    expect(await page('startIndex=1000000000')).toEqual([200, 5, 1_000_000_000, 0, '']);
    expect(await page('count=0')).toEqual([200, 5, 1, 0, '']);
    expect(await page('count=-1')).toEqual([200, 5, 1, 0, '']);
    expect(await page('count=1000000000')).toEqual([200, 5, 1, 5, '01234']);
    expect((await page('startIndex=x'))[0]).toBe(400);
    const { body } = await source.send('POST', '/.search', {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
      filter: 'userName eq "page-3"',
      attributes: ['userName'],
    });
    expect(body['Resources']).toEqual([
      { schemas: [userSchema], id: expect.any(String) as string, userName: 'page-3' },
    ]);
  });
});

describe('changes', () => {
  test('requests as Entra sends them have the effect that Entra means (federation F74)', async () => {
    const made = await x1.user({ userName: 'entra-user', externalId: 'e-entra' });
    const at = `/Users/${made.id}`;
    const changed = await x1.patch(
      at,
      { op: 'Add', path: 'emails[type eq "work"].value', value: 'entra@work.example' },
      {
        op: 'Replace',
        value: {
          'name.givenName': 'En',
          'name.familyName': 'Tra',
          [`${enterprise}:department`]: 'Docks',
          displayName: 'Entra',
        },
      },
      { op: 'Add', path: `${enterprise}:manager`, value: '42' },
      { op: 'Replace', path: 'active', value: 'False' },
    );
    expect(changed.body).toMatchObject({
      active: false,
      emails: [{ type: 'work', value: 'entra@work.example' }],
      name: { givenName: 'En', familyName: 'Tra' },
      displayName: 'Entra',
      [enterprise]: { department: 'Docks', manager: { value: '42' } },
    });
    expect((await x1.patch(at, { op: 'Replace', path: 'active', value: 'True' })).body['active']).toBe(true);
    const second = await x1.user({ userName: 'entra-second' });
    const group = await x1.group('entra-group', [made.id, second.id]);
    expect(
      (await x1.patch(`/Groups/${group.id}`, { op: 'Remove', path: 'members', value: [{ value: made.id }] })).status,
    ).toBe(200);
    expect(await members(x1, group.id)).toEqual([second.id]);
    expect(await x1.find(`/Groups/${group.id}?excludedAttributes=members`)).not.toHaveProperty('members');
    const none = await find(x1, 'externalId eq "nobody"');
    expect([none.status, none.total]).toEqual([200, 0]);
  });

  test('requests as Okta sends them: a member leaves and returns, and a user is disabled by PUT (federation F75)', async () => {
    const made = await x1.user({ userName: 'okta-user' });
    const other = await x1.user({ userName: 'okta-other' });
    const group = await x1.group('okta-group', [made.id, other.id]);
    const at = `/Groups/${group.id}`;
    await x1.patch(at, { op: 'remove', path: `members[value eq "${made.id}"]` });
    expect(await members(x1, group.id)).toEqual([other.id]);
    expect((await api(`/users/${made.id}`)).body['groups']).toEqual([]);
    await x1.patch(at, { op: 'add', path: 'members', value: [{ value: made.id, display: 'okta-user' }] });
    expect(await members(x1, group.id)).toEqual([made.id, other.id].sort());
    expect((await x1.find(`/Users/${made.id}`))['groups']).toMatchObject([{ value: group.id, display: 'okta-group' }]);
    const put = { schemas: [userSchema], id: made.id, userName: 'okta-user', active: false, groups: [] };
    expect((await x1.send('PUT', `/Users/${made.id}`, put)).body['active']).toBe(false);
    // the id beside the name is that of the group, and no other
    await x1
      .patch(at, { op: 'replace', value: { id: other.id, displayName: 'okta-renamed' } })
      .then(({ status }) => expect(status).toBe(400));
    await x1.patch(at, { op: 'replace', value: { id: group.id, displayName: 'okta-renamed' } });
    expect((await api(`/users/${other.id}`)).body['groups']).toEqual(['okta-renamed']);
  });

  test('of five operations with a wrong one none counts, and the version stays (federation F77)', async () => {
    const made = await x1.user({ userName: 'all-or-nothing' });
    const before = await x1.find(`/Users/${made.id}`);
    const { status, body } = await x1.patch(
      `/Users/${made.id}`,
      { op: 'replace', path: 'displayName', value: 'one' },
      { op: 'add', path: 'title', value: 'two' },
      { op: 'replace', path: 'active', value: false },
      { op: 'replace', path: 'nothing.like.this', value: 'four' },
      { op: 'replace', path: 'nickName', value: 'five' },
    );
    expect([status, body['scimType']]).toEqual([400, 'invalidPath']);
    expect(await x1.find(`/Users/${made.id}`)).toEqual(before);
    for (const [operation, scimType] of [
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'replace', path: 'meta.version', value: 'x' }, 'mutability'],
      [{ op: 'add', path: 'groups', value: [] }, 'mutability'],
      [{ op: 'replace', path: 'nothing', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'name.nothing', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: '__proto__.x', value: 1 }, 'invalidPath'],
      [{ op: 'replace', path: 'constructor.prototype.x', value: 1 }, 'invalidPath'],
      [{ op: 'move', path: 'title', value: 'x' }, 'invalidSyntax'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'replace', path: 'active', value: 'maybe' }, 'invalidValue'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
    ] as const) {
      const answer = await x1.patch(`/Users/${made.id}`, operation);
      expect([answer.status, answer.body['scimType']], JSON.stringify(operation)).toEqual([400, scimType]);
    }
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('odd sizes are refused with a scimType, and nothing is half done (federation F79)', async () => {
    const made = await x1.user({ userName: 'odd-sizes' });
    const group = await x1.group('odd-group', [made.id]);
    const at = `/Groups/${group.id}`;
    const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ value: String(index) }));
    const group2 = await x1.group('odd-second');
    const answers = [
      await x1.patch(at, { op: 'add', path: 'members', value: [{ value: made.id }, { value: 'unknown' }] }),
      await x1.patch(at, { op: 'add', path: 'members', value: [{ value: group2.id, type: 'Group' }] }),
      await x1.patch(at, { op: 'add', path: 'members', value: [{ value: group2.id }] }),
      await x1.patch(at, { op: 'add', path: 'members', value: many(10_001) }),
      await x1.send('PUT', at, { schemas: [groupSchema], displayName: 'odd-group', members: many(10_001) }),
      await x1.send('POST', '/Users', { schemas: [userSchema], userName: 'deep', name: nested(17) }),
      await x1.send('POST', '/Users', { schemas: [userSchema], userName: 'long', displayName: 'x'.repeat(1001) }),
      await x1.send('POST', '/Users', { schemas: [userSchema], userName: ['list'] }),
      await x1.send('POST', '/Users', { userName: 'no-schemas' }),
      await x1.send('POST', '/Users', []),
    ];
    for (const { status, body } of answers)
      expect([status, typeof body['scimType']], JSON.stringify(body)).toEqual([400, 'string']);
    expect(answers.slice(0, 5).map(({ body }) => body['detail'])).toEqual([
      'no user of this source has the id unknown',
      'a member must be a user: groups have no groups as members',
      `no user of this source has the id ${group2.id}`,
      'name at most 10000 members',
      'name at most 10000 members',
    ]);
    expect(
      (await x1.send('POST', '/Users', { schemas: [userSchema], userName: 'x'.repeat(2 * 1024 * 1024) })).status,
    ).toBe(413);
    expect(
      (await call(`${x1.base}/Users`, { token: x1.token, body: {}, headers: { 'content-type': 'text/plain' } })).status,
    ).toBe(415);
    const raw = await fetch(`${x1.base}/Users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${x1.token}`, 'content-type': 'application/scim+json' },
      body: `{"schemas":["${userSchema}"],"userName":"reserved","__proto__":{"x":1}}`,
    });
    expect(raw.status).toBe(400);
    expect(
      (await x1.patch(at, { op: 'add', path: 'members', value: [{ value: made.id }, { value: made.id }] })).status,
    ).toBe(200);
    expect(await members(x1, group.id)).toEqual([made.id]);
  });
});

describe('groups', () => {
  test('a group of others and a guarded group are not taken, and membership of others stays (federation 8)', async () => {
    const made = await x1.user({ userName: 'grouped' });
    await api('/groups', 'POST', { name: 'staff' });
    for (const displayName of ['staff', 'ops']) {
      const { status, body } = await x1.send('POST', '/Groups', { schemas: [groupSchema], displayName });
      expect([status, body['scimType']], displayName).toEqual([409, 'uniqueness']);
    }
    const prefixed = await startDirectory(service, admin, 'prefixed', { group_prefix: 'Entra ' });
    const member = await prefixed.user({ userName: 'prefixed-user' });
    const group = await prefixed.group('staff', [member.id]);
    expect(group['displayName']).toBe('staff');
    expect((await api(`/users/${member.id}`)).body['groups']).toEqual(['Entra staff']);
    // an administrator adds another user, whom the source does not see and cannot remove
    await api(`/groups/${encodeURIComponent('Entra staff')}/members`, 'POST', { add: [made.id, member.id] });
    expect(await members(prefixed, group.id)).toEqual([member.id]);
    await prefixed.patch(`/Groups/${group.id}`, { op: 'replace', path: 'members', value: [] });
    expect((await api(`/users/${made.id}`)).body['groups']).toEqual(['Entra staff']);
    expect((await api(`/users/${member.id}`)).body['groups']).toEqual(['Entra staff']);
    // the group follows when an administrator renames it
    await api(`/groups/${encodeURIComponent('Entra staff')}`, 'PATCH', { name: 'Crew' });
    await prefixed.patch(`/Groups/${group.id}`, { op: 'add', path: 'members', value: [{ value: member.id }] });
    expect((await api(`/users/${member.id}`)).body['groups']).toEqual(['Crew']);
    await api('/scim-sources/prefixed', 'DELETE');
    expect((await service.database.sql(`SELECT FROM group_memberships WHERE source = 'scim:prefixed'`)).length).toBe(0);
    expect((await api(`/users/${member.id}`)).status).toBe(200);
  });

  test('a group that becomes guarded keeps its members from the source, until an administrator admits it (federation FR35)', async () => {
    const made = await x1.user({ userName: 'guarded-user' });
    await service.database.sql(
      `INSERT INTO scim_groups (id, source_id, name, display_name) SELECT 'guarded', 'x1', name, name FROM groups WHERE name = 'ops'`,
    );
    const add = { op: 'add', path: 'members', value: [{ value: made.id }] };
    expect((await x1.patch('/Groups/guarded', add)).status).toBe(403);
    expect((await api(`/users/${made.id}`)).body['groups']).toEqual([]);
    expect((await api('/groups/ops', 'PATCH', { guarded_sources: ['scim:x1'] })).status).toBe(200);
    expect((await x1.patch('/Groups/guarded', add)).status).toBe(200);
    expect((await api(`/users/${made.id}`)).body['groups']).toEqual(['ops']);
  });

  test('twenty requests that change the members of one group at once lose none of them (federation FR38)', async () => {
    const subs: string[] = [];
    for (let n = 0; n < 40; n++) subs.push((await x1.user({ userName: `race-${n}` })).id);
    const group = await x1.group('race', subs.slice(20));
    const versions = async () => (await x1.find(`/Groups/${group.id}?attributes=meta`))['meta'] as { version: string };
    const before = await versions();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        x1.patch(
          `/Groups/${group.id}`,
          { op: 'add', path: 'members', value: [{ value: subs[n] }] },
          { op: 'remove', path: `members[value eq "${subs[20 + n]}"]` },
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await members(x1, group.id)).toEqual(subs.slice(0, 20).sort());
    const users = await service.database.sql<{ sub: string }>(`SELECT sub FROM users WHERE 'race' = ANY (groups)`);
    expect(users.map(({ sub }) => sub).sort()).toEqual(subs.slice(0, 20).sort());
    expect((await versions()).version).not.toBe(before.version);
  });
});
