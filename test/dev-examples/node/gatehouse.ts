// Starts `gatehouse dev` for the tests of a relying party, and signs users in without a browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface SignInOptions {
  /** On the page that asks for consent, which a request with prompt=consent always shows. */
  decision?: 'allow' | 'deny';
  /** How the user signs in: ['pwd'] by default. */
  amr?: string[];
  /** Names a browser whose cookies are kept for later calls. */
  browser?: string;
}

export interface Gatehouse {
  issuer: string;
  clients: { client_id: string; client_secret: string; redirect_uris: string[] }[];
  /** The address at which a browser ends that signs the user in. */
  signIn(user: string, authorizationRequest: string, options?: SignInOptions): Promise<URL>;
  /** The address at which a named browser ends that signs its user out. */
  signOut(browser: string, endSessionRequest: string): Promise<URL>;
  /** Makes what is stored older: codes, sessions, refresh tokens, opaque access tokens. */
  passTime(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** Settings that the application may have for itself. */
const foreign = ['DATABASE_URL', 'BASE_URL', 'LOG_LEVEL'];

/** @param config the configuration file @param command the launcher of Gatehouse */
export async function startGatehouse(
  config: string,
  command = process.env['GATEHOUSE'] ?? 'gatehouse',
): Promise<Gatehouse> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.includes(name)));
  const child = spawn(command, ['dev', '--config', config], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('gatehouse dev did not start'))),
  ])) as [string];
  const ready = JSON.parse(line) as Pick<Gatehouse, 'issuer' | 'clients'>;
  const call = async (path: string, body: object): Promise<Record<string, string>> => {
    const response = await fetch(`${ready.issuer}/dev/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, string>;
  };
  return {
    ...ready,
    signIn: async (user, request, options = {}) =>
      new URL((await call('sign-in', { user, authorization_request: request, ...options }))['redirect']!),
    signOut: async (browser, request) =>
      new URL((await call('sign-out', { browser, end_session_request: request }))['redirect']!),
    passTime: async (seconds) => void (await call('time', { seconds })),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
