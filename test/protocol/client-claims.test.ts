// Roles at a client, scopes of the operator and rules for claims, as a client library and resource servers read them.
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/command-line.ts';
import { addRule, filledForm, formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, obtainTokens, userinfo } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const scope = 'openid roles';

let service: TestService;
let token: string;
let one: TestClient;
let other: TestClient;
let user: TestUser;
let root: TestUser;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
  token = await adminToken(service);
  root = await service.createUser({ username: 'root', admin: true });
  one = await service.createClient({ client_name: 'One', scope: `${scope} groups email` });
  other = await service.createClient({ client_name: 'Other', scope });
  user = await service.createUser({ username: 'ada', email: 'ada@example.com', emailVerified: true, groups: ['crew'] });
  await api('POST', '/groups', { name: 'crew' });
  await api('POST', '/attributes', { name: 'department', type: 'string' });
  await api('PATCH', `/users/${user.sub}`, { attributes: { department: 'Harbour' } });
  for (const [client, name] of [
    [one, 'admin'],
    [one, 'reader'],
    [other, 'owner'],
  ] as const)
    expect((await api('POST', `/clients/${client.clientId}/roles`, { name })).status).toBe(201);
  await api('POST', `/clients/${one.clientId}/roles/admin/give`, { groups: ['crew'] });
  await api('POST', `/clients/${one.clientId}/roles/reader/give`, { users: ['ada@example.com'] });
  await api('POST', `/clients/${other.clientId}/roles/owner/give`, { users: [user.sub] });
});
afterAll(() => service?.stop());

const api = (method: string, path: string, body?: unknown) =>
  call(`${service.issuer}/admin/api${path}`, { token, method, ...(body !== undefined && { body }) });
const setRules = (client: TestClient, claim_rules: unknown) =>
  api('PATCH', `/clients/${client.clientId}`, { claim_rules });

/** Signs the user in by openid-client. */
async function signIn(client: TestClient, asked: string) {
  const plain = { execute: [openid.allowInsecureRequests] };
  const config = await openid.discovery(
    new URL(service.issuer),
    client.clientId,
    client.clientSecret,
    openid.ClientSecretBasic(client.clientSecret),
    plain,
  );
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: client.redirectUri,
    scope: asked,
    code_challenge_method: 'S256',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
  });
  const agent = new UserAgent(service);
  let page = await agent.signIn(user, await agent.follow(await agent.get(url.href)));
  if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
  const tokens = await openid.authorizationCodeGrant(config, new URL(page.location!), { pkceCodeVerifier: verifier });
  const claims = tokens.claims()!;
  const info = await openid.fetchUserInfo(config, tokens.access_token, claims.sub);
  const known = await openid.tokenIntrospection(config, tokens.access_token);
  return { tokens, claims, info, known };
}

