// Traces of requests go to a collector by OTLP/HTTP, if a setting names one: spans for the request, its statements, its fetches and its hashes.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createSpanQueue, spanLimits } from '../../src/outbound/span-queue.ts';
import { randomSecret } from '../../src/crypto/secrets.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { adminToken, call, eventually, obtainTokens, withoutLimits } from '../helpers/grants.ts';
import { freePort, startServer, stopServers } from '../helpers/server-process.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '../helpers/trace-collector.ts';
import { UserAgent } from '../helpers/user-agent.ts';

const usual = { ...spanLimits };
let collector: TraceCollector;
let service: TestService;
let keys: { host: string; traceparents: (string | undefined)[]; stop(): void };
beforeAll(async () => {
  spanLimits.interval = 20;
  collector = await startTraceCollector();
  keys = await startKeyServer();
  service = await startTestService({
    environment: { ...withoutLimits, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OUTBOUND_ALLOW: keys.host },
  });
});
afterAll(async () => {
  await service?.stop();
  await collector?.stop();
  keys?.stop();
  Object.assign(spanLimits, usual);
});

/** All that a span says beside its name and its times. */
const attributes = [
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'db.system.name',
  'db.query.summary',
  'server.address',
  'server.port',
  'error.type',
];

/** A client's server, which says which traceparent each request had. With a certificate it answers https. */
async function startKeyServer(certificate?: { key: Buffer; cert: Buffer }): Promise<typeof keys> {
  const traceparents: (string | undefined)[] = [];
  const answer: RequestListener = (request, response) => {
    traceparents.push(request.headers['traceparent'] as string | undefined);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[]}');
  };
  const server = certificate ? https.createServer(certificate, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, traceparents, stop: () => void server.close() };
}

/** Lets a new client send an assertion, so that the service asks the client's server for its keys. */
async function askForKeys(jwksUri: string): Promise<void> {
  const { client_id: clientId } = (
    await call(`${service.issuer}/register`, {
      body: {
        redirect_uris: [],
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: jwksUri,
      },
    })
  ).body;
  await service.database.sql(
    `UPDATE clients SET status = 'enabled', approved_by = 'administrator' WHERE client_id = $1`,
    [clientId],
  );
  const assertion = [
    { alg: 'ES256', typ: 'JWT' },
    { iss: clientId, sub: clientId, aud: service.issuer },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  await fetch(`${service.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${assertion}.AAAA`,
    }),
  });
}

const below = (parent: CollectedSpan) => (span: CollectedSpan) => span.parentSpanId === parent.spanId;

test('a request is a span with its method, route and status, and its statements are below it with their names (federation 14)', async () => {
  const user = await service.createUser({ username: 'traced-user' });
  const client = await service.createClient();
  await obtainTokens(service, client, user);
  const token = await collector.find(({ name }) => name === 'POST /token');
  expect(token).toMatchObject({
    kind: 2,
    parentSpanId: '',
    status: 0,
    attributes: { 'http.request.method': 'POST', 'http.route': '/token', 'http.response.status_code': 200 },
  });
  expect(token.traceId).toMatch(/^[0-9a-f]{32}$/);
  const statement = await collector.find(below(token));
  expect(statement).toMatchObject({
    kind: 3,
    traceId: token.traceId,
    attributes: { 'db.system.name': 'postgresql', 'db.query.summary': statement.name },
  });
  expect(service.statements).toContain(statement.name);
  expect(collector.resource()).toMatchObject({ 'service.name': 'gatehouse' });
  // the form in which the protocol sends by default (OTLP 1.0)
  expect(collector.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf' },
  });
});

test('each hash of a password is a span (federation 14)', async () => {
  const user = await service.createUser();
  await new UserAgent(service).signIn(user);
  const hash = await collector.find(({ name }) => name === 'password.verify');
  const request = await collector.find(({ spanId }) => spanId === hash.parentSpanId);
  expect(request).toMatchObject({ kind: 2, attributes: { 'http.request.method': 'POST' } });
});

