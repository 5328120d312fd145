// A sector_identifier_uri is fetched when a client registers or changes, and must contain every redirect URI (OpenID Connect Registration 5).
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adminToken, type Answer, call, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { createUnapprovedSectorCheck } from '../../src/domain/client-documents/sector-check.ts';
import type { ClientMetadata } from '../../src/oauth/client-metadata.ts';
import type { OAuthError } from '../../src/oauth/errors.ts';
import { FetchRefused } from '../../src/outbound/guarded-fetch.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const redirectUris = ['https://one.example/callback', 'https://two.example/callback'];

let service: TestService;
let server: Server;
let uri: string;
/** An initial access token. */
let initial: string;
/** The response of the sector's server, and the number of requests to it. */
let sector: { status: number; body: string; headers?: Record<string, string>; requests: number };
beforeAll(async () => {
  server = createServer((_request, response) => {
    sector.requests++;
    response.writeHead(sector.status, { 'content-type': 'application/json', ...sector.headers }).end(sector.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  uri = `http://127.0.0.1:${port}/sector.json`;
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: `127.0.0.1:${port}` } });
  initial = (await adminCall('/registration-tokens', {})).body['initial_access_token'] as string;
});
afterAll(async () => {
  await service?.stop();
  server?.close();
});
beforeEach(() => {
  sector = { status: 200, body: JSON.stringify(redirectUris), requests: 0 };
});

const metadata = () => ({ redirect_uris: redirectUris, subject_type: 'pairwise', sector_identifier_uri: uri });
const adminCall = async (path: string, body: Record<string, unknown>, of = service): Promise<Answer> =>
  call(`${of.issuer}/admin/api${path}`, { token: await adminToken(of), body });
/** Registers a client that needs no approval. */
const register = (body: Record<string, unknown> = metadata()): Promise<Answer> =>
  call(`${service.issuer}/register`, { token: initial, body });
const registerUnapproved = (body: Record<string, unknown> = metadata()): Promise<Answer> =>
  call(`${service.issuer}/register`, { body });

describe('registration', () => {
  test('with every redirect URI in the document succeeds, also with several hosts (OpenID Connect Core 8.1)', async () => {
    const answer = await register();
    expect(answer).toMatchObject({ status: 201, body: { subject_type: 'pairwise', sector_identifier_uri: uri } });
    expect(sector.requests).toBe(1);
  });

  test.each([
    ['lacks one', 200, JSON.stringify(redirectUris.slice(1)), /contain all redirect_uris/],
    [
      'spells one differently',
      200,
      JSON.stringify(redirectUris.map((each) => `${each}/`)),
      /contain all redirect_uris/,
    ],
    ['is not an array', 200, JSON.stringify({ redirect_uris: redirectUris }), /must be a JSON array/],
    ['is null', 200, 'null', /must be a JSON array/],
    ['is not JSON', 200, '<html>', /return status 200 and a JSON array/],
    ['does not exist', 404, '', /return status 200 and a JSON array/],
    ['is longer than 64 KiB', 200, JSON.stringify([...redirectUris, 'x'.repeat(70_000)]), /return status 200/],
  ])(
    'whose document %s is refused with a sentence that gives the reason (OpenID Connect Registration 5)',
    async (_what, status, body, why) => {
      sector = { status, body, requests: 0 };
      const answer = await register();
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata', error_description: expect.stringMatching(why) },
      });
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    },
  );

  test('follows no redirect, and sends no request to an address that is not public (security A62, R47)', async () => {
    sector = { status: 302, body: '', headers: { location: uri }, requests: 0 };
    expect(await register()).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
    expect(sector.requests).toBe(1);
    const descriptions = new Set<unknown>();
    for (const address of [
      'http://127.0.0.1:1/sector.json',
      'https://127.0.0.1:1/sector.json',
      'https://169.254.169.254/',
      'https://[::ffff:10.0.0.1]/',
      'https://localhost:1/',
    ]) {
      const answer = await register({ ...metadata(), sector_identifier_uri: address });
      expect(answer, address).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
      descriptions.add(answer.body['error_description']);
    }
    expect(descriptions.size).toBeLessThanOrEqual(2);
    expect(sector.requests).toBe(1);
  });

  test('checks the document for a client with public subjects, too (OpenID Connect Registration 2)', async () => {
    sector.body = '[]';
    expect(await register({ ...metadata(), subject_type: 'public' })).toMatchObject({ status: 400 });
  });

  test.each([
    ['several hosts', { redirect_uris: redirectUris }, /several hosts/],
    ['a loopback address', { redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native' }, /https URI/],
    ['a private-use scheme', { redirect_uris: ['com.example.app:/callback'], application_type: 'native' }, /https URI/],
    ['no redirect URI', { redirect_uris: [], grant_types: ['client_credentials'] }, /https URI/],
    [
      'a plain http address',
      { sector_identifier_uri: 'http://one.example/sector.json' },
      /sector_identifier_uri must be/,
    ],
  ])(
    'of a pairwise client with %s and without a valid sector is refused (OpenID Connect Core 8.1)',
    async (_what, change, why) => {
      const answer = await register({
        redirect_uris: ['https://one.example/callback'],
        subject_type: 'pairwise',
        ...change,
      });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata', error_description: expect.stringMatching(why) },
      });
      expect(sector.requests).toBe(0);
    },
  );
});

