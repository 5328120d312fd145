// Runs the fuzz of SAML messages in processes side by side, each with a part of the messages and a seed of its own: `npm run walks -- saml-fuzz`.
// SAML_FUZZ_RUNS is the number of all messages, SAML_FUZZ_SHARDS that of the processes, and SAML_FUZZ_SEED the seed of the first.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fuzzAuthnRequests, type Fuzzed, fuzzLogoutRequests, fuzzResponses, told } from './saml-mutations.ts';

const kinds = [fuzzResponses, fuzzLogoutRequests, fuzzAuthnRequests];
const [part, seedOfPart] = process.argv.slice(2).map(Number);

if (part !== undefined && seedOfPart !== undefined) {
  // half of all are responses
  for (const [index, fuzz] of kinds.entries()) {
    const fuzzed = await fuzz(Math.ceil(part * (index === 0 ? 0.5 : 0.25)), seedOfPart);
    process.stdout.write(`${JSON.stringify(fuzzed)}\n`);
  }
} else {
  const runs = Number(process.env['SAML_FUZZ_RUNS'] ?? 100_000);
  const seed = Number(process.env['SAML_FUZZ_SEED'] ?? Date.now() % 1_000_000_000);
  const shards = Number(process.env['SAML_FUZZ_SHARDS'] ?? availableParallelism());
  const start = performance.now();
  const results = await Promise.all(
    Array.from({ length: shards }, (_, index) => shard(Math.ceil(runs / shards), seed + index)),
  );
  const all = results.flatMap(({ fuzzed }) => fuzzed);
  for (const fuzzed of all) process.stdout.write(told(fuzzed));
  const total = all.reduce((sum, { messages }) => sum + messages, 0);
  const minutes = ((performance.now() - start) / 60_000).toFixed(1);
  process.stdout.write(`${total} messages in ${shards} processes, from seed ${seed}, in ${minutes} minutes\n`);
  process.exitCode = results.every(({ status }) => status === 0) ? 0 : 1;
}

function shard(runs: number, seed: number): Promise<{ status: number | null; fuzzed: Fuzzed[] }> {
  const child = spawn(process.execPath, [import.meta.filename, String(runs), String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => (text += more));
  return new Promise((resolve) =>
    child.on('close', (status) =>
      resolve({
        status,
        // this program wrote them
        fuzzed: text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Fuzzed),
      }),
    ),
  );
}