test('statements of a transaction are below it, and a refused one says the kind of the failure, and no message (federation 14, security R99)', async () => {
  const token = await adminToken(service);
  await service.createUser({ username: 'taken-name-of-a-user' });
  const made = await call(`${service.issuer}/admin/api/users`, { token, body: { username: 'taken-name-of-a-user' } });
  expect(made.status).toBe(409);
  const failed = await collector.find(({ status }) => status === 2);
  expect(failed).toMatchObject({ name: 'users.insert', attributes: { 'error.type': '23505' } });
  const transaction = await collector.find(({ spanId }) => spanId === failed.parentSpanId);
  expect(transaction).toMatchObject({ name: 'transaction', attributes: { 'error.type': '23505' } });
  const request = await collector.find(({ spanId }) => spanId === transaction.parentSpanId);
  expect(request).toMatchObject({ name: 'POST /admin/api/users', status: 0 });
  for (const { body } of collector.requests) expect(body.includes('taken-name-of-a-user')).toBe(false);
});

test('spans name no user, address, client or value: their names are routes, statements and methods (security R99)', async () => {
  const [username, email] = ['marked-user-name', 'marked-address@example.com'];
  const user = await service.createUser({ username, email, emailVerified: true });
  const client = await service.createClient();
  const { access_token: token } = await obtainTokens(service, client, user);
  await call(`${service.issuer}/user/info`, { token });
  const at = { token: await adminToken(service) };
  await call(`${service.issuer}/admin/api/users/${user.sub}`, at);
  await call(`${service.issuer}/admin/api/users?search=${username}`, at);
  await collector.find(({ name }) => name === 'GET /admin/api/users');
  await collector.find(({ name }) => name.startsWith('GET /admin/api/users/:'));
  const text = Buffer.concat(collector.requests.map(({ body }) => body)).toString('latin1');
  for (const value of [username, email, user.sub, client.clientId, token]) expect(text).not.toContain(value);
  for (const span of collector.spans()) {
    expect(attributes).toEqual(expect.arrayContaining(Object.keys(span.attributes)));
    // a host is that of a request that leaves, never that of a caller
    if (span.kind === 2) expect(Object.keys(span.attributes).join()).not.toContain('server.');
    expect(span.name).toMatch(/^([A-Z]+( \/\S*)?|[a-z][\w.]*)$/);
  }
});

test('a fetch is a span with the host, and a host of OUTBOUND_ALLOW learns the trace (federation 14, W3C Trace Context 3.2)', async () => {
  await askForKeys(`http://${keys.host}/a-secret-path?with=a-secret`);
  const [hostname, port] = keys.host.split(':');
  const fetched = await collector.find(({ attributes }) => attributes['server.port'] === Number(port));
  expect(fetched).toMatchObject({
    name: 'GET',
    kind: 3,
    attributes: { 'http.request.method': 'GET', 'server.address': hostname, 'http.response.status_code': 200 },
  });
  expect(keys.traceparents).toContain(`00-${fetched.traceId}-${fetched.spanId}-01`);
  for (const { body } of collector.requests) expect(body.includes('a-secret')).toBe(false);
});