describe('a registration that waits for approval', () => {
  const addresses = () => [uri, uri.replace('http:', 'https:'), uri.replace('127.0.0.1', 'localhost')];

  test('reaches no host that OUTBOUND_ALLOW opens, neither at once, nor by a change, nor by a repetition (security R47, R113)', async () => {
    for (const address of addresses())
      expect(await registerUnapproved({ ...metadata(), sector_identifier_uri: address })).toMatchObject({
        status: 400,
        body: { error: 'invalid_client_metadata' },
      });
    const { body: waiting } = await registerUnapproved({ redirect_uris: redirectUris });
    const token = waiting['registration_access_token'] as string;
    const changes = [
      call(waiting['registration_client_uri'] as string, {
        method: 'PUT',
        token,
        body: { ...metadata(), client_id: waiting['client_id'] },
      }),
      call(`${service.issuer}/register`, { token, body: metadata() }),
    ];
    for (const answer of await Promise.all(changes)) expect(answer).toMatchObject({ status: 400 });
    expect(sector.requests).toBe(0);
  });

  test('gets one sentence, whatever the document is, so that nobody reads documents through the service (security R47)', async () => {
    const check = (fetched: () => Promise<string>) =>
      createUnapprovedSectorCheck(fetched)(metadata() as unknown as ClientMetadata).catch((error: unknown) => error);
    const faults = await Promise.all([
      check(() => Promise.reject(new FetchRefused('answered 404'))),
      check(() => Promise.resolve('<html>')),
      check(() => Promise.resolve('{}')),
      check(() => Promise.resolve('[]')),
    ]);
    const sentences = faults.map((fault) => (fault as OAuthError).description);
    expect(new Set(sentences).size).toBe(1);
    expect(sentences[0]).toContain('contains all redirect_uris');
    expect(await check(() => Promise.resolve(JSON.stringify(redirectUris)))).toBeUndefined();
  });

  test('waits for no more than eight documents at once, beyond which it gets 503 (security R47, R113)', async () => {
    const answers: ((document: string) => void)[] = [];
    const check = createUnapprovedSectorCheck(() => new Promise((resolve) => answers.push(resolve)));
    const ask = () => check(metadata() as unknown as ClientMetadata).catch((error: unknown) => error);
    const running = Array.from({ length: 8 }, ask);
    expect(await ask()).toMatchObject({ code: 'temporarily_unavailable', status: 503 });
    expect(answers).toHaveLength(8);
    for (const answer of answers) answer(JSON.stringify(redirectUris));
    expect(await Promise.all(running)).toEqual(Array(8).fill(undefined));
    const last = ask();
    answers.at(-1)!(JSON.stringify(redirectUris));
    expect(await last).toBeUndefined();
  });
});

