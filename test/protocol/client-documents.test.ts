// A client whose client_id is the address of its document: it is fetched for a signed-in user, and waits for an administrator
// (draft-ietf-oauth-client-id-metadata-document).
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DocumentServer, startDocumentServer } from '../helpers/document-server.ts';
import { adminToken, approveClient, call, eventually, obtainCode, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  type Page,
  pkce,
  responseParameters,
  tokenRequest,
  UserAgent,
  withoutReference,
} from '../helpers/user-agent.ts';

const redirectUri = 'http://127.0.0.1:51004/callback';

let server: DocumentServer;
let service: TestService;
let token: string;
let user: TestUser;
let agent: UserAgent;
beforeAll(async () => {
  server = await startDocumentServer();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      LIMIT_REGISTRATIONS_WAITING: '10000',
      LIMIT_METADATA_FETCHES: '0',
      CLIENT_ID_METADATA: 'approval',
      OUTBOUND_ALLOW: server.allow,
      CLIENT_ID_METADATA_HOSTS: server.allow,
    },
  });
  token = await adminToken(service);
  user = await service.createUser({ claims: { name: 'Ada Lovelace' } });
  agent = new UserAgent(service);
  await agent.signIn(user);
});
afterEach(() => {
  // a request that goes on after its answer would write one
  expect(service.logs.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
// so that the one user of these tests does not reach the limit of documents that wait (security R164)
afterEach(() => service.database.sql('DELETE FROM client_askers').then(() => undefined));
afterAll(async () => {
  await service?.stop();
  await server?.stop();
});
beforeEach(() => {
  server.requests.length = 0;
});

const proof = pkce();
const { code_verifier: verifier, ...challenge } = proof;
const urlOf = (clientId: string, parameters: Record<string, string> = {}, base = service.issuer) =>
  authorizationUrl(base, { clientId, redirectUri }, { ...challenge, ...parameters });
const ask = (clientId: string, parameters: Record<string, string> = {}, by = agent): Promise<Page> =>
  by.get(urlOf(clientId, parameters));
const title = (page: Page) => /<h1>(.*?)<\/h1>/s.exec(page.body)?.[1]?.replace(/<[^>]*>/g, '');
const rowOf = async (clientId: string) => {
  const [row] = await service.database.sql('SELECT * FROM clients WHERE client_id = $1', [clientId]);
  return row;
};
const eventsOf = async (clientId: string, type: string) =>
  (await service.database.sql('SELECT * FROM audit_events WHERE client_id = $1 AND type = $2', [clientId, type])) as {
    actor: string;
    detail: Record<string, unknown>;
  }[];
const approve = (clientId: string) => approveClient(service.issuer, token, encodeURIComponent(clientId));
/** An approved client with the document at a new path. */
async function approved(path: string, metadata?: Record<string, unknown>): Promise<string> {
  const clientId = server.serve(path, metadata);
  await ask(clientId);
  expect(await approve(clientId)).toMatchObject({ status: 200 });
  return clientId;
}
/** Lets the stored document and each failure be as old as given. */
async function age(clientId: string, interval: string): Promise<void> {
  await service.database.sql(
    `UPDATE client_documents SET fresh_until = fresh_until - $2::interval, fetched_at = fetched_at - $2::interval,
       gone_since = gone_since - $2::interval, used_at = used_at - $2::interval, refetch_at = refetch_at - $2::interval WHERE client_id = $1`,
    [clientId, interval],
  );
  await service.database.sql(
    'UPDATE document_fetches SET held_until = held_until - $2::interval WHERE client_id = $1',
    [clientId, interval],
  );
}

describe('a signed-out browser', () => {
  test('causes no fetch, and gets the page of every unknown client, which offers a sign-in (security R2, R140)', async () => {
    const clientId = server.serve('/signed-out.json');
    const pages: unknown[] = [];
    for (const id of [clientId, 'https://unknown.example/client.json', 'unknown']) {
      const stranger = new UserAgent(service);
      const refused = await ask(id, {}, stranger);
      const page = await stranger.follow(refused);
      pages.push([refused.status, refused.location, page.status, withoutReference(page)]);
      expect(page.body).toContain('New application?');
      expect(page.body).toContain('href="/login"');
    }
    expect(new Set(pages.map((page) => JSON.stringify(page))).size).toBe(1);
    expect(server.requests).toEqual([]);
    expect(await rowOf(clientId)).toBeUndefined();
  });

  test('and a client that names itself at /par, /token or /introspect cause no fetch (security R140)', async () => {
    const clientId = server.serve('/no-row.json');
    for (const path of ['/par', '/token', '/introspect']) {
      const body = {
        client_id: clientId,
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: redirectUri,
        token: 'x',
      };
      const response = await fetch(service.issuer + path, { method: 'POST', body: new URLSearchParams(body) });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: 'invalid_client' });
    }
    expect(server.requests).toEqual([]);
  });
});

describe('a signed-in user', () => {
  test('waits for an administrator on a page that continues by itself, and gets a code (decisions 2)', async () => {
    const clientId = server.serve('/editor/client.json');
    const page = await ask(clientId);
    expect(page.status).toBe(200);
    expect(page.headers.get('refresh')).toBe('5');
    expect(title(page)).toBe(`${new URL(server.origin).host} is waiting for an administrator`);
    expect(page.body).toContain('Harbour Editor');
    expect(await rowOf(clientId)).toMatchObject({ status: 'disabled', origin: 'document', self_registered: true });
    expect(await eventsOf(clientId, 'client.registered')).toMatchObject([
      { actor: user.sub, detail: { status: 'disabled', name: 'Harbour Editor', document: true } },
    ]);
    // the page loads itself again: no fetch follows, and nothing changes
    for (let times = 0; times < 3; times++) expect(title(await agent.get(page.url))).toBe(title(page));
    expect(server.requests).toEqual(['/editor/client.json']);
    expect(await approve(clientId)).toMatchObject({ status: 200, body: { status: 'enabled' } });
    const consent = await eventually(
      async () => agent.follow(await agent.get(page.url)),
      ({ body }) => body.includes('id="allow"'),
    );
    expect(title(consent)).toBe(`Allow ${new URL(server.origin).host} to use your account?`);
    expect(consent.body).toContain('It calls itself');
    expect(consent.body).toContain('id="registered-itself"');
    expect(consent.body).toContain('id="loopback"');
    const { code } = responseParameters(await agent.submit(consent, { decision: 'allow' }));
    const tokens = await tokenRequest(service.issuer, undefined, {
      grant_type: 'authorization_code',
      code: code!,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    });
    expect(tokens).toMatchObject({ status: 200, body: { access_token: expect.any(String) } });
    expect(server.requests).toEqual(['/editor/client.json']);
  });

  test('makes one row and causes one fetch with many requests at once, on two instances (draft-ietf-oauth-client-id-metadata-document 5, security R140)', async () => {
    const clientId = server.serve('/at-once.json', {}, { until: new Promise((resolve) => setTimeout(resolve, 100)) });
    const pages = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        agent.get(urlOf(clientId, { state: String(index) }, service.instances[index % 2])),
      ),
    );
    for (const page of pages) {
      expect(page.status).toBe(200);
      expect(title(page)).toMatch(/is waiting for an administrator|^Getting to know/);
    }
    expect(server.requests).toEqual(['/at-once.json']);
    const rows = await service.database.sql('SELECT count(*)::int AS count FROM clients WHERE client_id = $1', [
      clientId,
    ]);
    expect(rows).toEqual([{ count: 1 }]);
    expect(await eventsOf(clientId, 'client.registered')).toHaveLength(1);
    expect(await service.database.sql('SELECT sub FROM client_askers WHERE client_id = $1', [clientId])).toEqual([
      { sub: user.sub },
    ]);
    expect(
      await service.database.sql('SELECT client_id FROM document_fetches WHERE client_id = $1', [clientId]),
    ).toEqual([]);
  });

  test('sees the page of every unknown client if the document does not list the redirect URI (security R1, R2)', async () => {
    const clientId = server.serve('/elsewhere.json', { redirect_uris: ['https://elsewhere.example/callback'] });
    expect(await ask(clientId)).toMatchObject({ status: 303, location: `${service.issuer}/login?problem=client` });
  });

  test('sees the page of every unknown client after an administrator refused or disabled the client (security R2)', async () => {
    const refused = server.serve('/refused.json');
    await ask(refused);
    const path = `${service.issuer}/admin/api/clients/${encodeURIComponent(refused)}`;
    const { version } = (await call(path, { token })).body;
    await call(`${path}/refuse`, { method: 'POST', token, body: { version, reason: 'Nobody knows it.' } });
    const disabled = await approved('/disabled.json');
    await call(`${service.issuer}/admin/api/clients/${encodeURIComponent(disabled)}`, {
      method: 'PATCH',
      token,
      body: { status: 'disabled' },
    });
    for (const clientId of [refused, disabled])
      expect(await ask(clientId)).toMatchObject({ status: 303, location: `${service.issuer}/login?problem=client` });
  });
});

