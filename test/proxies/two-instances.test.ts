// Runs two instances behind the proxies' files, and takes one of them away: no request fails, and none is sent twice.
import { request } from 'node:https';
import { type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { fronts } from './fronts.ts';
import { runProxy, type RunningProxy } from './programs.ts';

const host = 'id.example';

/** An address of the service that can be away, or lose the connection of each POST after it has received it. */
async function openAddress(service: URL) {
  const port = await freePort();
  const open = new Set<Socket>();
  const state = { received: 0, losesPosts: false };
  const server = createServer((from) => {
    const to = connect(Number(service.port), service.hostname);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => (open.delete(socket), other.destroy()));
    }
    from.on('data', (part: Buffer) => {
      if (!part.toString('latin1').startsWith('POST ')) return void to.write(part);
      state.received++;
      if (state.losesPosts) from.destroy();
      else to.write(part);
    });
    to.pipe(from);
  });
  return {
    port,
    state,
    async start() {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    },
    async leave() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

describe.each(fronts)('two instances behind $name', (front) => {
  const isMissing = front.path === undefined;
  let service: TestService;
  let proxy: RunningProxy | undefined;
  let client: TestClient;
  let first: Awaited<ReturnType<typeof openAddress>>;
  let second: typeof first;
  beforeAll(async () => {
    if (isMissing) return;
    const port = await freePort();
    service = await startTestService({
      environment: { ...withoutLimits, BASE_URL: `https://${host}:${port}`, TRUST_PROXY: '127.0.0.1' },
    });
    const address = new URL(service.instances[0]!);
    [first, second] = [await openAddress(address), await openAddress(address)];
    await first.start();
    // the line of a second instance is a comment in each file
    const place = (text: string, at: number, folder: string) =>
      (front.place?.(text, at, folder) ?? text)
        .replace(/# (server |- url: )(.*)10\.0\.0\.12:3000/, `$1$2127.0.0.1:${second.port}`)
        .replace(/# .*: (reverse_proxy .*)10\.0\.0\.12:3000 \{\n.*\{/, `$1127.0.0.1:${second.port} {`)
        .replaceAll('# health_', 'health_');
    proxy = await runProxy(
      { ...front, place },
      {
        host,
        port,
        sources: [front.sources[0]],
        values: [
          ['GATEHOUSE_HOST', host],
          ['GATEHOUSE_UPSTREAM', `127.0.0.1:${first.port}`],
        ],
      },
    );
    client = await service.createClient({ redirect_uris: [], grant_types: ['client_credentials'] });
  });
  afterAll(async () => {
    await proxy?.stop();
    await service?.stop();
  });

  function ask(form?: Record<string, string>): Promise<number> {
    const body = form && new URLSearchParams(form).toString();
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: proxy!.port,
          servername: host,
          rejectUnauthorized: false,
          agent: false,
          path: form ? '/token' : '/.well-known/openid-configuration',
          method: form ? 'POST' : 'GET',
          headers: {
            host: `${host}:${proxy!.port}`,
            ...(form && { authorization: client.basic, 'content-type': 'application/x-www-form-urlencoded' }),
          },
        },
        (response) => response.resume().on('end', () => resolve(response.statusCode!)),
      );
      sent.on('error', reject).end(body);
    });
  }
  const token = () => ask({ grant_type: 'client_credentials' });
  /** Requests one after the other, of both kinds. */
  async function askMany(): Promise<number[]> {
    const statuses = [];
    for (let index = 0; index < 8; index++) statuses.push(await ask(), await token());
    return [...new Set(statuses)];
  }
  /** Caddy 2.6 loses the body of a POST when it tries another instance, so it must know by its health check. */
  const untilNoticed = () => front.name === 'Caddy' && expect.poll(askMany).toEqual([200]);
  /** Caddy and HAProxy ask for health, and nginx leaves an instance out for a while. Traefik finds out by its next request. */
  async function untilKnown({ state }: typeof first): Promise<void> {
    if (front.name === 'Traefik') return;
    for (state.received = 0; state.received === 0; await delay(5)) await token();
  }

  test.skipIf(isMissing)(
    'no request fails while an instance is away, and one that is back gets requests when the other leaves (decisions section 8)',
    async () => {
      for (let index = 0; index < 8; index++) expect(await ask()).toBe(200);
      await untilNoticed();
      expect(await askMany()).toEqual([200]);
      await second.start();
      await untilKnown(second);
      await first.leave();
      await untilNoticed();
      expect(await askMany()).toEqual([200]);
      await first.start();
      await untilKnown(first);
      await second.leave();
      await untilNoticed();
      expect(await askMany()).toEqual([200]);
    },
  );

  test.skipIf(isMissing)(
    'a POST that an instance has received is never sent to another one (decisions section 8, RFC 6749 4.1.2)',
    async () => {
      await second.start();
      second.state.losesPosts = true;
      [first.state.received, second.state.received] = [0, 0];
      const statuses: number[] = [];
      // HAProxy asks for its health first
      for (; second.state.received < 3; await delay(5)) statuses.push(await token());
      expect(first.state.received + second.state.received).toBe(statuses.length);
      expect(statuses.filter((status) => status === 502)).toHaveLength(second.state.received);
      expect(statuses.filter((status) => status === 200)).toHaveLength(first.state.received);
    },
  );
});
