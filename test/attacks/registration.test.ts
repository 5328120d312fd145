// Attacks dynamic registration: credentials of other clients, hostile metadata, internal addresses, floods.
import { randomBytes, randomUUID } from 'node:crypto';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import type { ServerResponse } from 'node:http';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { deleteUncompleted } from '../../src/jobs/retention.ts';
import { adminToken, type Answer, call, obtainCode, refresh, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import { ask, introspect, manage, register, runCodeFlow, second, wholeClient } from '../spec/kit.ts';
import { attack } from './attack.ts';
import { type Canary, canary, webServer } from './raw.ts';

let service: TestService;
let trap: Canary;
/** A client's own server: its behaviour at each path. */
let keyServer: Awaited<ReturnType<typeof webServer>>;
const misbehaviour = new Map<string, (response: ServerResponse) => void>();
/** Takes five seconds, during which other attacks run. */
let dripping: Promise<Answer>;
const cut = new Set<string>();
let drops = 0;
beforeAll(async () => {
  trap = await canary();
  keyServer = await webServer((request, response) => {
    response.on('error', () => undefined);
    misbehaviour.get(request.url!)?.(response);
  });
  service = await startTestService({
    instances: 2,
    environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${keyServer.port}` },
  });
  misbehaviour.set('/drip', (response) => {
    const timer = setInterval(() => response.write(' ') && drops++, 200);
    response.writeHead(200).on('close', () => {
      clearInterval(timer);
      cut.add('drip');
    });
  });
  dripping = signInByKey(ownServer('/drip'));
  dripping.catch(() => undefined);
});
afterAll(async () => {
  await service?.stop();
  await keyServer?.close();
  await trap?.close();
});

const rows = (where: string, values: unknown[], of = service) =>
  of.database.sql<Record<string, unknown> & { metadata: Record<string, unknown> }>(
    `SELECT * FROM clients WHERE ${where}`,
    values,
  );
const row = async (clientId: string) => (await rows('client_id = $1', [clientId]))[0];
const refused = { status: 400, body: { error: expect.stringMatching(/^invalid_/) } };
const post = (path: string, body: string): Promise<Response> =>
  fetch(service.issuer + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

const ownServer = (path: string) => `http://127.0.0.1:${keyServer.port}${path}`;

/** Registers a client that authenticates with a key, and whose jwks_uri returns no usable key. */
async function signInByKey(jwksUri: string): Promise<Answer> {
  const { clientId } = await service.createClient({
    token_endpoint_auth_method: 'private_key_jwt',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    jwks_uri: jwksUri,
  });
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: clientId, sub: clientId, aud: service.issuer, jti: jwksUri, iat: now, exp: now + 60 };
  const { privateKey } = await generateKeyPair('ES256');
  return tokenRequest(service.issuer, undefined, {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey),
  });
}

/** Whether a session of the database waits for a row that another session locks. */
const waitsForALock = async () =>
  (
    await service.database.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
  ).length > 0;

attack(
  {
    id: 'A59',
    name: 'Token of another client',
    request:
      'Reading, replacing, deleting and repeating the registration of C2 with the registration access token of C1, and with its own one that is replaced meanwhile',
    answer: '401 each time, and C2 is untouched',
    source: 'RFC 7592 2, CVE-2026-9705',
    requirements: ['R44'],
  },
  async () => {
    const [one, two] = [(await register(service)).body, (await register(service)).body];
    const before = await row(two['client_id']!);
    const mixed = { ...two, registration_access_token: one['registration_access_token']! };
    const metadata = { client_id: two['client_id'], redirect_uris: ['https://evil.example/cb'] };
    for (const answer of [
      await manage(mixed, 'GET'),
      await manage(mixed, 'PUT', metadata),
      await manage(mixed, 'PUT', { ...metadata, client_secret: two['client_secret'] }),
      await manage(mixed, 'DELETE'),
      await register(service, metadata, { authorization: `Bearer ${one['registration_access_token']}` }),
    ]) {
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
      expect(JSON.stringify(answer.body)).not.toContain(two['redirect_uris']![0]);
    }
    // the client secret manages no registration
    const basic = Buffer.from(`${two['client_id']}:${two['client_secret']}`).toString('base64');
    const bySecret = { headers: { authorization: `Basic ${basic}` } };
    expect((await call(two['registration_client_uri']!, bySecret)).status).toBe(401);
    expect(await row(two['client_id']!)).toEqual(before);
    expect((await manage(two, 'GET')).status).toBe(200);

    // the token belonged to the client when the request arrived, but no longer when the request is processed
    for (const method of ['PUT', 'DELETE']) {
      const body = { client_id: two['client_id'], redirect_uris: ['https://evil.example/cb'] };
      let late: Promise<Answer> | undefined;
      await service.store.transaction(async ({ clients }) => {
        await clients.lock(two['client_id']!);
        late = manage(two, method, method === 'PUT' ? body : undefined);
        await expect.poll(waitsForALock, { interval: 10 }).toBe(true);
        await clients.update(two['client_id']!, { credentials: { registrationTokenHash: randomBytes(32) } });
      });
      expect(await late, method).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
      await service.database.sql('UPDATE clients SET registration_access_token_hash = $1 WHERE client_id = $2', [
        before!['registration_access_token_hash'],
        two['client_id'],
      ]);
    }
    expect((await manage(two, 'GET')).body['redirect_uris']).toEqual(before!.metadata['redirect_uris']);
  },
);

attack(
  {
    id: 'A62',
    name: 'Registration as a port scanner',
    request:
      'Registrations whose addresses name a local port, the metadata service, a mapped private address and a listener of the attacker, then the page on which an administrator looks at them',
    answer: 'The service connects to none of them, and its answer does not distinguish an open port from a closed one',
    source: 'CVE-2026-1180',
    requirements: ['R47'],
  },
  async () => {
    const open = [
      `http://127.0.0.1:${trap.port}/`,
      `https://127.0.0.1:${trap.port}/`,
      `https://localhost:${trap.port}/`,
    ];
    const closed = ['http://127.0.0.1:1/', 'https://127.0.0.1:1/', 'https://localhost:1/'];
    const others = ['http://169.254.169.254/', 'https://169.254.169.254/', 'http://[::ffff:10.0.0.1]/'];
    const members = ['jwks_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'client_uri', 'backchannel_logout_uri'];
    const admin = new UserAgent(service);
    await admin.signIn(await service.createUser({ admin: true }));
    const registerAndReview = async (metadata: Record<string, unknown>) => {
      const { status, body } = await register(service, { ...metadata, registration_mode: ['approval'] });
      if (status === 202) expect((await admin.get(body['verification_uri_complete']!)).status).toBe(200);
      return { status, error: body['error_description'] };
    };
    const everywhere = async (uri: string) => [
      await registerAndReview(Object.fromEntries(members.map((member) => [member, uri]))),
      await registerAndReview({ initiate_login_uri: uri }),
    ];
    const opened = await Promise.all(open.map(everywhere));
    expect(opened).toEqual(await Promise.all(closed.map(everywhere)));
    expect(opened.map(([first]) => first!.status)).toEqual([202, 202, 202]);
    await Promise.all(others.map(everywhere));
    expect((await registerAndReview({ request_uris: [open[1]!] })).status).toBe(202);
    // the only address that is fetched at registration: the error is the same sentence for any response
    const sector = async (uri: string) =>
      await registerAndReview({ subject_type: 'pairwise', sector_identifier_uri: uri });
    const said = await Promise.all(
      [...open, ...closed, 'https://169.254.169.254/', 'https://[::ffff:a00:1]/'].map(sector),
    );
    expect(said[0]).toMatchObject({ status: 400 });
    expect(new Set(said.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(trap.connections).toBe(0);
  },
);

attack(
  {
    id: 'A64',
    name: 'Deceptive names',
    request:
      'client_name with markup, line breaks, direction overrides, zero-width characters, NUL, 10 KB, and the words of a security notice',
    answer:
      '400 for malformed names; the rest is shown as inert text with the host, and consent says that the application registered itself',
    source: 'CVE-2026-9086, GHSA-6x8h-498w-gv8c',
    requirements: ['R48', 'R11', 'R93'],
  },
  async () => {
    for (const name of [
      'Bank\r\nSet-Cookie: x=y',
      'Bank\u2028Sign in again',
      'Bank \u202egnp.exe',
      'Bank \u2066left',
      'Bank \u061cright',
      'Ba\u200bnk',
      'Ba\u00adnk',
      'Ba\u180enk',
      'Ba\u{e0041}nk',
      'Ba\u3164nk',
      'Ba\0nk',
      'Ba\ud800nk',
      'x'.repeat(10_240),
      ' ',
      '\u3164',
    ]) {
      expect(await register(service, { client_name: name }), JSON.stringify(name)).toMatchObject(refused);
    }
    const person = await service.createUser();
    for (const name of [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      'Security Update – Sign in again',
    ]) {
      const { status, body } = await register(service, { client_name: name });
      expect(status).toBe(201);
      await service.database.sql(
        `UPDATE clients SET status = 'enabled', approved_by = 'automatic' WHERE client_id = $1`,
        [body['client_id']],
      );
      const client = { clientId: body['client_id']!, redirectUri: 'https://rp.example.com/callback' };
      const agent = new UserAgent(service);
      const login = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
      const consent = await agent.signIn(person, login);
      for (const page of [login, consent]) {
        expect(page.status).toBe(200);
        expect(page.body).not.toMatch(/<script>|<img/);
        expect(page.body).toContain(name.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'));
      }
      expect(consent.body).toContain('id="self-registered"');
      expect(consent.body).toContain('rp.example.com');
    }
  },
);

attack(
  {
    id: 'A65',
    name: 'Hostile JSON',
    request:
      'Registrations with reserved member names, one member twice, deep nesting, too many members, and numbers beyond all bounds',
    answer: '400 (413 past 64 KiB) before anything is stored, and never a 500',
    source: 'arkime#2231',
    requirements: ['R103', 'R48'],
  },
  async () => {
    const whole = (more: string) => `{"redirect_uris":["https://rp.example.com/cb"],${more}}`;
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    const many = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',');
    const count = () => rows('true', []).then(({ length }) => length);
    const before = await count();
    for (const [body, status] of [
      [whole('"__proto__":{"status":"enabled"}'), 400],
      [whole('"constructor":{"prototype":{"status":"enabled"}}'), 400],
      [whole('"jwks":{"keys":[{"kty":"EC","__proto__":{}}]}'), 400],
      [whole('"redirect_uris":["https://evil.example/cb"]'), 400],
      [whole('"client_name":"Harbour","client_n\\u0061me":"Bank"'), 400],
      [whole('"jwks":{"keys":[{"kty":"EC","kty":"RSA"}]}'), 400],
      [whole(`"x":${deep(20)}`), 400],
      [whole(`"x":${deep(30_000)}`), 400],
      [whole(`"x":${deep(300_000)}`), 413],
      [whole('"x":1e400'), 400],
      [whole('"default_max_age":1e400'), 400],
      [whole(many(300)), 400],
      [whole(`"x":{${many(300)}}`), 400],
      [whole(many(10_000)), 413],
      [whole('"x":"\\u0000"'), 400],
      [whole('"x":"\\ud800"'), 400],
      ['[]', 400],
      ['null', 400],
      ['', 400],
      ['{"redirect_uris":', 400],
    ] as const) {
      const answer = await post('/register', body);
      expect(answer.status, body.slice(0, 100)).toBe(status);
      expect(await answer.json()).toMatchObject({ error: expect.stringMatching(/^invalid_/) });
    }
    expect(await count()).toBe(before);
  },
);

attack(
  {
    id: 'A66',
    name: 'PUT that replaces half',
    request:
      'PUT without redirect_uris, with another client_id or none, with the secret of another client, and with other values of members that only the service or an administrator may set',
    answer: '400 each time, and the stored registration is untouched',
    source: 'RFC 7592 2.2',
    requirements: ['R46'],
  },
  async () => {
    const { body: client } = await register(service);
    const { body: other } = await register(service);
    const before = await row(client['client_id']!);
    const whole = {
      client_id: client['client_id'],
      redirect_uris: ['https://rp.example.com/callback'],
      client_name: 'New',
    };
    for (const body of [
      { client_id: client['client_id'], client_name: 'New' },
      { ...whole, client_id: undefined },
      { ...whole, client_id: other['client_id'] },
      { ...whole, client_secret: other['client_secret'] },
      { ...whole, client_secret: '' },
      { ...whole, client_secret: null },
      ...[
        { client_id_issued_at: 1 },
        { client_secret_expires_at: 1 },
        { registration_access_token: other['registration_access_token'] },
        { registration_client_uri: other['registration_client_uri'] },
        { shared_secret: other['shared_secret'] },
        { shared_secret: null },
        { status: 'enabled' },
        { first_party: true },
        { self_managed: true },
        { introspect: 'any' },
        { access_token_lifetime: 1e6 },
      ].map((more) => ({ ...whole, ...more })),
    ])
      expect(await manage(client, 'PUT', body), JSON.stringify(body)).toMatchObject(refused);
    expect(await row(client['client_id']!)).toEqual(before);
    expect(await manage(client, 'PUT', whole)).toMatchObject({ status: 200, body: { client_name: 'New' } });
  },
);

attack(
  {
    id: 'A67',
    name: 'After deletion',
    request:
      'A client deletes its registration; then its access and refresh tokens, handles, open code, registration access token and settings are tried on another instance, and the same metadata is registered again',
    answer: 'All are dead, and the new registration is a disabled client with another id',
    source: 'RFC 7592 2.3',
    requirements: ['R46', 'R43'],
  },
  async () => {
    const client = await service.createClient(wholeClient);
    const observer = await service.createClient({});
    await service.database.sql(`UPDATE clients SET introspect = 'any' WHERE client_id = $1`, [observer.clientId]);
    const { agent, user, code, tokens } = await runCodeFlow(service, client, { scope: `openid offline_access` });
    const openCode = await obtainCode(service, client, user, {}, agent);
    const bearer = `Bearer ${tokens.client_session_handle}`;
    expect((await ask(service.issuer, '/user/me/settings', bearer, { settings: { theme: 'dark' } })).status).toBe(200);
    const registration = {
      client_id: client.clientId,
      registration_client_uri: `${service.issuer}/register/${client.clientId}`,
      registration_access_token: client.registrationAccessToken,
    };
    expect((await manage(registration, 'DELETE')).status).toBe(204);

    const base = second(service);
    const unknown = { status: 401, body: { error: 'invalid_token' } };
    expect(await userinfo(base, tokens.access_token)).toMatchObject(unknown);
    for (const handle of [code, openCode, tokens.client_session_handle])
      expect(await ask(base, '/user/me/settings', `Bearer ${handle}`)).toMatchObject(unknown);
    const noClient = { status: 401, body: { error: 'invalid_client' } };
    expect(await refresh(base, client, tokens.refresh_token)).toMatchObject(noClient);
    const redemption = { grant_type: 'authorization_code', code: openCode, redirect_uri: client.redirectUri };
    expect(await tokenRequest(base, client, redemption)).toMatchObject(noClient);
    expect(await ask(base, `/user/${user.sub}/settings`, client.basic)).toMatchObject(noClient);
    for (const token of [
      tokens.access_token,
      tokens.refresh_token,
      tokens.id_token,
      openCode,
      tokens.client_session_handle,
    ])
      expect((await introspect(base, observer, token)).body).toEqual({ active: false });
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(await manage(registration, method, method === 'PUT' ? registration : undefined)).toMatchObject(unknown);
    expect((await agent.get(authorizationUrl(base, client))).location).toBe(`${base}/login?problem=client`);
    for (const table of ['client_sessions', 'user_settings', 'grants', 'access_tokens', 'refresh_tokens'])
      expect(await leftIn(table, client), table).toBe(0);

    const again = { client_name: 'Harbour', redirect_uris: [client.redirectUri] };
    const byToken = { authorization: `Bearer ${client.registrationAccessToken}` };
    expect(await register(service, again, byToken)).toMatchObject(unknown);
    expect(await register(service, again, { authorization: client.basic })).toMatchObject(noClient);
    const fresh = await register(service, { ...again, client_id: client.clientId });
    expect(fresh).toMatchObject({ status: 201, body: { status: 'disabled' } });
    expect(fresh.body['client_id']).not.toBe(client.clientId);

    // the Idempotency-Key of a lost answer belongs to a registration that is gone
    const key = { 'idempotency-key': randomUUID() };
    const first = await register(service, again, key);
    expect((await manage(first.body, 'DELETE')).status).toBe(204);
    const repeated = await register(service, again, key);
    expect(repeated).toMatchObject({ status: 201, body: { status: 'disabled' } });
    expect(repeated.body['client_id']).not.toBe(first.body['client_id']);
  },
);

/** The rows of a client in a table, by its own column or by that of its client sessions. */
async function leftIn(table: string, { clientId }: TestClient): Promise<number> {
  const columns = await service.database.sql<{ column_name: string }>(
    'SELECT column_name FROM information_schema.columns WHERE table_name = $1',
    [table],
  );
  if (!columns.some((each) => each.column_name === 'client_id')) {
    const text = `SELECT 1 FROM ${table} WHERE NOT EXISTS (SELECT FROM client_sessions s WHERE s.id = client_session_id)`;
    return (await service.database.sql(text)).length;
  }
  return (await service.database.sql(`SELECT 1 FROM ${table} WHERE client_id = $1`, [clientId])).length;
}

attack(
  {
    id: 'A63',
    name: 'Internal addresses in a key fetch',
    request:
      'An enabled client signs in with a key whose jwks_uri redirects to an internal address, has a name that resolves to a public address first and to an internal one later, streams without end, or sends slowly',
    answer:
      'The service follows no redirect and connects to no internal address; the fetch ends at 64 KiB or 5 s, and the client authentication fails with 401',
    source: 'CVE-2026-4366, node-oidc-provider SSRF dispatcher',
    requirements: ['R47'],
  },
  async () => {
    const inward = [`http://127.0.0.1:${trap.port}/`, 'http://169.254.169.254/'];
    for (const [index, location] of inward.entries())
      misbehaviour.set(`/redirect/${index}`, (response) => response.writeHead(302, { location }).end());

    let streamed = 0;
    misbehaviour.set('/stream', (response) => {
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk)) streamed += chunk.length;
        streamed += chunk.length;
      };
      response
        .writeHead(200)
        .on('drain', pump)
        .on('close', () => cut.add('stream'));
      pump();
    });
    // names of the attacker: public first and internal later, and both at once; no machine has the public address
    const nowhere = { address: '4000::1', family: 6 };
    const inner = { address: '127.0.0.1', family: 4 };
    const asked: string[] = [];
    const lookup = dns.lookup;
    const planted = (name: string, options: unknown, callback: (...answer: unknown[]) => void): void => {
      if (!name.endsWith('.test')) return void (lookup as unknown as typeof planted)(name, options, callback);
      asked.push(name);
      const later = asked.filter((each) => each === name).length > 1;
      const found = name.startsWith('both.') ? [nowhere, inner] : [later ? inner : nowhere];
      const all = typeof options === 'object' && options !== null && 'all' in options && options.all === true;
      setImmediate(() => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)));
    };
    dns.lookup = planted as unknown as typeof dns.lookup;
    syncBuiltinESMExports();
    try {
      const answers = await Promise.all([
        dripping,
        ...inward.map((_, index) => signInByKey(ownServer(`/redirect/${index}`))),
        signInByKey(ownServer('/stream')),
        signInByKey(`https://first.test:${trap.port}/jwks`),
        signInByKey(`https://both.test:${trap.port}/jwks`),
      ]);
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
        expect(answer.body).toEqual(answers[0]!.body);
      }
    } finally {
      dns.lookup = lookup;
      syncBuiltinESMExports();
    }
    // the service resolved each name once, and connected to the address that it had checked
    expect(asked.toSorted()).toEqual(['both.test', 'first.test']);
    expect([...cut].toSorted()).toEqual(['drip', 'stream']);
    // five a second, for five seconds (a loaded machine is late with both)
    expect(drops).toBeLessThan(50);
    // no more than the buffers of two sockets hold
    expect(streamed).toBeLessThan(64 * 1024 * 1024);
    expect(trap.connections).toBe(0);
  },
);