describe('an address', () => {
  test.each([
    ...['', '/', '/a/../b', '/a/%2e%2e/b', '/a/%2E/b', '/x#x', '/x?x', '/a\\b', '/a\tb', '/a b'].map(
      (path) => `ORIGIN${path}`,
    ),

    'HTTPS://localhost:PORT/x',
    'http://localhost:PORT/x',
    'https://user@localhost:PORT/x',
    'https://localhost.:PORT/x',
    'https://münchen.example/x',
    'https://xn--mnchen-3ya.example/x',
    'https://LOCALHOST:PORT/x',
    'ORIGIN//../x',
    `ORIGIN/${'x'.repeat(512)}`,
  ])('of the odd form %s is not fetched (protocols P52, security R140)', async (form) => {
    const clientId = form.replace('ORIGIN', server.origin).replace('PORT', new URL(server.origin).port);
    const page = await ask(clientId);
    expect([303, 400]).toContain(page.status);
    expect(server.requests).toEqual([]);
    expect(
      await service.database.sql('SELECT client_id FROM document_fetches WHERE client_id = $1', [clientId]),
    ).toEqual([]);
  });

  test('of 512 characters is fetched, and administrators can approve its client (draft-ietf-oauth-client-id-metadata-document 3, protocols P52)', async () => {
    const path = `/${'x'.repeat(511 - server.origin.length)}`;
    const clientId = await approved(path);
    expect(clientId).toHaveLength(512);
    expect(server.requests).toEqual([path]);
    expect((await agent.follow(await ask(clientId))).body).toContain('id="allow"');
  });

  test('of this service itself is not fetched (protocols 5.5)', async () => {
    expect(await ask(`${service.issuer.replace('http:', 'https:')}/client.json`)).toMatchObject({ status: 303 });
  });
});

