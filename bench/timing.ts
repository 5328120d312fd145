// Compares the times of answers that must not be distinguishable: requested in turn in one run, their means and medians as ratios to the
// first of each.
import { randomBytes, randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type Bed, withService } from './bed.ts';
import { hiddenFields, UserAgent } from '../test/helpers/user-agent.ts';
import { command } from './children.ts';

/** Answers whose times must not differ. */
interface Comparison {
  /** The attack case. */
  id: string;
  what: string;
  /** Creates what the requests need; each call of a side's `ask` is one request. */
  prepare(service: Service): Promise<Side[]>;
}

interface Side {
  name: string;
  ask(): Promise<Response>;
}

interface Service {
  base: string;
  /** Runs the administrator's command line. */
  idp(...args: string[]): Promise<Record<string, string>>;
}

const redirectUri = 'https://rp.example.com/callback';
const clientOptions = ['--redirect-uri', redirectUri, '--grant-type', 'client_credentials'];
const basicOf = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

const comparisons: Comparison[] = [
  {
    id: 'A2',
    what: 'three rejections of an authorization request',
    async prepare({ base, idp }) {
      const enabled = await idp('client', 'create', '--name', 'Enabled', ...clientOptions);
      const disabled = await idp('client', 'create', '--name', 'Disabled', ...clientOptions);
      await idp('client', 'disable', disabled['client_id']!);
      const asking = (clientId: () => string, redirect_uri: string) => () => {
        const request = { response_type: 'code', scope: 'openid', client_id: clientId(), redirect_uri };
        return fetch(`${base}/authorize?${new URLSearchParams(request)}`, { redirect: 'manual' });
      };
      return [
        { name: 'unknown client', ask: asking(() => randomBytes(16).toString('base64url'), redirectUri) },
        { name: 'disabled client', ask: asking(() => disabled['client_id']!, redirectUri) },
        { name: 'wrong redirect URI', ask: asking(() => enabled['client_id']!, 'https://evil.example/') },
      ];
    },
  },
  {
    id: 'A47',
    what: 'four rejections of a client',
    async prepare({ base, idp }) {
      const create = (name: string) => idp('client', 'create', '--name', name, ...clientOptions);
      const [enabled, disabled, rotated] = [await create('Enabled'), await create('Disabled'), await create('Rotated')];
      await idp('client', 'disable', disabled['client_id']!);
      await rotateSecret(base, rotated);
      const asking = (clientId: () => string, secret: string) => () =>
        fetch(`${base}/token`, {
          method: 'POST',
          headers: { authorization: basicOf(clientId(), secret) },
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
        });
      const wrong = randomBytes(32).toString('base64url');
      return [
        { name: 'unknown client', ask: asking(() => randomBytes(16).toString('base64url'), wrong) },
        { name: 'disabled client', ask: asking(() => disabled['client_id']!, wrong) },
        { name: 'wrong secret', ask: asking(() => enabled['client_id']!, wrong) },
        { name: 'secret rotated out', ask: asking(() => rotated['client_id']!, rotated['client_secret']!) },
      ];
    },
  },
  {
    id: 'A77',
    what: 'four rejections of a sign-in',
    async prepare({ base, idp }) {
      const admin = await idp(
        'client',
        'create',
        '--name',
        'Admin',
        '--grant-type',
        'client_credentials',
        '--scope',
        'admin',
      );
      const enabled = await makeUsers(base, admin, 'enabled');
      const disabled = await makeUsers(base, admin, 'disabled');
      const [held] = enabled.splice(0, 1);
      const form = await signInForm(base);
      const asking = (username: (time: number) => string) => {
        let time = 0;
        return () => form(username(time++));
      };
      const wrong = asking(() => held!);
      // to its first delay; further attempts only lengthen it
      for (let time = 0; time < 12; time++) await (await wrong()).arrayBuffer();
      return [
        { name: 'wrong password', ask: asking((time) => enabled[time % enabled.length]!) },
        { name: 'unknown user', ask: asking(() => randomBytes(6).toString('hex')) },
        { name: 'disabled user', ask: asking((time) => disabled[time % disabled.length]!) },
        { name: 'throttled user', ask: wrong },
      ];
    },
  },
];