describe('roles', () => {
  test('openid-client reads the roles of its own client from ID Token, UserInfo and introspection (federation 7)', async () => {
    const { claims, info, known } = await signIn(one, scope);
    expect(claims['roles']).toEqual(['admin', 'reader']);
    expect(info['roles']).toEqual(['admin', 'reader']);
    expect(known['roles']).toEqual(['admin', 'reader']);
    expect((await signIn(other, scope)).claims['roles']).toEqual(['owner']);
  });

  test('a client without the scope, and a user without roles, have no such claim (federation 7)', async () => {
    const { claims, info } = await signIn(one, 'openid');
    expect([claims, info]).not.toContainEqual(expect.objectContaining({ roles: expect.anything() }));
    const bob = await service.createUser();
    const tokens = await obtainTokens(service, one, bob, { scope });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('roles');
  });

  test('no client learns the roles at another: by claims parameter, introspection or as its resource server (federation FR41, F63)', async () => {
    await service.database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [other.clientId]);
    await setRules(one, [{ claim: 'r', from: 'roles', into: ['introspection'] }]);
    const { access_token } = await obtainTokens(service, one, user, { scope });
    expect((await introspect(service.issuer, one, access_token)).body).toMatchObject({ r: ['admin', 'reader'] });
    const foreign = await introspect(service.issuer, other, access_token);
    expect(foreign.body).toMatchObject({ active: true });
    expect(JSON.stringify(foreign.body)).not.toMatch(/admin|reader/);
    await setRules(one, []);
    const claims = JSON.stringify({ userinfo: { roles: null }, id_token: { roles: null } });
    const mine = await obtainTokens(service, other, user, { scope: 'openid', claims });
    expect([
      decodeJwt(mine.id_token)['roles'] ?? ['owner'],
      (await userinfo(service.issuer, mine.access_token)).body['roles'] ?? ['owner'],
    ]).toEqual([['owner'], ['owner']]);
  });

  test('a role is gone at the next request when it, its group or the membership goes (federation FR42)', async () => {
    await api('POST', '/groups', { name: 'night' });
    await api('POST', `/clients/${one.clientId}/roles`, { name: 'guard' });
    await api('POST', `/clients/${one.clientId}/roles/guard/give`, { groups: ['night'] });
    const bob = await service.createUser({ groups: ['night'] });
    const { access_token } = await obtainTokens(service, one, bob, { scope });
    const roles = async () => (await userinfo(service.instances[1]!, access_token)).body['roles'];
    expect(await roles()).toEqual(['guard']);
    await api('PATCH', '/groups/night', { name: 'late' });
    expect(await roles()).toEqual(['guard']);
    await api('PATCH', `/users/${bob.sub}`, { groups: [] });
    expect(await roles()).toBeUndefined();
    await api('PATCH', `/users/${bob.sub}`, { groups: ['late'] });
    await api('DELETE', '/groups/late');
    await api('POST', '/groups', { name: 'late' });
    await api('PATCH', `/users/${bob.sub}`, { groups: ['late'] });
    // a group of the same name is another group
    expect(await roles()).toBeUndefined();
    await api('POST', `/clients/${one.clientId}/roles/guard/give`, { users: [bob.sub] });
    expect(await roles()).toEqual(['guard']);
    await api('DELETE', `/clients/${one.clientId}/roles/guard`);
    expect(await roles()).toBeUndefined();
  });

  test('commands list, define, change, give, take and delete roles, and each change is an event (federation 7)', async () => {
    const run = (...args: string[]) => runCommand(service, args);
    expect((await run('role', 'create', other.clientId, 'auditor', '--description', 'Reads')).code).toBe(0);
    expect((await run('role', 'give', other.clientId, 'auditor', '--group', 'crew', '--member', 'ada')).code).toBe(0);
    expect((await run('role', 'list', other.clientId)).stdout).toMatch(/auditor +crew +1/);
    expect((await run('role', 'change', other.clientId, 'auditor', '--description', 'Writes')).code).toBe(0);
    expect((await run('role', 'list', other.clientId)).stdout).toContain('Writes');
    expect((await run('role', 'list', one.clientId)).stdout).not.toContain('auditor');
    expect((await run('role', 'list', 'nobody')).code).not.toBe(0);
    expect((await run('role', 'give', other.clientId, 'auditor', '--group', 'nowhere')).code).not.toBe(0);
    expect((await run('role', 'take', other.clientId, 'auditor', '--group', 'crew')).code).toBe(0);
    expect((await run('role', 'delete', other.clientId, 'auditor')).code).toBe(0);
    const events = await service.database.sql(
      `SELECT type FROM audit_events WHERE client_id = $1 AND detail ->> 'role' = 'auditor' ORDER BY id`,
      [other.clientId],
    );
    expect(events.map(({ type }) => type)).toEqual([
      'role.created',
      'role.given',
      'role.changed',
      'role.taken',
      'role.deleted',
    ]);
  });
});

