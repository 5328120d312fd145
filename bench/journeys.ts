// Counts the source files that run in each journey of a user or client, by V8's coverage of the running service.
//
//   node bench/journeys.ts [--tree FOLDER] [--files JOURNEY]
//
// Prints a Markdown table. --tree measures another checkout, also one from before the source was in feature areas; --files names
// the files of one journey, such as "code grant".
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pkce, type Page, UserAgent } from '../test/helpers/user-agent.ts';
import { freePort } from '../test/helpers/server-process.ts';
import { authorizationParameters, basicOf, redirectUri } from './flows.ts';

const { values } = parseArgs({
  options: { tree: { type: 'string', default: resolve(import.meta.dirname, '..') }, files: { type: 'string' } },
});
const tree = resolve(values.tree);
/** A file counts if it runs in each round: so timers and mails of the background do not count, also where a busy machine delays them. */
const rounds = 8;

interface Coverage {
  result: {
    url: string;
    functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
  }[];
}

type Inspect = (method: string, parameters?: object) => Promise<unknown>;

const kinds = ['plumbing', 'database', 'feature'] as const;

/** What a file is by its folder in `src`: feature code is what is neither plumbing nor database. */
function kindOf(file: string): (typeof kinds)[number] {
  if (/^(server|pages|crypto)\/|^config\.ts$/.test(file)) return 'plumbing';
  return /^(database|repositories)\//.test(file) ? 'database' : 'feature';
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-journeys-'));
const port = await freePort();
const settings = {
  PATH: process.env['PATH'],
  PORT: String(port),
  BASE_URL: `http://localhost:${port}`,
  DATA_DIR: folder,
  ADMIN_PASSWORD: 'journeys of one administrator',
  LIMIT_SIGN_IN_PER_NETWORK: '0',
};
const service = spawn(process.execPath, ['--inspect=127.0.0.1:0', 'src/server.ts'], {
  cwd: tree,
  env: settings,
  stdio: ['ignore', 'ignore', 'pipe'],
});
try {
  await measure();
} finally {
  service.kill('SIGTERM');
  if (service.exitCode === null) await once(service, 'exit');
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const { inspect, socket } = await connectInspector();
  await untilReady();
  await inspect('Profiler.enable');
  await inspect('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

  /** The files that ran since the last call; evaluating a module is not running it. */
  async function filesThatRan(): Promise<Set<string>> {
    const { result } = (await inspect('Profiler.takePreciseCoverage')) as Coverage;
    const prefix = `file://${tree}/src/`;
    const ran = result.filter(
      ({ url, functions }) =>
        url.startsWith(prefix) &&
        functions.some(({ functionName, ranges: [range] }) => {
          const isModule = functionName === '' && range!.startOffset === 0;
          return !isModule && range!.count > 0;
        }),
    );
    return new Set(ran.map(({ url }) => url.slice(prefix.length)));
  }

  const found = new Map<string, Set<string>>();
  const journey = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    await filesThatRan();
    const result = await work();
    const files = await filesThatRan();
    const before = found.get(name);
    found.set(name, before ? new Set([...before].filter((file) => files.has(file))) : files);
    return result;
  };
  const admin = await command(
    'client',
    'create',
    '--name',
    'Admin',
    '--grant-type',
    'client_credentials',
    '--scope',
    'admin',
  );
  const codes = ['--grant-type', 'authorization_code', '--grant-type', 'refresh_token'];
  const web = await command('client', 'create', '--name', 'Web', '--redirect-uri', redirectUri, ...codes);
  // the round before the measured ones fills the caches
  for (let round = 0; round <= rounds; round++) {
    await walk(journey, web, admin);
    if (round === 0) found.clear();
  }

  // a process does not end while its inspector is in use
  socket.close();
  console.log('| Journey | Plumbing | Database | Feature code |\n| --- | ---: | ---: | ---: |');
  for (const [name, files] of found) {
    const counts = kinds.map((kind) => [...files].filter((file) => kindOf(file) === kind).length);
    console.log(`| ${name} | ${counts.join(' | ')} |`);
  }
  for (const kind of values.files === undefined ? [] : kinds) {
    const files = [...(found.get(values.files!) ?? [])].filter((file) => kindOf(file) === kind).sort();
    console.log(`\n${kind}:\n${files.map((file) => `  ${file}`).join('\n')}`);
  }
}

/** Each journey once, by a new browser. */
async function walk(
  journey: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>,
  web: Record<string, string>,
  admin: Record<string, string>,
): Promise<void> {
  const agent = new UserAgent({ issuer: settings.BASE_URL });
  const { code_verifier, ...challenge } = pkce();
  const more = { ...challenge, prompt: 'consent' };
  const request = authorizationParameters(web, 'openid profile email offline_access', more);
  const begun = await journey('GET /authorize', () => agent.get(`/authorize?${request}`));
  const login = await agent.follow(begun);
  const consent = await journey('sign-in to consent', () =>
    agent.signIn({ username: 'admin', password: settings.ADMIN_PASSWORD }, login),
  );
  const answer: Page = await journey('consent to code', () => agent.submit(consent, { decision: 'allow' }));
  const code = new URL(answer.location ?? 'about:blank').searchParams.get('code');
  if (code === null) throw new Error(`no code: ${answer.status} ${answer.body.slice(0, 500)}`);
  const tokens = await journey('code grant', () =>
    post('/token', basicOf(web), { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier }),
  );
  const { refresh_token, access_token } = tokens as { refresh_token: string; access_token: string };
  await journey('refresh', () => post('/token', basicOf(web), { grant_type: 'refresh_token', refresh_token }));
  await journey('introspection', () => post('/introspect', basicOf(web), { token: access_token }));
  await journey('UserInfo', () => ask('/user/info', { headers: { authorization: `Bearer ${access_token}` } }));
  const registered = await journey('register', () =>
    ask('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Registered', redirect_uris: [redirectUri] }),
    }),
  );
  const issued = await post('/token', basicOf(admin), { grant_type: 'client_credentials' });
  const authorization = `Bearer ${String(issued['access_token'])}`;
  const path = `/admin/api/clients/${String(registered['client_id'])}`;
  const { version } = await ask(path, { headers: { authorization } });
  await journey('approve', () =>
    ask(`${path}/approve`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ version }),
    }),
  );
}

