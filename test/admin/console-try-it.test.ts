// "Try it" in the console runs a real code flow against any client, shows each step, and keeps no secret.
import { generateKeyPair, exportJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOf, openConsole } from '../helpers/console.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

type User = Awaited<ReturnType<TestService['createUser']>>;

const path = '/admin/try-it';

let service: TestService;
let admin: User;
let agent: UserAgent;
let callback: string;
beforeAll(async () => {
  service = await startTestService();
  callback = `${service.issuer}${path}/callback`;
  admin = await service.createUser({ admin: true });
  ({ agent } = await openConsole(service, admin));
});
afterAll(() => service?.stop());

const pageOf = (client: TestClient) => agent.get(`${path}?client_id=${client.clientId}`);
async function add(client: TestClient, change = 'add'): Promise<Page> {
  const fields = formOf(await pageOf(client), `${path}/redirect-uri`);
  return agent.post(`${path}/redirect-uri`, { ...fields, change });
}
/** Starts the flow, and allows consent; ends at the page after the callback. */
async function begin(client: TestClient, options: Record<string, string> = {}): Promise<Page> {
  const fields = formOf(await pageOf(client), `${path}/begin`);
  let page = await agent.follow(
    await agent.post(`${path}/begin`, { ...fields, scope: 'openid', end: 'yes', ...options }),
  );
  if (page.body.includes('id="allow"')) page = await agent.submit(page, { decision: 'allow' });
  return page;
}
const redeem = (page: Page, secret: string) =>
  agent.post(`${path}/redeem`, { ...formOf(page, `${path}/redeem`), client_secret: secret });
/** Returns the values that the page shows under a name, in the order of the steps. */
const shown = ({ body }: Page, name: string) =>
  [...body.matchAll(new RegExp(`<dt><bdi dir="ltr">${name}</bdi>[^]*?<dd>([^]*?)</dd>`, 'g'))].map(([, value]) =>
    value!.replace(/<[^>]*>/g, ' ').trim(),
  );
const redirectUris = async (client: TestClient) =>
  (await service.store.clients.find(client.clientId))!.metadata.redirect_uris;

describe('the callback', () => {
  test('an administrator adds and removes the callback with one button, and the audit trail names the administrator (pages, try it)', async () => {
    const client = await service.createClient({ client_name: 'Harbour <b>' });
    const before = await pageOf(client);
    expect(before.body).toMatch(/Harbour &lt;b&gt;[^]*can’t be tested here yet/);
    expect(before.body).not.toContain(`${path}/begin`);
    const added = await add(client);
    expect(added.status).toBe(303);
    expect((await agent.follow(added)).body).toMatch(/role="status">Redirect URI added/);
    expect(await redirectUris(client)).toEqual([client.redirectUri, callback]);
    await add(client, 'remove');
    expect(await redirectUris(client)).toEqual([client.redirectUri]);
    const events = await service.database.sql(
      `SELECT actor, detail->'members' AS members FROM audit_events WHERE client_id = $1 AND type = 'client.updated'`,
      [client.clientId],
    );
    expect(events).toEqual([
      { actor: admin.sub, members: ['redirect_uris'] },
      { actor: admin.sub, members: ['redirect_uris'] },
    ]);
  });

  test('an administrator adds the callback only after a recent sign-in (security R91)', async () => {
    const client = await service.createClient();
    const fields = formOf(await pageOf(client), `${path}/redirect-uri`);
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
      admin.sub,
    ]);
    const refused = await agent.post(`${path}/redirect-uri`, { ...fields, change: 'add' });
    expect(refused.location).toContain('max_age=');
    expect(await redirectUris(client)).toEqual([client.redirectUri]);
    ({ agent } = await openConsole(service, admin));
  });
});