describe('scopes for claims', () => {
  test('an administrator gives a client the scope, consent shows its text and values, and it releases its claims (federation 7)', async () => {
    const body = {
      name: 'staff',
      text: { en: 'See your department', de: 'Ihre Abteilung sehen' },
      claims: ['department'],
    };
    expect((await api('POST', '/scopes', body)).status).toBe(201);
    const metadata = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid staff' };
    const made = await api('POST', '/clients', { client_name: 'Staff', ...metadata });
    expect(made.status).toBe(201);
    const client = {
      ...other,
      clientId: made.body['client_id'] as string,
      clientSecret: made.body['client_secret'] as string,
    };
    const agent = new UserAgent(service, { 'accept-language': 'de' });
    const uri = authorizationUrl(service.issuer, client, { scope: 'openid staff' });
    const consent = await agent.signIn(user, await agent.follow(await agent.get(uri)));
    for (const text of ['Ihre Abteilung sehen', 'Harbour']) expect(consent.body).toContain(text);
    const { claims, info, tokens } = await signIn(client, 'openid staff');
    expect(tokens.scope).toBe('openid staff');
    expect(claims).not.toHaveProperty('department');
    expect(info['department']).toBe('Harbour');
    // a client that is not registered for the scope gets nothing of it
    const foreign = await obtainTokens(service, other, user, { scope: 'openid staff' });
    expect(foreign.scope).toBe('openid');
    expect((await api('DELETE', '/scopes/staff')).status).toBe(409);
    // the console's form does not lose it
    const console = await openConsole(service, root);
    const edit = `/admin/clients/${client.clientId}/edit`;
    await console.agent.post(edit, filledForm(await console.agent.get(edit)));
    expect((await service.store.clients.find(client.clientId))!.metadata.scope).toBe('openid staff');
  });

  test('no registrant gets it, by registration or by update, and discovery does not name it (federation FR40, F61)', async () => {
    await api('POST', '/scopes', { name: 'secret_scope', claims: ['department'] });
    const metadata = { redirect_uris: ['https://rp.example.com/callback'], scope: 'openid secret_scope' };
    expect((await call(`${service.issuer}/register`, { body: metadata })).status).toBe(400);
    const answer = await call(`${service.issuer}/register`, { body: { ...metadata, scope: 'openid' } });
    const rules = [{ claim: 'c', from: 'groups', into: ['userinfo'] }];
    const more = { claim_rules: rules, roles: ['admin'], access: 'everyone', upstream_tokens: ['x'] };
    const update = (body: object) =>
      call(answer.body['registration_client_uri'] as string, {
        method: 'PUT',
        token: answer.body['registration_access_token'] as string,
        body: { ...metadata, client_id: answer.body['client_id'], ...body },
      });
    expect((await update({ scope: 'openid secret_scope' })).status).toBe(400);
    await update({ scope: 'openid', ...more });
    const stored = (await service.store.clients.find(answer.body['client_id'] as string))!;
    expect([stored.claimRules, stored.metadata.scope]).toEqual([[], 'openid']);
    const document = await call(`${service.issuer}/.well-known/openid-configuration`);
    expect(JSON.stringify(document.body)).not.toContain('secret_scope');
  });

  test('a name is that of a scope of the service, of an API, or for claims, and never of two of them (federation 7)', async () => {
    const scopes = [{ value: 'notes.read' }];
    await api('POST', '/resources', { resource: 'https://notes.example/', name: 'Notes', scopes });
    const make = (name: string) => api('POST', '/scopes', { name, claims: ['department'] });
    expect((await make('notes.read')).status).toBe(409);
    expect((await make('openid')).status).toBe(400);
    expect((await make('roles')).status).toBe(400);
    await make('free');
    expect(
      (await api('POST', '/resources', { resource: 'https://b.example/', name: 'B', scopes: [{ value: 'free' }] }))
        .status,
    ).toBe(409);
    for (const claims of [['sub'], ['email_verified', 'acr'], ['__proto__'], []])
      expect((await api('POST', '/scopes', { name: 'bad', claims })).status).toBe(400);
    // of twenty at once, in both tables, one gets the word
    const race = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2
          ? make('raced')
          : api('POST', '/resources', {
              resource: `https://r${index}.example/`,
              name: 'R',
              scopes: [{ value: 'raced' }],
            }),
      ),
    );
    const won = race.map(({ status }, index) => [status, index % 2] as const).filter(([status]) => status === 201);
    expect(new Set(won.map(([, kind]) => kind)).size).toBe(1);
  });
});