test('a host outside of OUTBOUND_ALLOW learns no trace, though its fetch is a span (W3C Trace Context 3.2, security R99)', async () => {
  const name = 'keys.client.example';
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outside-'));
  makeCertificates(folder, { name });
  const file = (each: string) => readFileSync(join(folder, each));
  const outside = await startKeyServer({ key: file('server.key'), cert: file('server.pem') });
  const ca = file('ca.pem');
  // the network between: the name leads to the receiver, since no test may connect to a public address
  const routed = vi.spyOn(https.Agent.prototype, 'createConnection').mockImplementation((options) => {
    expect(options.host).toBe(name);
    return connectTls({
      host: '127.0.0.1',
      port: Number(outside.host.split(':')[1]),
      servername: name,
      ca,
    }) as TLSSocket;
  });
  try {
    await askForKeys(`https://${name}/jwks`);
    const fetched = await collector.find(({ attributes }) => attributes['server.address'] === name);
    expect(fetched).toMatchObject({
      name: 'GET',
      kind: 3,
      attributes: { 'server.port': 443, 'http.response.status_code': 200 },
    });
    expect(outside.traceparents).toEqual([undefined]);
  } finally {
    routed.mockRestore();
    outside.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('an address without a route, and a client that goes away, name nothing that the request sent (security R99)', async () => {
  await fetch(`${service.issuer}/nothing-of-this-name?code=marked`);
  const unknown = await collector.find(({ name, kind }) => name === 'GET' && kind === 2);
  expect(unknown.attributes).toEqual({ 'http.request.method': 'GET', 'http.response.status_code': 404 });
  const { hostname, port } = new URL(service.issuer);
  const socket = connect(Number(port), hostname);
  const type = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\nExpect: 100-continue';
  socket.write(`POST /introspect HTTP/1.1\r\nHost: localhost\r\n${type}\r\n\r\n`);
  // the service waits for the body
  await once(socket, 'data');
  socket.destroy();
  const aborted = await collector.find(({ attributes }) => attributes['error.type'] === 'aborted');
  expect(aborted).toMatchObject({ name: 'POST /introspect', status: 2 });
});

test('a proxy of TRUST_PROXY decides about a trace, and any other caller does not (W3C Trace Context 3.2)', async () => {
  const from = await startTraceCollector();
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${from.endpoint}/base/`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20word, x-scope=one',
    OTEL_SERVICE_NAME: 'accounts',
    TRUST_PROXY: '127.0.0.1,::1,10.0.0.0/8',
  };
  const trusting = await startTestService({ environment });
  const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const send = (issuer: string, traceparent: string) => fetch(`${issuer}/jwks`, { headers: { traceparent } });
  const wrong = [`00-${trace}-${parent}`, `ff-${trace}-${parent}-01`, `00-${'0'.repeat(32)}-${parent}-01`, 'x'];
  try {
    for (const traceparent of wrong) await send(trusting.issuer, traceparent);
    await send(trusting.issuer, `00-${trace}-${parent}-00`); // not recorded by the proxy
    await send(trusting.issuer, `00-${trace}-${parent}-01`);
    const joined = await from.find(({ traceId }) => traceId === trace);
    expect(joined.parentSpanId).toBe(parent);
    const all = from.spans().filter(({ name }) => name === 'GET /jwks');
    expect(all).toHaveLength(wrong.length + 1);
    expect(all.filter(({ parentSpanId }) => parentSpanId !== '')).toEqual([joined]);
    expect(from.resource()).toMatchObject({ 'service.name': 'accounts' });
    expect(from.requests[0]).toMatchObject({
      path: '/base/v1/traces',
      headers: { 'content-type': 'application/json', authorization: 'Bearer word', 'x-scope': 'one' },
    });
    expect(JSON.stringify(trusting.logs)).not.toContain('Bearer word');
  } finally {
    await trusting.stop();
    await from.stop();
  }
  // the other service trusts no proxy
  await send(service.issuer, `00-${trace}-${parent}-01`);
  await collector.find(({ name }) => name === 'GET /jwks');
  expect(collector.spans().some(({ traceId }) => traceId === trace)).toBe(false);
});

test.each([
  ['always_off', ''],
  ['traceidratio', '0'],
  ['parentbased_traceidratio', '0'],
])('the sampler %s %s records no trace (federation 14)', async (sampler, argument) => {
  const from = await startTraceCollector();
  const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
  const quiet = await startTestService({
    environment: { ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: from.endpoint },
  });
  await fetch(`${quiet.issuer}/jwks`);
  await quiet.stop();
  await from.stop();
  expect(from.requests).toEqual([]);
});

test('a collector that is away, refuses, hangs, redirects or answers without end costs no request, and spans come again when it is back (federation F114)', async () => {
  const metrics = await adminToken(service);
  const counted = async (result: string) => {
    const answer = await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${metrics}` } });
    const line = new RegExp(`^gatehouse_trace_spans_total\\{result="${result}"\\} (\\d+)$`, 'm');
    return Number(line.exec(await answer.text())![1]);
  };
  const endless = Buffer.alloc(64 * 1024, 'x');
  for (const answer of [
    400,
    302,
    (response) => {
      // it never ends, and its status says that another attempt helps nothing
      response.writeHead(400);
      const write = () => !response.destroyed && response.write(endless, write);
      write();
    },
  ] satisfies TraceCollector['answer'][]) {
    const [failed, sent] = [await counted('failed'), collector.requests.length];
    collector.answer = answer;
    expect((await fetch(`${service.issuer}/jwks`)).status).toBe(200);
    await eventually(
      () => counted('failed'),
      (count) => count > failed,
    );
    expect(collector.requests.length).toBeGreaterThan(sent);
  }
  expect(collector.requests.every(({ path }) => path === '/v1/traces')).toBe(true);
  const said = service.logs.filter(({ msg }) => String(msg).startsWith('traces cannot be sent'));
  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({ err: { message: 'the collector answered 400' } });
  // while it hangs, requests are answered, and only so many spans wait
  collector.answer = 'hang';
  for (let round = 0; round < 3; round++) expect((await fetch(`${service.issuer}/jwks`)).status).toBe(200);
  await collector.stop();
  const port = Number(new URL(collector.endpoint).port);
  expect((await fetch(`${service.issuer}/jwks`)).status).toBe(200);
  const sent = await counted('sent');
  const back = createServer((request, response) => {
    request.resume();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => back.listen(port, '127.0.0.1', resolve));
  await eventually(
    () => counted('sent'),
    (count) => count > sent,
  );
  back.closeAllConnections();
  back.close();
});