describe('a document', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['names another client_id', { client_id: `https://localhost/x/` }, /address of the document/],
    ['has a client secret', { client_secret: 'secret' }, /client secret/],
    ['has a method with a secret', { token_endpoint_auth_method: 'client_secret_basic' }, /none or private_key_jwt/],
    ['has the grant type client_credentials', { grant_types: ['client_credentials'] }, /grant_types/],
    ['has the grant type implicit', { grant_types: ['authorization_code', 'implicit'] }, /grant_types/],
    [
      'has keys at another host',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://keys.example/' },
      /jwks_uri/,
    ],
    ['has a deceptive name', { client_name: 'a\u202eb' }, /client_name/],
    ['has no redirect URI', { redirect_uris: [] }, /redirect_uris/],
  ])('that %s is refused (protocols P53)', async (what, metadata, reason) => {
    const clientId = server.serve(`/refused-${what.replaceAll(' ', '-')}`, metadata);
    const page = await ask(clientId);
    expect(page.status).toBe(400);
    expect(page.body).toMatch(reason);
    expect(await rowOf(clientId)).toBeUndefined();
  });

  test.each<[string, { status?: number; body?: string; headers?: Record<string, string> }]>([
    ['is no JSON', { body: '<html>' }],
    ['has a reserved name', { body: '{"__proto__":{"status":"enabled"}}' }],
    ['has a name twice', { body: '{"client_id":"a","client_id":"b"}' }],
    ['is an array', { body: '[]' }],
    ['has the type HTML', { headers: { 'content-type': 'text/html' } }],
    ['is longer than 5 KiB', { body: JSON.stringify({ x: 'x'.repeat(5200) }) }],
    ['redirects', { status: 302, headers: { location: '/editor/client.json' } }],
    ['fails', { status: 500 }],
  ])(
    'that %s is refused, and not fetched again within a minute (protocols P53, security R140)',
    async (what, served) => {
      const path = `/unusable-${what.replaceAll(' ', '-')}`;
      const clientId = server.serve(path, {}, served);
      for (let times = 0; times < 3; times++) expect(await ask(clientId)).toMatchObject({ status: 400 });
      expect(server.requests).toEqual([path]);
      expect(await rowOf(clientId)).toBeUndefined();
      // a failure is no document: the next fetch reads it (draft-ietf-oauth-client-id-metadata-document 5.2)
      server.serve(path);
      await age(clientId, '61 seconds');
      expect(await ask(clientId)).toMatchObject({ status: 200 });
      expect(server.requests).toEqual([path, path]);
    },
  );

  test('is read with unknown values left out, and as an application on the computer of the user (protocols 5.5)', async () => {
    const clientId = server.serve(
      '/unknown-values.json',
      {
        grant_types: ['authorization_code', 'urn:example:teapot'],
        response_types: ['code', 'teapot'],
        scope: 'openid admin teapot',
        resource_uris: ['https://api.example/'],
        application_type: 'web',
        'x-teapot': { short: true },
        status: 'enabled',
      },
      { headers: { 'content-type': 'application/vnd.example+json; charset=utf-8' } },
    );
    expect(await ask(clientId)).toMatchObject({ status: 200 });
    expect(await rowOf(clientId)).toMatchObject({
      status: 'disabled',
      metadata: {
        grant_types: ['authorization_code'],
        response_types: ['code'],
        scope: 'openid',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
      },
    });
    expect((await rowOf(clientId)) as object).not.toHaveProperty('metadata.resource_uris');
  });

  test('is fetched without cookies (protocols 5.5)', async () => {
    await ask(server.serve('/no-cookies.json'));
    expect(server.headers.at(-1)).not.toHaveProperty('cookie');
  });
});

