// Runs slow clients against the limits of operation: when each is cut off, and how 500 of them affect other clients (security R104, F14).
//
//   node bench/slow-clients.ts [--slow 500] [--idle 200]
//
// Ends by itself after half a minute; its exit status says whether all were cut off in time and no other client was refused.
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Bed, withService } from './bed.ts';
import { command } from './children.ts';

const { values } = parseArgs({
  options: { slow: { type: 'string', default: '500' }, idle: { type: 'string', default: '200' } },
});
const inTime = 20; // seconds
const deadline = 25; // seconds

interface Line {
  socket: Socket;
  opened: number;
  answer: string;
  closed: number | undefined;
}

process.exitCode = (await withService({}, main)) ? 0 : 1;

async function main({ service, settings }: Bed): Promise<boolean> {
  const client = await command(['client', 'create', '--name', 'bench', '--grant-type', 'client_credentials'], settings);
  const basic = Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64');

  /** Requests tokens on new connections for a while: the time of each (milliseconds), and how many got none. */
  async function traffic(seconds: number): Promise<{ times: number[]; failures: number }> {
    const times: number[] = [];
    let failures = 0;
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      const begin = performance.now();
      const response = await fetch(`${service.base}/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
        headers: { authorization: `Basic ${basic}`, connection: 'close' },
      }).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.status !== 200) failures++;
      times.push(performance.now() - begin);
    }
    return { times, failures };
  }

  const open = (bytes: string): Line => {
    const socket = connect(Number(new URL(service.base).port), 'localhost');
    const line: Line = { socket, opened: performance.now(), answer: '', closed: undefined };
    socket.on('data', (part) => (line.answer += part.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => (line.closed = performance.now()));
    socket.write(bytes);
    return line;
  };
  const many = (count: number, bytes: string) => Array.from({ length: count }, () => open(bytes));

  await traffic(1);
  const before = await traffic(3);
  const half = Math.floor(Number(values.slow) / 2);
  const name = 'Host: localhost\r\n';
  const headers = many(half, `GET /health/live HTTP/1.1\r\n${name}`);
  const bodies = many(
    half,
    `POST /token HTTP/1.1\r\n${name}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n`,
  );
  const silent = many(50, '');
  const idle = many(Number(values.idle), `GET /health/live HTTP/1.1\r\n${name}\r\n`);
  const drip = setInterval(() => {
    for (const { socket } of headers) socket.write('x');
    for (const { socket } of bodies) socket.write('x');
  }, 1000);
  const slow = [...headers, ...bodies, ...silent];
  const during = await traffic(5);
  for (let waited = 0; waited < deadline && slow.some((line) => line.closed === undefined); waited += 0.1)
    await delay(100);
  clearInterval(drip);

  const seconds = (line: Line) => (line.closed === undefined ? Infinity : (line.closed - line.opened) / 1000);
  const cut = (lines: Line[]) => lines.map(seconds).sort((a, b) => a - b);
  const report = (what: string, lines: Line[]) => {
    const times = cut(lines);
    const timedOut = lines.filter((line) => line.answer.startsWith('HTTP/1.1 408 ')).length;
    const show = (time: number | undefined) => (time === Infinity ? 'never' : `${time?.toFixed(1)} s`);
    console.log(
      `${what}: ${lines.length}, cut after ${show(times[0])} to ${show(times.at(-1))}, ${timedOut} were timedOut so by 408`,
    );
    return times.at(-1)! <= inTime;
  };
  const kept = [
    report('headers of 1 byte/s', headers),
    report('bodies of 1 byte/s', bodies),
    report('connections without a byte', silent),
  ];
  const alive = idle.filter((line) => line.closed === undefined).length;
  console.log(`idle connections after an answer: ${idle.length}, of which ${alive} are still open`);
  const at = (times: number[], share: number) =>
    times.toSorted((a, b) => a - b)[Math.floor(times.length * share)]!.toFixed(1);
  for (const [when, { times, failures }] of [
    ['before', before],
    ['meanwhile', during],
  ] as const)
    console.log(
      `tokens ${when}: ${times.length}, ${failures} failed, p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms`,
    );
  for (const { socket } of [...slow, ...idle]) socket.destroy();
  const good = kept.every(Boolean) && before.failures + during.failures === 0;
  console.log(
    good
      ? 'all were cut off in time, and no other client was refused'
      : `FAILED: cut off later than ${inTime} s, or another client was refused`,
  );
  return good;
}
