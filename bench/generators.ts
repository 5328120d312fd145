// Compares load generators by their processor time for one request: the benchmark's own, autocannon and Apache's ab.
//
//   node bench/generators.ts
//
// The server answers a constant; a generator that takes more of a processor than the servers under test would be measured instead of them.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import autocannon from 'autocannon';
import { loadWith } from './load.ts';
import { between, processorTimes } from './meter.ts';

const seconds = 3;
const connections = 32;

// in a process of its own, so that the generator's time is measured separately
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end('{"name":"Alice Adams","email":"alice@example.com","email_verified":true}');
});
if (process.argv[2] === 'serve') {
  server.listen(0, 'localhost', () => console.log((server.address() as { port: number }).port));
  setTimeout(() => process.exit(0), 60_000);
} else {
  await compare();
}

async function compare(): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, 'serve'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  const base = `http://localhost:${Number(port.toString())}`;
  const own = loadWith(base, [{ method: 'GET', path: '/' }]);
  await own(connections, 1);

  const report = (name: string, count: number, used: number) =>
    console.log(
      `${name.padEnd(12)} ${(count / seconds).toFixed(0).padStart(7)} a second, ${((used / count) * 1e6).toFixed(1)} µs of a processor for each`,
    );
  const measure = async (name: string, work: () => Promise<number>) => {
    const before = processorTimes(process.pid);
    before.delete(child.pid!);
    const count = await work();
    const after = processorTimes(process.pid);
    after.delete(child.pid!);
    report(name, count, between(before, after));
  };
  for (let round = 0; round < 3; round++) {
    await measure('bench/wire', async () => (await own(connections, seconds)).count);
    await measure('autocannon', async () => {
      const requests = [{ method: 'GET', path: '/' }];
      return (await autocannon({ url: base, connections, duration: seconds, requests }))['2xx'];
    });
    const { stdout, error } = spawnSync(
      'bash',
      ['-c', `ab -k -q -c ${connections} -t ${seconds} -n 1000000 ${base}/; times`],
      { encoding: 'utf8' },
    );
    if (!error && /Complete requests/.test(stdout)) {
      const count = Number(/Complete requests: +(\d+)/.exec(stdout)![1]);
      const used = [
        ...stdout
          .trim()
          .split('\n')
          .at(-1)!
          .matchAll(/(\d+)m([\d.]+)s/g),
      ].reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
      report('ab', count, used);
    }
  }
  child.kill();
}