function post(path: string, authorization: string, form: Record<string, string>): Promise<Record<string, unknown>> {
  return ask(path, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) });
}

async function ask(path: string, init: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(settings.BASE_URL + path, init);
  const body = await response.text();
  if (!response.ok) throw new Error(`${path} answered with ${response.status}: ${body.slice(0, 500)}`);
  return body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
}

/** Runs the command line of the measured tree and returns what it prints as JSON. */
async function command(...args: string[]): Promise<Record<string, string>> {
  const child = spawn(process.execPath, ['src/cli.ts', ...args, '--json'], {
    cwd: tree,
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const printed = await child.stdout.setEncoding('utf8').toArray();
  return JSON.parse(printed.join('')) as Record<string, string>;
}

async function untilReady(): Promise<void> {
  for (;;) {
    if (service.exitCode !== null) throw new Error('the service ended before it was ready');
    const health = await fetch(`${settings.BASE_URL}/health/ready`).catch(() => undefined);
    if (health?.ok) return;
    await delay(100);
  }
}

/** Finds the inspector's address in what Node prints, and returns what calls its methods. */
async function connectInspector(): Promise<{ inspect: Inspect; socket: WebSocket }> {
  const log = service.stderr!.setEncoding('utf8');
  let printed = '';
  log.on('data', (text: string) => (printed += text));
  while (!/ws:\S+/.test(printed)) {
    if (service.exitCode !== null) throw new Error(`the service ended: ${printed}`);
    await once(log, 'data');
  }
  const socket = new WebSocket(/ws:\S+/.exec(printed)![0]);
  await new Promise((opened) => (socket.onopen = opened));
  let last = 0;
  const inspect: Inspect = (method, params = {}) =>
    new Promise((answered) => {
      const id = ++last;
      socket.addEventListener('message', function heard({ data }) {
        const answer = JSON.parse(data as string) as { id?: number; result: unknown };
        if (answer.id !== id) return;
        socket.removeEventListener('message', heard);
        answered(answer.result);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  return { inspect, socket };
}