describe('rules', () => {
  test('openid-client reads the claims that rules make, at each place (federation 7)', async () => {
    const claim_rules = [
      { claim: 'https://one.example/groups', from: 'groups', case: 'upper', into: ['id_token', 'userinfo'] },
      { claim: 'dept', from: 'department', map: { Harbour: 'H-1' }, into: ['introspection'] },
      { claim: 'tenant', from: 'constant', value: 'north', into: ['id_token'] },
    ];
    const changed = await setRules(one, claim_rules);
    expect(changed.body['claim_rules']).toEqual(claim_rules);
    const { claims, info, known } = await signIn(one, 'openid');
    expect(claims).toMatchObject({ 'https://one.example/groups': ['CREW'], tenant: 'north' });
    expect(info).toMatchObject({ 'https://one.example/groups': ['CREW'] });
    expect(known).toMatchObject({ dept: 'H-1', active: true });
    expect(info).not.toHaveProperty('tenant');
    await setRules(one, []);
    expect((await signIn(one, 'openid')).claims).not.toHaveProperty('tenant');
  });

  test.each(['sub', 'iss', 'acr', 'email_verified', 'SUB', 'sub\u200b', 'active'])(
    'route and command refuse a rule for %j, and tokens do not change (federation FR41, F62)',
    async (claim) => {
      const rule = { claim, from: 'department', into: ['id_token', 'userinfo', 'introspection'] };
      expect((await setRules(one, [rule])).status).toBe(400);
      const command = ['client', 'claims', one.clientId, '--rule', JSON.stringify(rule)];
      expect((await runCommand(service, command)).code).not.toBe(0);
      expect((await service.store.clients.find(one.clientId))!.claimRules).toEqual([]);
    },
  );

  test('a client without rules costs UserInfo and introspection one statement each (federation 7)', async () => {
    const { access_token } = await obtainTokens(service, one, user, { scope });
    await userinfo(service.issuer, access_token);
    const count = service.ofRequests.length;
    await userinfo(service.issuer, access_token);
    expect(service.ofRequests.slice(count)).toEqual(['access_tokens.find']);
  });

  test('many groups leave the ID Token for UserInfo, and the omission is an event (federation F65)', async () => {
    const client = await service.createClient({ scope: 'openid groups', id_token_claims: true });
    const many = await service.createUser();
    // by plain SQL, which has no deadline: so many groups take seconds on a busy machine
    await service.database.sql(
      `UPDATE users SET groups = ARRAY(SELECT lpad(i::text, 200, 'g') FROM generate_series(1, 1000) AS i) WHERE sub = $1`,
      [many.sub],
    );
    const tokens = await obtainTokens(service, client, many, { scope: 'openid groups' });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('groups');
    expect(tokens.id_token.length).toBeLessThan(9000);
    expect((await userinfo(service.issuer, tokens.access_token)).body['groups']).toHaveLength(1_000);
    await expect
      .poll(() =>
        service.database.sql(`SELECT detail FROM audit_events WHERE type = 'groups.omitted' AND sub = $1`, [many.sub]),
      )
      .toEqual([{ detail: { groups: 1_000 } }]);
  });
});