/** Enough users that none is tried ten times, which would throttle it. */
async function makeUsers(base: string, admin: Record<string, string>, status: string): Promise<string[]> {
  const issued = await fetch(`${base}/token`, {
    method: 'POST',
    headers: { authorization: basicOf(admin['client_id']!, admin['client_secret']!) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await issued.json()) as { access_token: string };
  const send = async (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${base}/admin/api${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`no user: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { sub: string; username: string };
  };
  const names: string[] = [];
  for (let left = Math.ceil((count + warmUp) / 9) + 1; left > 0; left--) {
    const { sub, username } = await send('POST', '/users', {
      username: randomBytes(6).toString('hex'),
      password: randomUUID(),
    });
    await send('PATCH', `/users/${sub}`, { status });
    names.push(username);
  }
  return names;
}

/** Opens the sign-in page once; the returned function sends its form with a wrong password. */
async function signInForm(base: string): Promise<(username: string) => Promise<Response>> {
  const browser = new UserAgent({ issuer: base });
  const hidden = hiddenFields((await browser.get('/login')).body);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return (username) =>
    fetch(`${base}/login`, {
      method: 'POST',
      headers: { cookie, origin: base },
      body: new URLSearchParams({ ...hidden, username, password: 'a wrong password' }),
      redirect: 'manual',
    });
}

/** A repeat registration: the client gets a new secret, and its old one is dead. */
async function rotateSecret(base: string, client: Record<string, string>): Promise<void> {
  const answer = await fetch(`${base}/register`, {
    method: 'POST',
    headers: {
      authorization: basicOf(client['client_id']!, client['client_secret']!),
      'content-type': 'application/json',
    },
    body: JSON.stringify({ redirect_uris: [redirectUri], grant_types: ['client_credentials'] }),
  });
  if (answer.status !== 200) throw new Error(`no new secret: ${answer.status} ${await answer.text()}`);
}

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    only: { type: 'string' },
    count: { type: 'string', default: '200' },
  },
});
const count = Number(values.count);
const warmUp = 20; // requests of each side

await withService(
  {
    // counted as in operation, and never reached
    LIMIT_CLIENT_AUTH_FAILURES: '1000000',
    LIMIT_SIGN_IN_PER_NETWORK: '1000000',
    LIMIT_SIGN_IN_FAILURES: '1000000',
  },
  main,
  { postgres: values.postgres },
);

async function main({ service: { base }, settings }: Bed): Promise<void> {
  const service = { base, idp: (...args: string[]) => command(args, settings) };
  for (const { id, what, prepare } of comparisons) {
    if (values.only !== undefined && values.only !== id) continue;
    process.stdout.write(`${id}: ${what}, ${count} each\n${table(await measure(await prepare(service)))}\n\n`);
  }
}

interface Measured {
  name: string;
  /** Each request's time in milliseconds. */
  times: number[];
}

/** Sends one request to every side each round, in a changing order, so that none always follows the same one. */
async function measure(sides: Side[]): Promise<Measured[]> {
  const measured = sides.map(({ name, ask }) => ({ name, ask, times: [] as number[] }));
  const answers = new Set<string>();
  for (let round = -warmUp; round < count; round++) {
    const turned = [...measured.slice(round % sides.length), ...measured.slice(0, round % sides.length)];
    for (const { ask, times } of round % 2 === 0 ? turned : turned.reverse()) {
      const start = performance.now();
      const answer = await ask();
      await answer.arrayBuffer();
      if (round < 0) continue;
      times.push(performance.now() - start);
      answers.add(`${answer.status} ${answer.headers.get('location') ?? ''}`);
    }
  }
  if (answers.size !== 1) throw new Error(`the answers differ: ${[...answers].join(', ')}`);
  return measured;
}

function mean(times: number[]): number {
  return times.reduce((sum, time) => sum + time, 0) / times.length;
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}

function table([first, ...others]: Measured[]): string {
  const lines = [first!, ...others].map(({ name, times }) => [
    name,
    mean(times).toFixed(2),
    (mean(times) / mean(first!.times)).toFixed(2),
    median(times).toFixed(2),
    (median(times) / median(first!.times)).toFixed(2),
  ]);
  lines.unshift(['', 'mean ms', 'ratio', 'median ms', 'ratio']);
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => `  ${line.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}`).join('\n');
}
