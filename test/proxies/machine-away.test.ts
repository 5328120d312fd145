// Runs nginx by its file before an instance that answers and one whose machine does not: no request fails, and only one of them waits.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fronts } from './fronts.ts';
import { runProxy, type RunningProxy } from './programs.ts';

const host = 'id.example';
const nginx = fronts.find(({ name }) => name === 'nginx')!;
const isMissing = nginx.path === undefined;
let instance: Server;
let received = 0;
let away: ChildProcess;
const waiting: Socket[] = [];
let proxy: RunningProxy | undefined;

beforeAll(async () => {
  if (isMissing) return;
  instance = createServer((incoming, response) => {
    received++;
    incoming.resume().on('end', () => response.end('the instance'));
  });
  await once(instance.listen(0, '127.0.0.1'), 'listening');
  const port = await unreachablePort();
  const place = (text: string, at: number, folder: string) =>
    nginx.place!(text, at, folder)
      .replace('# server 10.0.0.12:3000', `server 127.0.0.1:${port}`)
      // shorter and longer than on a server, so that the test neither waits nor depends on the time it takes
      .replace('proxy_connect_timeout 5s', 'proxy_connect_timeout 500ms')
      .replaceAll('fail_timeout=2s', 'fail_timeout=600s')
      .replace('$request_time', 'by $upstream_addr;');
  const values = [
    ['GATEHOUSE_HOST', host],
    ['GATEHOUSE_UPSTREAM', `127.0.0.1:${(instance.address() as AddressInfo).port}`],
  ] as const;
  proxy = await runProxy({ ...nginx, place }, { host, sources: [nginx.sources[0]], values });
});
afterAll(async () => {
  await proxy?.stop();
  for (const socket of waiting) socket.destroy();
  away?.kill('SIGKILL');
  instance?.close();
});

/** A port at which a connection is neither taken nor refused: its program stands still, and its queue is full. */
async function unreachablePort(): Promise<number> {
  const program = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port); })`;
  away = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed] = (await once(away.stdout as Readable, 'data')) as [Buffer];
  away.kill('SIGSTOP');
  const port = Number(printed.toString());
  for (let index = 0; index < 6; index++) waiting.push(connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  return port;
}

function ask(method: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const where = { host: '127.0.0.1', port: proxy!.port, servername: host, rejectUnauthorized: false, agent: false };
    const sent = request({ ...where, method, path: '/asked', headers: { host } }, (response) =>
      response.resume().on('end', () => resolve(response.statusCode!)),
    );
    sent.on('error', reject).end(method === 'POST' ? 'a=b' : undefined);
  });
}

test.skipIf(isMissing)(
  'no request fails while the machine of an instance is away, and nginx tries it only once (decisions section 8)',
  async () => {
    const statuses = [];
    received = 0;
    for (let index = 0; index < 6; index++) statuses.push(await ask('POST'), await ask('GET'));
    expect([new Set(statuses), received]).toEqual([new Set([200]), 12]);
    // one address stands in each line, and both in that of a request that was sent to the other instance
    const lines = readFileSync(join(proxy!.folder, 'gatehouse.log'), 'utf8').trim().split('\n');
    expect(lines.filter((line) => / by [\d.:]+, [\d.:]+;/.test(line))).toHaveLength(1);
    expect(lines.length).toBeGreaterThan(11);
  },
);
