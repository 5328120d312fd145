// Sets clocks wrong: those of the service's machines by ten minutes either way, and the clock of the database, which counts, by one step.
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dropDatabase } from '../helpers/database.ts';
import { newProofKey, post, present, proofFor, type ProofOptions } from '../helpers/dpop.ts';
import { execute } from '../helpers/global-setup.ts';
import { clientOf, LoadRequests, type LoadClient } from '../helpers/load-requests.ts';
import { freePort, runCommand, startServer, stopServers } from '../helpers/server-process.ts';
import { pkce, tokenRequest, type UserAgent } from '../helpers/user-agent.ts';

const database = `test_${randomBytes(6).toString('hex')}`;
const redirectUri = 'https://rp.example.com/callback';
const minutes = 60_000; // milliseconds
/** The base address of the instance that is ahead, which is the issuer's, and of the one that is behind. */
let bases: string[];
let requests: LoadRequests;

/** Gives a process a wrong clock, without any code of the service. */
function shifted(milliseconds: number): string {
  const script = `
    const Real = Date;
    globalThis.Date = class Date extends Real {
      constructor(...parts) { if (parts.length === 0) super(Real.now() + ${milliseconds}); else super(...parts); }
      static now() { return Real.now() + ${milliseconds}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

async function sql(text: string): Promise<void> {
  const client = new pg.Client({ ...inject('postgres'), database });
  await client.connect();
  await client.query(text);
  await client.end();
}

beforeAll(async () => {
  const server = inject('postgres');
  await execute({ ...server, database: 'postgres' }, `CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`);
  // moves the database's clock: PostgreSQL finds these functions before its own
  await sql("CREATE TABLE clock_shift AS SELECT interval '0' AS by");
  await sql(`CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE
               AS 'SELECT pg_catalog.now() + by FROM public.clock_shift'`);
  await sql(`CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
               AS 'SELECT pg_catalog.clock_timestamp() + by FROM public.clock_shift'`);
  await sql(`ALTER DATABASE ${database} SET search_path = public, pg_catalog`);
  const ports = [await freePort(), await freePort()];
  bases = ports.map((port) => `http://localhost:${port}`);
  const settings = {
    DATABASE_URL: `postgresql://${server.user}@/${database}?host=${encodeURIComponent(server.host)}&port=${server.port}`,
    SECRET_KEY: randomBytes(32).toString('base64url'),
    ADMIN_PASSWORD: 'correct horse battery',
    BASE_URL: bases[0]!,
  };
  for (const [index, shift] of [10 * minutes, -10 * minutes].entries()) {
    await startServer({ ...settings, PORT: String(ports[index]), NODE_OPTIONS: shifted(shift) }).ready();
  }
  const args = ['client', 'create', '--name', 'Admin', '--grant-type', 'client_credentials', '--scope', 'admin'];
  const admin = await runCommand(args, settings);
  requests = new LoadRequests({
    issuer: bases[0]!,
    instances: bases,
    admin: { clientId: admin['client_id'] as string, clientSecret: admin['client_secret'] as string },
    mayLoseConnections: false,
  });
  await requests.renewAdminToken();
});
afterAll(async () => {
  await stopServers();
  await dropDatabase(database);
});

async function authorized(agent: UserAgent, client: LoadClient, base: string): Promise<Record<string, string>> {
  const { code_verifier, ...challenge } = pkce();
  const parameters = { response_type: 'code', scope: 'openid', client_id: client.clientId, redirect_uri: redirectUri };
  const page = await agent.get(`/authorize?${new URLSearchParams({ ...parameters, ...challenge })}`);
  const code = new URL(page.location!).searchParams.get('code')!;
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier };
  const { status, body } = await tokenRequest(base, client, grant);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Record<string, string>;
}

async function isActive(base: string, client: LoadClient, token: string): Promise<unknown> {
  const response = await fetch(`${base}/introspect`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: new URLSearchParams({ token }),
  });
  return ((await response.json()) as { active?: boolean }).active;
}

const now = () => Math.floor(Date.now() / 1000);

test('a token of one instance is valid at the other, and as old as the database says, however wrong their clocks are (security F17)', async () => {
  const client = await requests.createClient();
  const { agent } = await requests.signedIn();
  const [ahead, behind] = bases as [string, string];
  const tokens = await authorized(agent, client, behind);
  const { iat, exp, auth_time: authTime } = decodeJwt(tokens['id_token']!) as Record<string, number>;
  expect(Math.abs(iat! - now())).toBeLessThan(60);
  expect(exp! - iat!).toBe(600);
  expect(authTime).toBeLessThanOrEqual(iat!);
  for (const base of [ahead, behind])
    for (const name of ['access_token', 'id_token'])
      expect(await isActive(base, client, tokens[name]!), `${name} at ${base}`).toBe(true);
});