describe('the console', () => {
  test('its page defines and gives roles, adds and removes rules, gives scopes, and keeps what was refused (federation 7)', async () => {
    const { agent } = await openConsole(service, root);
    const client = await service.createClient({ scope: 'openid' });
    const path = `/admin/clients/${client.clientId}/claims`;
    const act = async (fields: Record<string, string>) =>
      agent.follow(await agent.post(path, { ...formOf(await agent.get(path), path), ...fields }));
    await act({ act: 'role-add', name: 'editor' });
    await act({ act: 'role-give', role: 'editor', group: 'crew' });
    const given = await act({ act: 'role-give', role: 'editor', user: 'ada' });
    for (const text of ['editor', 'crew', 'ada']) expect(given.body).toContain(text);
    expect((await act({ act: 'role-give', role: 'editor', user: 'nobody' })).status).toBe(400);
    await act({ act: 'role-take', role: 'editor', group: 'crew' });
    expect(await service.store.clientRoles.list(undefined, client.clientId)).toMatchObject([{ groups: [], users: 1 }]);
    const list = { path: `/admin/clients/${client.clientId}`, member: 'claim_rules', kind: 'attribute' };
    const fields = { claim: 'dept', from: 'department', map: 'Harbour=H-1', 'into.1': 'true' };
    const added = await addRule(agent, list, fields);
    expect(added.url).toContain(`${path}?done=rule-added`);
    expect(added.body).toContain('<bdi>dept</bdi> = <bdi>department</bdi>');
    const refused = await addRule(agent, list, { ...fields, claim: 'email_verified' });
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('value="email_verified"')]);
    const rule = (await service.store.clients.find(client.clientId))!.claimRules;
    expect(rule).toEqual([{ claim: 'dept', from: 'department', map: { Harbour: 'H-1' }, into: ['userinfo'] }]);
    await act({ act: 'scope-give', scope: 'free' });
    expect((await service.store.clients.find(client.clientId))!.metadata.scope).toBe('openid free');
    const preview = await agent.get(`${path}?user=ada`);
    expect(preview.body.replaceAll('&quot;', '"')).toContain('"dept": "H-1"');
    const [, remove = ''] = /name="remove" value="([^"]*)"/.exec(added.body) ?? [];
    const rules = `${list.path}/rules/claim_rules`;
    await agent.post(rules, { ...formOf(await agent.get(path), rules), remove });
    expect((await service.store.clients.find(client.clientId))!.claimRules).toEqual([]);
  });

  test('the preview shows what the client then gets, stores nothing, and no value of it can be used (federation F67)', async () => {
    const { agent } = await openConsole(service, root);
    const client = await service.createClient({ scope: 'openid roles email', subject_type: 'pairwise' });
    await setRules(client, [{ claim: 'dept', from: 'department', into: ['id_token', 'userinfo', 'introspection'] }]);
    const counts = () =>
      service.database.sql(
        `SELECT (SELECT count(*) FROM access_tokens) AS tokens, (SELECT count(*) FROM client_sessions) AS sessions,
                (SELECT count(*) FROM pairwise_subjects) AS subjects, (SELECT count(*) FROM grants) AS grants,
                (SELECT count(*) FROM audit_events) AS events`,
      );
    const path = `/admin/clients/${client.clientId}/claims`;
    await agent.get(path);
    const before = await counts();
    const page = await agent.get(`${path}?user=ada`);
    expect(await counts()).toEqual(before);
    const shown = [...page.body.matchAll(/<code>(\{[^]*?)<\/code>/g)].map(([, json]) =>
      JSON.parse(json!.replaceAll('&quot;', '"').replaceAll('&amp;', '&')),
    );
    const { claims, info } = await signIn(client, 'openid roles email');
    expect(shown[0]).toEqual({ dept: claims['dept'] });
    expect({ ...shown[1], sub: info.sub }).toEqual(info);
    expect(page.body).not.toMatch(/eyJ[\w-]{20}/);
    const user = new UserAgent(service);
    await user.signIn(await service.createUser());
    expect((await user.follow(await user.get(`${path}?user=ada`))).body).not.toContain('Harbour');
  });
});