describe('a flow', () => {
  test('a flow of a confidential client shows every request and response, and the checks of the ID Token; its tokens end with it (pages, try it)', async () => {
    const scope = 'openid profile offline_access';
    const client = await service.createClient({ client_name: 'Harbour', scope });
    await add(client);
    const waiting = await begin(client, { scope, prompt: 'consent', max_age: '3600' });
    expect(waiting.body).toContain('Authorization code received');
    expect(shown(waiting, 'code_challenge_method')).toEqual(['S256']);
    const page = await redeem(waiting, client.clientSecret);
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, expect.stringContaining('no-store')]);
    expect(page.body).toContain('Sign-in succeeded');
    expect(page.body).not.toContain(client.clientSecret);
    expect(page.body).not.toContain('tag problem');
    for (const check of ['alg', 'iss', 'aud', 'exp', 'nonce', 'at_hash', 'auth_time'])
      expect(shown(page, check).at(-1), check).toContain('Valid');
    expect(shown(page, 'active')).toEqual(['true']);
    expect(shown(page, 'grant_type')).toEqual(['authorization_code', 'refresh_token']);
    const [, access] = /Bearer ([\w-]+)/.exec(page.body)!;
    const after = await fetch(`${service.issuer}/user/info`, { headers: { authorization: `Bearer ${access}` } });
    expect(after.status).toBe(401);
    const cookies = [...agent.cookies.keys()];
    expect(cookies).not.toContain('GATEHOUSE_TRY_IT');
  });

  test('a flow of a public client needs no secret (pages, try it)', async () => {
    const client = await service.createClient({ token_endpoint_auth_method: 'none' });
    await add(client);
    const page = await begin(client, { end: '' });
    expect(page.body).toContain('Sign-in succeeded');
    expect(page.body).toContain('OpenID Connect Core 5.3');
    // without the option the tokens stay valid
    const [, access] = /Bearer ([\w-]+)/.exec(page.body)!;
    const after = await fetch(`${service.issuer}/user/info`, { headers: { authorization: `Bearer ${access}` } });
    expect(after.status).toBe(200);
    // a reloaded callback belongs to no flow
    expect((await agent.get(page.url)).body).toContain('This test expired');
  });

  test("a flow of a client with pairwise subjects shows the client's subject of the user (OpenID Connect Core 8)", async () => {
    const client = await service.createClient({ subject_type: 'pairwise' });
    await add(client);
    const page = await redeem(await begin(client), client.clientSecret);
    const subjects = new Set(shown(page, 'sub'));
    expect(subjects.size).toBe(1);
    expect([...subjects][0]).not.toBe(admin.sub);
  });

  test('a flow with an encrypted ID Token shows only its header (OpenID Connect Core 10.2)', async () => {
    const { publicKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true });
    const client = await service.createClient({
      jwks: { keys: [{ ...(await exportJWK(publicKey)), use: 'enc', kid: 'e1' }] },
      id_token_encrypted_response_alg: 'RSA-OAEP-256',
    });
    await add(client);
    const page = await redeem(await begin(client), client.clientSecret);
    expect(page.body).toContain('Only the client can read more');
    expect(shown(page, 'enc')).toHaveLength(1);
    expect(page.body).not.toContain('Invalid');
  });

  test('a flow that fails shows its error: a wrong secret, a refusal, an invalid request (RFC 6749 4.1.2.1, 5.2)', async () => {
    const client = await service.createClient({ client_name: 'Harbour' });
    await add(client);
    const wrong = await redeem(await begin(client), 'not the secret');
    expect(wrong.body).toContain('Sign-in failed');
    expect(shown(wrong, 'error')).toEqual(['invalid_client']);
    expect(wrong.body).not.toContain('not the secret');
    const silent = await begin(client, { prompt: 'none', max_age: '0' });
    expect(shown(silent, 'error')).toEqual(['login_required']);
    const faulty = await begin(client, { claims: '{"no json' });
    expect(shown(faulty, 'error')).toEqual(['invalid_request']);
    const hostile = await begin(client, { scope: '"><script>alert(1)</script>' });
    expect(hostile.body).not.toContain('<script>alert');
  });

  test('a flow takes its response only in the browser and session that started it (RFC 6749 10.12)', async () => {
    const client = await service.createClient({ token_endpoint_auth_method: 'none' });
    await add(client);
    const fields = formOf(await pageOf(client), `${path}/begin`);
    const sent = await agent.post(`${path}/begin`, { ...fields, scope: 'openid' });
    const { agent: other } = await openConsole(service, admin);
    const state = new URL(sent.location!).searchParams.get('state')!;
    const answer = `${path}/callback?${new URLSearchParams({ code: 'x', state, iss: service.issuer }).toString()}`;
    expect((await other.get(answer)).body).toContain('This test expired');
    other.cookies.set('GATEHOUSE_TRY_IT', agent.cookies.get('GATEHOUSE_TRY_IT')!);
    expect((await other.get(answer)).body).toContain('This test expired');
    expect((await agent.get(answer.replace(state, 'another'))).body).toContain('This test expired');
  });
});

test('only an administrator opens Try it, and a forged form does nothing (security R55)', async () => {
  const client = await service.createClient();
  const { page } = await openConsole(service, await service.createUser(), path);
  expect(page.status).toBe(403);
  expect((await new UserAgent(service).get(path)).location).toContain('/authorize');
  for (const action of ['begin', 'redirect-uri', 'redeem']) {
    const form = { csrf: 'A'.repeat(43), client_id: client.clientId, change: 'add', client_secret: 'x' };
    expect((await agent.post(`${path}/${action}`, form)).status).toBe(400);
  }
  expect((await agent.get(`${path}?client_id=unknown`)).status).toBe(404);
  // the console's own client cannot be tried
  expect((await agent.get(`${path}?client_id=gatehouse-console`)).status).toBe(404);
  expect(await redirectUris(client)).toEqual([client.redirectUri]);
});

test('no secret and no token of a flow is in the log or in the database (security R29, R101)', async () => {
  const client = await service.createClient({ client_name: 'Quiet' });
  await add(client);
  const page = await redeem(await begin(client, { end: '' }), client.clientSecret);
  const [, access] = /Bearer ([\w-]+)/.exec(page.body)!;
  const log = JSON.stringify(service.logs);
  for (const secret of [client.clientSecret, access!]) expect(log).not.toContain(secret);
});