test('a JWT that a client signs is checked against the same clock (security F17)', async () => {
  const metadata = {
    redirect_uris: [redirectUri],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_jwt',
  };
  const { body } = await requests.adminCall('POST', '/clients', metadata, 201);
  const { client_id: clientId, client_secret: secret } = body as Record<string, string>;
  for (const base of bases) {
    const assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(clientId!)
      .setSubject(clientId!)
      .setAudience(bases[0]!)
      .setIssuedAt(now())
      .setExpirationTime(now() + 120)
      .sign(Buffer.from(secret!));
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const parameters = { grant_type: 'client_credentials', client_assertion: assertion, client_assertion_type };
    expect(await tokenRequest(base, undefined, parameters), base).toMatchObject({ status: 200 });
  }
});

test('a DPoP proof and a nonce are as old as the database says, at each instance, however wrong their clocks are (security F17, R135, P10, P11)', async () => {
  const metadata = { client_name: 'Proofs', redirect_uris: [], grant_types: ['client_credentials'] };
  const made = async (more: Record<string, unknown>) => {
    const { body } = await requests.adminCall('POST', '/clients', { ...metadata, ...more }, 201);
    const { client_id: clientId, client_secret: secret } = body as Record<string, string>;
    return {
      ...clientOf(clientId!, secret!),
      metadata: { token_endpoint_auth_method: 'client_secret_basic' } as const,
    };
  };
  const [plain, careful] = [await made({}), await made({ dpop_nonce: true })];
  const issuer = bases[0]!;
  const key = await newProofKey();
  const ask = async (client: typeof plain, base: string, options: ProofOptions) =>
    post(
      `${base}/token`,
      client,
      { grant_type: 'client_credentials' },
      await proofFor(key, `${issuer}/token`, options),
    );
  for (const base of bases) {
    for (const off of [-10, 0, 10])
      expect(await ask(plain, base, { claims: { iat: now() + off } }), `${base} ${off}`).toMatchObject({ status: 200 });
    // 600 seconds are what the clocks of the two instances say
    for (const off of [-3600, -600, -75, 75, 600, 3600])
      expect(await ask(plain, base, { claims: { iat: now() + off } }), `${base} ${off}`).toMatchObject({
        status: 400,
        body: { error: 'invalid_dpop_proof' },
      });
  }
  for (const [asked, used] of [bases, bases.toReversed()] as [string, string][]) {
    const nonce = (await ask(careful, asked, {})).headers.get('dpop-nonce')!;
    const { status, body } = await ask(careful, used, { nonce });
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    // the client lacks the scope: the proof is good
    const token = body['access_token'] as string;
    const renewed = { nonce, base: used };
    expect(await present({ issuer }, '/user/info', token, key, renewed)).toMatchObject({ status: 403 });
    // the nonce alone says how old the proof is (RFC 9449 4.3 item 11)
    const early = { ...renewed, claims: { iat: now() + 600 } };
    expect(await present({ issuer }, '/user/info', token, key, early)).toMatchObject({ status: 403 });
    const without = { base: used, claims: { iat: now() + 600 } };
    expect(await present({ issuer }, '/user/info', token, key, without)).toMatchObject({ status: 401 });
  }
});

test('when the database clock steps by an hour, lifetimes follow it and sessions continue (security F17)', async () => {
  const client = await requests.createClient();
  const { agent } = await requests.signedIn();
  const tokens = await authorized(agent, client, bases[0]!);
  await sql(`UPDATE clock_shift SET by = '1 hour'`);
  for (const base of bases) expect(await isActive(base, client, tokens['access_token']!)).toBe(false);
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens['refresh_token']! };
  const { status, body } = await tokenRequest(bases[1]!, client, refresh);
  expect(status).toBe(200);
  const { iat, auth_time: authTime } = decodeJwt(body['id_token'] as string) as Record<string, number>;
  expect(Math.abs(iat! - now() - 3600)).toBeLessThan(60);
  expect(iat! - authTime!).toBeGreaterThanOrEqual(3600);
  for (const base of bases) expect(await isActive(base, client, body['access_token'] as string)).toBe(true);
  // the session may be idle for eight hours
  await authorized(agent, client, bases[1]!);
});