describe('a change', () => {
  let registered: Answer['body'];
  beforeEach(async () => {
    registered = (await register()).body;
    sector.requests = 0;
  });
  const put = (change: Record<string, unknown>) =>
    call(registered['registration_client_uri'] as string, {
      method: 'PUT',
      token: registered['registration_access_token'] as string,
      body: { ...metadata(), client_id: registered['client_id'], ...change },
    });

  test('of the redirect URIs or the sector is checked, and another change sends no request (RFC 7592 2.2)', async () => {
    expect(await put({ client_name: 'Another' })).toMatchObject({ status: 200 });
    expect(sector.requests).toBe(0);
    const third = [...redirectUris, 'https://three.example/callback'];
    expect(await put({ redirect_uris: third })).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata' },
    });
    expect(sector.requests).toBe(1);
    sector.body = JSON.stringify(third);
    expect(await put({ redirect_uris: third })).toMatchObject({ status: 200 });
    sector.body = '[]';
    expect(await put({ redirect_uris: third, sector_identifier_uri: `${uri}?2` })).toMatchObject({ status: 400 });
  });

  test('by a repeated registration is checked, too (decisions section 2)', async () => {
    sector.body = '[]';
    const repeat = (body: Record<string, unknown>) =>
      call(`${service.issuer}/register`, { token: registered['registration_access_token'] as string, body });
    expect(await repeat({ ...metadata(), redirect_uris: ['https://three.example/callback'] })).toMatchObject({
      status: 400,
      body: { error: 'invalid_client_metadata' },
    });
    expect(await repeat(metadata())).toMatchObject({ status: 200 });
  });

  test('by an administrator is checked, too, and so is a client that an administrator creates (security R25)', async () => {
    const token = await adminToken(service);
    const clients = `${service.issuer}/admin/api/clients`;
    sector.body = '[]';
    const path = `${clients}/${registered['client_id'] as string}`;
    const refused = { status: 400, body: { error: 'invalid_client_metadata' } };
    const body = { redirect_uris: ['https://three.example/callback'] };
    expect(await call(path, { method: 'PATCH', token, body })).toMatchObject(refused);
    expect(await call(clients, { token, body: metadata() })).toMatchObject(refused);
    sector.body = JSON.stringify([...redirectUris, ...body.redirect_uris]);
    expect(await call(path, { method: 'PATCH', token, body })).toMatchObject({ status: 200 });
    expect(await call(clients, { token, body: metadata() })).toMatchObject({ status: 201 });
  });
});

test('fetches count against the registration limit of a network (security R47)', async () => {
  const limited = await startTestService({
    environment: { LIMIT_REGISTRATION_PER_NETWORK: '3', OUTBOUND_ALLOW: new URL(uri).host },
  });
  try {
    const { body: token } = await adminCall('/registration-tokens', {}, limited);
    const { body: registered } = await call(`${limited.issuer}/register`, {
      token: token['initial_access_token'] as string,
      body: metadata(),
    });
    const put = (count: number) =>
      call(registered['registration_client_uri'] as string, {
        method: 'PUT',
        token: registered['registration_access_token'] as string,
        body: { ...metadata(), client_id: registered['client_id'], sector_identifier_uri: `${uri}?${count}` },
      });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) statuses.push((await put(count)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    // the registration by an initial access token does not count
    expect(sector.requests).toBe(4);
  } finally {
    await limited.stop();
  }
});

test('clients of several hosts with the same document get the same subject for a user (OpenID Connect Core 8.1)', async () => {
  const user = await service.createUser();
  const members = { subject_type: 'pairwise', sector_identifier_uri: uri };
  const clients = await Promise.all(
    redirectUris.map((each) => service.createClient({ ...members, redirect_uris: [each] })),
  );
  const subs = await Promise.all(
    clients.map(async (client) => {
      const { access_token: token } = await obtainTokens(service, client, user);
      return (await call(`${service.issuer}/user/info`, { token })).body['sub'];
    }),
  );
  expect(subs[0]).toBe(subs[1]);
  expect(subs[0]).not.toBe(user.sub);
});