describe('a document that changes', () => {
  const changes = { redirect_uris: ['http://127.0.0.1/other'], client_name: 'Another Editor' };

  test('is read again when it is no longer fresh, with the entity tag of the known one (draft-ietf-oauth-client-id-metadata-document 5.1)', async () => {
    const clientId = server.serve('/tagged.json', {}, { headers: { etag: '"one"', 'cache-control': 'max-age=600' } });
    await ask(clientId);
    await age(clientId, '599 seconds');
    await ask(clientId);
    expect(server.requests).toHaveLength(1);
    server.documents.set('/tagged.json', { status: 304, body: '' });
    await age(clientId, '1 second');
    await ask(clientId);
    await ask(clientId);
    expect(server.requests).toHaveLength(2);
    expect(server.headers.at(-1)).toMatchObject({ 'if-none-match': '"one"' });
  });

  test('is kept for five minutes at least, and for a day at most (protocols 5.5)', async () => {
    const clientId = server.serve('/short.json', {}, { headers: { 'cache-control': 'no-store, max-age=0' } });
    const long = server.serve('/long.json', {}, { headers: { 'cache-control': 'public, max-age=31536000' } });
    await ask(clientId);
    await ask(long);
    const rows = await service.database.sql(
      `SELECT extract(epoch FROM fresh_until - fetched_at)::int AS seconds FROM client_documents WHERE client_id = ANY ($1) ORDER BY 1`,
      [[clientId, long]],
    );
    expect(rows).toEqual([{ seconds: 300 }, { seconds: 86_400 }]);
  });

  test('while it waits changes the waiting registration, so that an approval of the old version is a conflict (security R90)', async () => {
    const clientId = server.serve('/waiting-change.json');
    await ask(clientId);
    const path = `${service.issuer}/admin/api/clients/${encodeURIComponent(clientId)}`;
    const { version } = (await call(path, { token })).body;
    server.serve('/waiting-change.json', { client_name: 'Another Editor' });
    await age(clientId, '301 seconds');
    await ask(clientId);
    const decision = await call(`${path}/approve`, { method: 'POST', token, body: { version } });
    expect(decision).toMatchObject({ status: 409 });
    expect(await rowOf(clientId)).toMatchObject({
      metadata: { client_name: 'Another Editor' },
      pending_metadata: null,
    });
  });

  test('after the approval waits, and the approved version stays in effect (security R45, R141)', async () => {
    const clientId = await approved('/changed.json');
    server.serve('/changed.json', changes);
    await age(clientId, '301 seconds');
    expect((await agent.follow(await ask(clientId))).body).toContain('id="allow"');
    expect(await ask(clientId, { redirect_uri: 'http://127.0.0.1/other' })).toMatchObject({
      location: `${service.issuer}/login?problem=client`,
    });
    expect(await rowOf(clientId)).toMatchObject({
      status: 'enabled',
      metadata: { client_name: 'Harbour Editor' },
      pending_metadata: { ...changes, application_type: 'native' },
    });
    expect(await eventsOf(clientId, 'client.updated')).toMatchObject([
      { actor: clientId, detail: { members: ['pending_changes'], waits_for_approval: true, document: true } },
    ]);
    await approve(clientId);
    expect(await rowOf(clientId)).toMatchObject({ metadata: changes, pending_metadata: null });
  });

  test('to less takes effect at once, and the scope of an administrator stays (security R45)', async () => {
    const clientId = await approved('/less.json');
    await call(`${service.issuer}/admin/api/clients/${encodeURIComponent(clientId)}`, {
      method: 'PATCH',
      token,
      body: { scope: 'openid groups' },
    });
    server.serve('/less.json', { redirect_uris: ['http://127.0.0.1/callback'] });
    await age(clientId, '301 seconds');
    await ask(clientId);
    expect(await rowOf(clientId)).toMatchObject({
      metadata: { redirect_uris: ['http://127.0.0.1/callback'], scope: 'openid groups' },
      pending_metadata: null,
    });
  });

  test('to one that is refused changes nothing (security R141)', async () => {
    const clientId = await approved('/broken.json');
    const before = await rowOf(clientId);
    server.serve('/broken.json', { client_secret: 'secret' });
    await age(clientId, '301 seconds');
    expect((await agent.follow(await ask(clientId))).body).toContain('id="allow"');
    expect(await rowOf(clientId)).toEqual(before);
  });

  test('is refused by an administrator once, and waits no more until it changes again (decisions 2)', async () => {
    const clientId = await approved('/refused-change.json');
    server.serve('/refused-change.json', changes);
    await age(clientId, '301 seconds');
    await ask(clientId);
    const path = `${service.issuer}/admin/api/clients/${encodeURIComponent(clientId)}`;
    const { version } = (await call(path, { token })).body;
    await call(`${path}/refuse`, { method: 'POST', token, body: { version, reason: 'We know the old name.' } });
    await age(clientId, '301 seconds');
    await ask(clientId);
    expect(await rowOf(clientId)).toMatchObject({
      pending_metadata: null,
      metadata: { client_name: 'Harbour Editor' },
    });
  });
});