test('no more spans wait than have a place, and a stop does not wait for a collector that is away (federation F114)', async () => {
  let release = () => {};
  const taken: number[] = [];
  const queue = createSpanQueue({
    send: (spans) => {
      taken.push(spans.length);
      return new Promise((_resolve, reject) => (release = () => reject(new Error('away'))));
    },
    onChange: () => undefined,
  });
  const span = {} as Parameters<typeof queue.onEnd>[0];
  for (let count = 0; count < usual.portion; count++) queue.onEnd(span);
  await eventually(async () => taken.length, Boolean);
  for (let count = 0; count < 10_000; count++) queue.onEnd(span);
  expect(queue.counts()).toEqual({ sent: 0, failed: 0, dropped: 10_000 - usual.waiting });
  release();
  await queue.shutdown();
  expect(taken).toEqual([usual.portion]);
  expect(queue.counts()).toEqual({ sent: 0, failed: usual.portion, dropped: 10_000 });
});

test('without the setting no module of OpenTelemetry is loaded, and with it they are (federation 14)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-traces-'));
  const preload = new URL('../fixtures/loaded-packages.ts', import.meta.url).href;
  const database = await createTestDatabase();
  const loadedWith = async (more: Record<string, string>) => {
    const file = join(folder, 'loaded');
    writeFileSync(file, '');
    const server = startServer({
      PORT: String(await freePort()),
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
      SECRET_KEY: secretKey,
      ADMIN_PASSWORD: 'correct horse battery',
      NODE_OPTIONS: `--import=${preload}`,
      LOADED_PACKAGES: file,
      ...more,
    });
    await server.ready();
    expect((await fetch(`${server.issuer}/jwks`)).status).toBe(200);
    server.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    return readFileSync(file, 'utf8');
  };
  const secretKey = randomSecret();
  const from = await startTraceCollector();
  try {
    // the library of the metrics loads the interface, which does nothing by itself
    expect((await loadedWith({})).replace(/^.*\/@opentelemetry\/api\/.*\n/gm, '')).toBe('');
    expect(await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: from.endpoint })).toContain('/@opentelemetry/sdk-trace/');
    // the stop sends what is left
    expect(from.spans().map(({ name }) => name)).toContain('GET /jwks');
  } finally {
    await stopServers();
    await from.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://user:word@collector.example'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://collector.example/?key=word'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'word'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b,,c=d'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'host=elsewhere'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0d%0ab'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '0'],
  ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
])('a wrong value of %s stops the start: %s (federation 14)', (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`^The setting ${name} must `));
});

test('the headers for the collector are shown nowhere (security R99)', () => {
  const config = loadConfig({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20word' });
  expect(config.traces.headers).toEqual({ authorization: 'Bearer word' });
  expect(config.given['OTEL_EXPORTER_OTLP_HEADERS']).toBe('');
});
