// Runs the published tests of SCIM servers against the service: `scim2 test` (scim2-cli with scim2-tester) and `scim-sanity`, both from PyPI.
//
//   node test/compliance/run.ts
//
// It makes a virtual environment of Python by itself, and keeps it in node_modules/.cache. Each program runs twice. As it is published it has the
// errors that the contract demands, and no others. Told which names and members the service takes, it has none: `scim2` has an option for that, and
// scim-sanity has none (adjusted.py).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { freePort, runCommand, startServer } from '../helpers/server-process.ts';

const packages = ['scim2-cli==0.6.0', 'scim2-tester==0.5.2', 'scim-sanity==0.7.4'];
const folder = join(import.meta.dirname, '../../node_modules/.cache/scim-compliance');
const python = join(folder, 'bin/python');

function run(program: string, given: readonly string[], environment: Record<string, string> = {}): string {
  const { stdout, stderr, error } = spawnSync(program, given, {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
  if (error) throw new Error(`${program} does not run: ${error.message}`);
  return stripVTControlCharacters(`${stdout}${stderr}`);
}

if (!existsSync(join(folder, 'bin/scim-sanity'))) {
  console.log('Makes a virtual environment of Python …');
  run('python3', ['-m', 'venv', folder]);
  console.log(run(python, ['-m', 'pip', 'install', '--quiet', ...packages]));
}

interface Outcome {
  successes: number;
  /** What is wrong, each with its reason. */
  errors: string[];
}
/** A line says what happened, and the next one why. */
function scim2Outcome(output: string): Outcome {
  const lines = output.split('\n');
  const errors = lines.flatMap((line, index) => {
    const [status, title] = line.split(' ');
    return status !== undefined && /^[A-Z_]+$/.test(status) && title !== undefined && status !== 'SUCCESS'
      ? [`${title}: ${(lines[index + 1] ?? '').trim()}`]
      : [];
  });
  return { successes: lines.filter((line) => line.startsWith('SUCCESS ')).length, errors };
}
function sanityOutcome(output: string): Outcome {
  const { results } = JSON.parse(output.slice(output.indexOf('{'))) as {
    results: { name: string; status: string; message?: string }[];
  };
  const isOf = (...statuses: string[]) => results.filter(({ status }) => statuses.includes(status.toLowerCase()));
  return {
    successes: isOf('pass').length,
    errors: isOf('fail', 'error').map(({ name, message = '' }) => `${name}: ${message}`),
  };
}

const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-scim-'));
const port = await freePort();
const settings = {
  BASE_URL: `http://127.0.0.1:${port}`,
  PORT: String(port),
  DATA_DIR: dataDir,
  ADMIN_PASSWORD: 'a long password for a walk',
  LOG_LEVEL: 'warn',
  LIMIT_SCIM: '0',
};
const server = startServer(settings);
let failed = false;
/** @param known what an error may be; undefined for none */
function judge(name: string, { successes, errors }: Outcome, known?: RegExp): void {
  console.log(`${name}: ${successes} successes, ${errors.length} errors`);
  for (const error of errors) console.log(`  ${error}`);
  const unknown = errors.filter((error) => !known?.test(error));
  if (successes > 0 && unknown.length === 0) return;
  failed = true;
  console.error(`${name}: ${unknown.length} of the errors are not known, and ${successes} checks passed`);
}
try {
  await server.ready();
  const source = async (id: string) => {
    await runCommand(['scim-source', 'create', id, '--name', id], settings);
    const { token, address } = await runCommand(['scim-source', 'add-token', id], settings);
    return { token: String(token), address: String(address) };
  };
  /** @param options makes the options of a source */
  const scim2 = async (id: string, options: (address: string, token: string) => Promise<string[]>) => {
    const { token, address } = await source(id);
    const headers = { SCIM_CLI_HEADERS: `Authorization: Bearer ${token}` };
    return scim2Outcome(
      run(join(folder, 'bin/scim2'), ['--url', address, ...(await options(address, token)), 'test'], headers),
    );
  };
  /**
   * `scim2 --schemas` reads schemas from a file in the place of those of the service. The values that a schema suggests for an attribute
   * (RFC 7643 7, canonicalValues) are those that the program sends: here names that are no UUID, so many that it hardly takes one twice.
   */
  async function suggestNames(address: string, token: string): Promise<string[]> {
    const answer = await fetch(`${address}/Schemas`, { headers: { authorization: `Bearer ${token}` } });
    const schemas = (await answer.json()) as {
      Resources: { id: string; attributes: { name: string; canonicalValues?: string[] }[] }[];
    };
    const user = schemas.Resources.find((schema) => schema.id === 'urn:ietf:params:scim:schemas:core:2.0:User')!;
    const name = user.attributes.find((attribute) => attribute.name === 'userName')!;
    name.canonicalValues = Array.from({ length: 500_000 }, (_, index) => `user-${index}`);
    const file = join(dataDir, 'schemas.json');
    writeFileSync(file, JSON.stringify(schemas));
    return ['--schemas', file];
  }
  const sanity = async (id: string, program: readonly string[]) => {
    const { token, address } = await source(id);
    const options = ['probe', address, '--token', token, '--json-output', '--i-accept-side-effects'];
    return sanityOutcome(run(python, [...program, ...options]));
  };
  const adjusted = join(import.meta.dirname, 'adjusted.py');
  // each user that it would make has a UUID as name, which names nothing but a user's sub here
  judge('scim2 test', await scim2('scim2-published', async () => []), /: userName cannot be a name of a user$/);
  judge('scim2 test --schemas, with names that are no UUID', await scim2('scim2-names', suggestNames));
  // it adds a member that does not exist, which a provisioner must learn
  judge(
    'scim-sanity',
    await sanity('sanity-published', [join(folder, 'bin/scim-sanity')]),
    /add member: Expected 200, got 400$/,
  );
  judge('scim-sanity, members that exist', await sanity('sanity-adjusted', [adjusted]));
} finally {
  server.kill('SIGTERM');
  await server.exited;
  rmSync(dataDir, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