describe('a document that is gone', () => {
  test('for a day ends new authorizations, and what comes after it waits for an approval (protocols P55, security R141)', async () => {
    const clientId = await approved('/gone.json', { scope: 'openid offline_access' });
    const consent = await agent.follow(await ask(clientId, { scope: 'openid offline_access', prompt: 'consent' }));
    const { code } = responseParameters(await agent.submit(consent, { decision: 'allow' }));
    const redeemed = await tokenRequest(service.issuer, undefined, {
      grant_type: 'authorization_code',
      code: code!,
      redirect_uri: redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    });
    let refreshToken = redeemed.body['refresh_token'] as string;
    const refreshes = async () => {
      const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId };
      const { status, body } = await tokenRequest(service.issuer, undefined, parameters);
      refreshToken = body['refresh_token'] as string;
      return status;
    };
    server.documents.delete('/gone.json');
    await age(clientId, '301 seconds');
    // for less than a day the approved version stays in force
    expect(responseParameters(await ask(clientId))).toHaveProperty('code');
    await age(clientId, '25 hours');
    const closed = { status: 303, location: `${service.issuer}/login?problem=client` };
    expect(await ask(clientId)).toMatchObject(closed);
    expect(await eventsOf(clientId, 'client.document_gone')).toMatchObject([{ actor: 'service' }]);
    expect(await refreshes()).toBe(200);
    // the next owner of the domain
    server.serve('/gone.json', { redirect_uris: ['http://127.0.0.1/theirs', 'http://127.0.0.1/callback'] });
    await age(clientId, '61 seconds');
    expect(await ask(clientId)).toMatchObject(closed);
    expect(await ask(clientId, { redirect_uri: 'http://127.0.0.1/theirs' })).toMatchObject(closed);
    expect(await rowOf(clientId)).toMatchObject({ pending_metadata: { client_name: 'Harbour Editor' } });
    expect(await refreshes()).toBe(200);
    await approve(clientId);
    expect(responseParameters(await agent.follow(await ask(clientId, { scope: 'openid' })))).toHaveProperty('code');
    expect(await eventsOf(clientId, 'client.document_gone')).toHaveLength(1);
  });

  test('and comes back unchanged waits, too (protocols P55)', async () => {
    const clientId = await approved('/back.json');
    const document = server.documents.get('/back.json')!;
    server.documents.set('/back.json', { status: 410, body: '' });
    await age(clientId, '301 seconds');
    await ask(clientId);
    await age(clientId, '25 hours');
    expect(await ask(clientId)).toMatchObject({ location: `${service.issuer}/login?problem=client` });
    server.documents.set('/back.json', document);
    await age(clientId, '61 seconds');
    expect(await ask(clientId)).toMatchObject({ location: `${service.issuer}/login?problem=client` });
    expect(await rowOf(clientId)).toMatchObject({
      document_gone: true,
      pending_metadata: { client_name: 'Harbour Editor' },
    });
    // an approval by plain SQL, as any other
    await service.database.sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [clientId]);
    expect(await rowOf(clientId)).toMatchObject({ document_gone: false, pending_metadata: null });
    const page = await eventually(
      () => ask(clientId),
      ({ location }) => location?.includes('/consent') === true,
    );
    expect((await agent.follow(page)).body).toContain('id="allow"');
  });
});

test('a client with keys at the host of its document authenticates by private_key_jwt (protocols 5.5)', async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  server.documents.set('/keys.json', { body: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one' }] } });
  const clientId = await approved('/with-keys.json', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `${server.origin}/keys.json`,
  });
  expect(server.requests).toEqual(['/with-keys.json']);
  const code = await obtainCode(service, { clientId, redirectUri }, undefined, challenge, agent);
  const assertion = await new SignJWT({ sub: clientId, iss: clientId, aud: service.issuer, jti: 'document-1' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(pair.privateKey);
  const parameters = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    client_id: clientId,
  };
  expect(await tokenRequest(service.issuer, undefined, parameters)).toMatchObject({ status: 401 });
  const tokens = await tokenRequest(service.issuer, undefined, {
    ...parameters,
    client_assertion: assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
  expect(tokens).toMatchObject({ status: 200, body: { access_token: expect.any(String) } });
});
