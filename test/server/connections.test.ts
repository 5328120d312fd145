// Slow, idle and excess connections are closed in time, and other clients are served meanwhile.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonErrors } from '../../src/server/errors.ts';
import { addListener } from '../../src/server/listen.ts';
import { trackHandlers } from '../../src/server/handler-deadline.ts';
import { handlerLimits } from '../../src/server/pipeline.ts';
import { adminToken, call, eventually } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { TRUST_PROXY: '127.0.0.0/8,::1' } });
});
afterAll(() => service?.stop());

/** A connection that records its answer and whether it was closed. */
interface Line {
  socket: Socket;
  answer: string;
  closed: boolean;
}

function open(to: Pick<TestService, 'issuer'>, bytes: string): Line {
  const { hostname, port } = new URL(to.issuer);
  const line: Line = { socket: connect(Number(port), hostname), answer: '', closed: false };
  line.socket.on('data', (chunk) => (line.answer += chunk.toString()));
  line.socket.on('error', () => undefined);
  line.socket.on('close', () => (line.closed = true));
  line.socket.write(bytes);
  return line;
}

const host = 'Host: localhost\r\n';
const health = `GET /health/live HTTP/1.1\r\n${host}`;
const body = `POST /token HTTP/1.1\r\n${host}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n`;

test('every time limit is set, and none is longer than the 20 seconds in which a slow request is cut off (security R104)', () => {
  const { server } = service.apps[0]!;
  const checked = 1; // second, the interval of the checks
  expect(server.headersTimeout / 1000 + checked).toBeLessThan(20);
  expect(server.requestTimeout / 1000 + checked).toBeLessThan(20);
  for (const limit of ['headersTimeout', 'requestTimeout', 'timeout', 'keepAliveTimeout', 'maxConnections'] as const)
    expect(server[limit], limit).toBeGreaterThan(0);
  expect(handlerLimits.handler + handlerLimits.interval).toBeLessThanOrEqual(20_000);
});

test('a handler that does not answer in time is answered with 503, and an answer that it has begun is cut off (security R104)', async () => {
  const app = Fastify();
  const handlers = trackHandlers(app, { handler: 50, interval: 10 });
  app.addHook('onRequest', async (_request, reply) => handlers.begin(reply));
  app.addHook('onResponse', async (_request, reply) => handlers.end(reply));
  app.setErrorHandler(jsonErrors);
  app.get('/never', () => new Promise(() => undefined));
  app.get('/begun', (_request, reply) => void reply.send(Readable.from(neverEnding())));
  app.get('/slow', { handlerTimeout: 5_000 }, () => delay(200, 'its own limit'));
  try {
    const address = await app.listen({ port: 0, host: 'localhost' });
    const never = await fetch(`${address}/never`);
    expect([never.status, never.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await never.json()).toMatchObject({ error: 'temporarily_unavailable' });
    await expect(fetch(`${address}/begun`).then((answer) => answer.text())).rejects.toThrow();
    expect(await (await fetch(`${address}/slow`)).text()).toBe('its own limit');
  } finally {
    await app.close();
  }
});

async function* neverEnding(): AsyncGenerator<string> {
  yield 'begun';
  await new Promise(() => undefined);
}

test('500 slow connections and 200 idle ones keep no client from being served, and the slow ones are closed (security R104, F14)', async () => {
  const client = await service.createClient({ grant_types: ['client_credentials'], redirect_uris: [] });
  const { server } = service.apps[0]!;
  const times = [server.headersTimeout, server.requestTimeout] as const;
  const idle = Array.from({ length: 200 }, () => open(service, `${health}\r\n`));
  // before the limits are short: on a busy machine these connections would be slow ones
  await eventually(
    async () => idle.filter((line) => line.answer.startsWith('HTTP/1.1 200')).length,
    (answered) => answered === 200,
  );
  // bench/slow-clients.ts measures the limits of production
  [server.headersTimeout, server.requestTimeout] = [400, 800];
  const headers = Array.from({ length: 250 }, () => open(service, health));
  const bodies = Array.from({ length: 250 }, () => open(service, body));
  const dripping = setInterval(() => {
    for (const { socket } of headers) socket.write('X: y\r\n');
    for (const { socket } of bodies) socket.write('x');
  }, 100);
  try {
    let served = 0;
    const slow = [...headers, ...bodies];
    while (slow.some((line) => !line.closed) || served === 0) {
      expect(await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' })).toMatchObject({
        status: 200,
      });
      served++;
    }
    for (const line of slow) expect(line.answer).toMatch(/^HTTP\/1\.1 408 .*\r\nx-content-type-options: nosniff/);
    expect(idle.filter((line) => line.closed)).toEqual([]);
  } finally {
    clearInterval(dripping);
    [server.headersTimeout, server.requestTimeout] = times;
    for (const { socket } of [...headers, ...bodies, ...idle]) socket.destroy();
  }
});

