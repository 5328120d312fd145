// Tests the admin routes against their own OpenAPI document: starts the service on an empty database and runs schemathesis against it.
//
//   node scripts/schemathesis.ts [--examples 50] [--seed 1] [-- arguments of schemathesis run]
//
// schemathesis is a Python program: `python3 -m venv .venv && .venv/bin/pip install schemathesis`, then put it in PATH or name it in SCHEMATHESIS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Bed, withService } from '../bench/bed.ts';
import { command } from '../bench/children.ts';

const { values, positionals } = parseArgs({
  options: { examples: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
});

/** The service also refuses what a schema cannot express: an invented cursor, a foreign address, members that contradict each other. */
const expectations = `[checks]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 414, 415, 431]
positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 413]
`;
/** Allows schemathesis every change to every client except the one whose token it uses. */
const sparing = (clientId: string) => `import schemathesis

@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path_parameters.get("id") == "${clientId}":
        case.path_parameters["id"] = "none"
`;

process.exitCode = await withService(
  {
    // longer than any run
    ACCESS_TOKEN_LIFETIME: '86400',
  },
  main,
);

async function main({ service, settings, folder }: Bed): Promise<number> {
  const client = await command(
    ['client', 'create', '--name', 'schemathesis', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const response = await fetch(`${service.base}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    headers: {
      authorization: `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`,
    },
  });
  const { access_token } = (await response.json()) as { access_token: string };
  const authorization = `Bearer ${access_token}`;
  const read = () => fetch(`${service.base}/admin/api/openapi.json`, { headers: { authorization } });
  const document = join(folder, 'openapi.json');
  writeFileSync(document, await (await read()).text());

  writeFileSync(join(folder, 'schemathesis.toml'), expectations);
  writeFileSync(join(folder, 'hooks.py'), sparing(client['client_id']!));

  const options = [
    '--checks',
    'all',
    '--max-examples',
    values.examples,
    '--seed',
    values.seed,
    '--header',
    `Authorization: ${authorization}`,
  ];
  const child = spawn(
    process.env['SCHEMATHESIS'] ?? 'schemathesis',
    ['run', document, '--url', service.base, ...options, ...positionals],
    { cwd: folder, stdio: 'inherit', env: { ...process.env, SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: folder } },
  );
  child.on('error', (error) =>
    console.error(`schemathesis does not run (${error.message}): see the head of this file`),
  );
  const [code] = (await once(child, 'close')) as [number | null];
  const alive = await read();
  if (alive.status !== 200)
    console.error(`afterwards the token is refused (${alive.status}): the last requests prove little`);
  const complaints = readFileSync(join(folder, 'service.log'), 'utf8')
    .split('\n')
    .filter((line) => /"level":[56]0/.test(line));
  for (const line of complaints) console.error(line);
  return code !== 0 || alive.status !== 200 || complaints.length > 0 ? 1 : 0;
}
