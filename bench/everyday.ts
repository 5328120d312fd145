// Sends the everyday requests of approved clients, each operation at a fixed rate, to measure how other load affects their times.
import { randomUUID } from 'node:crypto';
import { Agent, request as send } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { responseParameters, UserAgent } from '../test/helpers/user-agent.ts';
import { command } from './children.ts';

/** The rate of each of the four operations, per second. */
export const rate = 20;
const chains = 40;
/** The parameters of prepare(): one session creates all chains of refresh tokens. */
export const everydaySettings = { LIMIT_CODES_PER_SESSION: '0' };
const redirectUri = 'https://rp.example.com/callback';

export interface Answer {
  status: number;
  retryAfter: number;
  body: string;
}
/** @param body undefined for GET */
export type Post = (path: string, headers: Record<string, string>, body?: string) => Promise<Answer>;

export const emptyTimes = (names: string[]): Record<string, number[]> =>
  Object.fromEntries(names.map((name) => [name, []]));

export function at(times: number[], part: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

/** Sends each operation at its rate, whether the previous request is answered or not; returns how many failed. */
export async function phase(
  operations: Record<string, () => Promise<Answer>>,
  time: number,
  times?: Record<string, number[]>,
): Promise<number> {
  let failures = 0;
  const under: Promise<void>[] = [];
  const begin = performance.now();
  for (let count = 0; count < time * rate; count++) {
    for (const [index, [name, operation]] of Object.entries(operations).entries()) {
      const due = begin + ((count + index / 4) * 1000) / rate;
      await delay(Math.max(0, due - performance.now()));
      const sent = performance.now();
      under.push(
        operation().then(
          ({ status, body }) => {
            times?.[name]!.push(performance.now() - sent);
            if (status !== 200) failures += complain(`${name}: ${status} ${body.slice(0, 200)}`);
          },
          (error: unknown) => void (failures += complain(`${name}: ${String(error)}`)),
        ),
      );
    }
  }
  await Promise.all(under);
  return failures;
}

function complain(line: string): 1 {
  process.stderr.write(`${line}\n`);
  return 1;
}

export async function prepare(
  base: string,
  settings: Record<string, string>,
): Promise<Record<string, () => Promise<Answer>>> {
  const machine = await command(
    ['client', 'create', '--name', 'Bench', '--grant-type', 'client_credentials', '--scope', 'admin'],
    settings,
  );
  const web = await command(
    ['client', 'create', '--name', 'Web', '--redirect-uri', redirectUri, '--first-party'],
    settings,
  );
  const post = postTo(base, 64);
  const basic = (client: Record<string, string>) =>
    `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`;
  const asked = (path: string, client: Record<string, string>, parameters: Record<string, string>) => {
    const headers = { authorization: basic(client), 'content-type': 'application/x-www-form-urlencoded' };
    return post(path, headers, new URLSearchParams(parameters).toString());
  };
  const { access_token } = read(await asked('/token', machine, { grant_type: 'client_credentials' }));
  const user = { username: 'alice', password: randomUUID() };
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  await post('/admin/api/users', headers, JSON.stringify(user));
  const agent = new UserAgent({ issuer: base });
  const client = { clientId: web['client_id']!, redirectUri };
  const refreshTokens: string[] = [];
  for (let index = 0; index < chains; index++) {
    const { code } = responseParameters(await agent.authorize(client, user));
    const redeemed = { grant_type: 'authorization_code', code: code!, redirect_uri: redirectUri };
    refreshTokens.push(read(await asked('/token', web, redeemed))['refresh_token']!);
  }
  return {
    '/jwks': () => post('/jwks', {}),
    '/introspect': () => asked('/introspect', machine, { token: access_token! }),
    '/token (client)': () => asked('/token', machine, { grant_type: 'client_credentials' }),
    '/token (refresh)': async () => {
      const refresh_token = refreshTokens.shift();
      if (refresh_token === undefined) throw new Error('every chain waits for its answer');
      const answer = await asked('/token', web, { grant_type: 'refresh_token', refresh_token });
      refreshTokens.push(read(answer)['refresh_token'] ?? refresh_token);
      return answer;
    },
  };
}

const read = ({ body }: Answer) => JSON.parse(body) as Record<string, string>;

export function postTo(base: string, connections: number): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return (path, headers, body) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const method = body === undefined ? 'GET' : 'POST';
      const outgoing = send(base + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            retryAfter: Number(response.headers['retry-after'] ?? 0),
            body: text,
          }),
        );
        response.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
}