test('a client that disconnects before its answer causes no error in the log (security R65, R100)', async () => {
  const token = await adminToken(service);
  service.logs.length = 0;
  for (let times = 0; times < 20; times++) {
    const { socket } = open(service, '');
    await new Promise<void>((sent) => {
      socket.write(`GET /admin/api/clients HTTP/1.1\r\n${host}Authorization: Bearer ${token}\r\n\r\n`, () => sent());
    });
    socket.destroy();
  }
  expect((await call(`${service.issuer}/admin/api/clients`, { token })).status).toBe(200);
  expect(service.logs.filter((line) => Number(line['level']) >= 50)).toEqual([]);
});

/** Opens all connections that are allowed, and leaves them idle: one more is closed, and the idle ones make room for the next. */
async function openAll(to: Pick<TestService, 'issuer'>, max: number): Promise<void> {
  const idle = Array.from({ length: max }, () => open(to, `${health}\r\n`));
  try {
    await eventually(
      async () => idle,
      (lines) => lines.every((line) => line.answer !== ''),
    );
    const turnedAway = open(to, `${health}\r\n`);
    await once(turnedAway.socket, 'close');
    expect(turnedAway.answer).toBe('');
    await eventually(
      async () => idle,
      (lines) => lines.every((line) => line.closed),
    );
    expect(await fetch(`${to.issuer}/health/live`)).toMatchObject({ status: 200 });
  } finally {
    for (const { socket } of idle) socket.destroy();
  }
}

test('beyond LIMIT_SOCKETS a connection is closed, and idle connections make room for the next (security R104)', async () => {
  const bounded = await startTestService({ environment: { LIMIT_SOCKETS: '6' } });
  try {
    await openAll(bounded, 6);
    expect(bounded.logs.filter((line) => String(line['msg']).includes('LIMIT_SOCKETS'))).toHaveLength(1);
  } finally {
    await bounded.stop();
  }
});

test('a second address of localhost leads to the same server, with its limits and its refusals (security R104)', async () => {
  const bounded = await startTestService({ environment: { LIMIT_SOCKETS: '6' } });
  const close = await addListener(bounded.apps[0]!, '127.0.0.2');
  const there = { issuer: bounded.issuer.replace('localhost', '127.0.0.2') };
  try {
    const unreadable = open(there, 'no request\r\n\r\n');
    await once(unreadable.socket, 'close');
    expect(unreadable.answer).toContain('"error":"invalid_request"');
    expect(unreadable.answer).toContain('content-security-policy');
    await openAll(there, 6);
  } finally {
    await Promise.all([bounded.stop(), close()]);
  }
  await expect(fetch(`${there.issuer}/health/live`)).rejects.toThrow();
});

test('a request that arrives while the service stops is answered like any other, and its connection is closed (security R57)', async () => {
  const stopping = await startTestService();
  const late = open(stopping, `GET /jwks HTTP/1.1\r\n${host}`);
  await once(late.socket, 'connect');
  expect(await fetch(`${stopping.issuer}/health/live`)).toMatchObject({ status: 200 });
  const stopped = stopping.stop();
  late.socket.write('\r\n');
  await once(late.socket, 'close');
  await stopped;
  expect(late.answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(late.answer).toMatch(/\r\nx-frame-options: DENY\r\n/);
  expect(late.answer).toMatch(/\r\nconnection: close\r\n/i);
});