attack(
  {
    id: 'A68',
    name: 'Registration flood',
    request: 'Registrations from many networks at once on two instances, far more than may wait for an administrator',
    answer:
      'The limit holds exactly, then 503 (429 within one network) for registration alone; enabled clients work, the list pages, and registrations without approval are purged',
    source: 'OWASP ASVS 10.4.7, Rauthy dynamic_clients',
    requirements: ['R49', 'R105'],
  },
  async () => {
    const cap = 12;
    const flooded = await startTestService({
      instances: 2,
      environment: {
        ...withoutLimits,
        LIMIT_REGISTRATIONS_WAITING: String(cap),
        LIMIT_REGISTRATION_PER_NETWORK: '3',
        TRUST_PROXY: '127.0.0.0/8,::1',
      },
    });
    try {
      const client = await flooded.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
      const works = () => tokenRequest(flooded.issuer, client, { grant_type: 'client_credentials' });
      const send = (address: string, instance: number) =>
        call(`${flooded.instances[instance % 2]}/register`, {
          headers: { 'x-forwarded-for': address },
          body: { redirect_uris: ['https://rp.example.com/cb'] },
        });
      // one network: three, and not one more
      const own = await Promise.all(Array.from({ length: 10 }, (_, index) => send(`192.0.2.${index}`, index)));
      expect(own.filter(({ status }) => status === 201)).toHaveLength(3);
      for (const { status, headers } of own.filter((answer) => answer.status !== 201)) {
        expect(status).toBe(429);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
      const waves = 3;
      const width = 12;
      const statuses: number[] = [];
      for (let wave = 0; wave < waves; wave++) {
        const [answers, good] = await Promise.all([
          Promise.all(Array.from({ length: width }, (_, index) => send(`10.${wave}.${index}.1`, index))),
          works(),
        ]);
        statuses.push(...answers.map(({ status }) => status));
        expect(good.status).toBe(200);
      }
      expect(new Set(statuses)).toEqual(new Set([201, 503]));
      expect(statuses.slice(-width)).toEqual(Array.from({ length: width }, () => 503));
      const waiting = (await rows(`status = 'disabled'`, [], flooded)).length;
      expect(waiting).toBe(cap);
      const busy = await send('198.51.100.1', 0);
      expect(busy).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
      expect(Number(busy.headers.get('retry-after'))).toBeGreaterThan(0);

      const token = await adminToken(flooded);
      let seen = 0;
      for (let cursor: unknown = ''; cursor !== undefined;) {
        const { body } = await call(`${flooded.issuer}/admin/api/clients?limit=10&cursor=${String(cursor)}`, { token });
        seen += (body['clients'] as unknown[]).length;
        cursor = body['next_cursor'];
      }
      expect(seen).toBe(waiting + 2);

      await flooded.database.sql(`UPDATE clients SET updated_at = now() - interval '31 days'`);
      await flooded.database.sql('UPDATE rate_limits SET expire = 0');
      await deleteUncompleted(flooded.store, 30 * 86_400);
      await purge(flooded);
      expect(await rows(`status = 'disabled'`, [], flooded)).toEqual([]);
      expect(await flooded.database.sql('SELECT * FROM rate_limits')).toEqual([]);
      expect((await works()).status).toBe(200);
      expect((await send('192.0.2.1', 0)).status).toBe(201);
    } finally {
      await flooded.stop();
    }
  },
);

/** The work that the service does every quarter of a minute. */
async function purge({ store }: TestService): Promise<void> {
  for (let kind = 0; kind < store.expired.kinds; kind++) {
    await store.transaction(async ({ expired }) => ((await expired.claim()) ? expired.deleteBatch(kind) : 0));
  }
}
