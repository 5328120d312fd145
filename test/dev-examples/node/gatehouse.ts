// Starts `gatehouse dev` for the tests of a relying party, and signs users in without a browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Gatehouse {
  issuer: string;
  clients: { client_id: string; client_secret: string; redirect_uris: string[] }[];
  /** The address at which a browser ends that signs the user in. */
  signIn(user: string, authorizationRequest: string): Promise<URL>;
  /** Makes what is stored older: codes, sessions, refresh tokens, opaque access tokens. */
  passTime(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param config the configuration file @param command the launcher of Gatehouse */
export async function startGatehouse(
  config: string,
  command = process.env['GATEHOUSE'] ?? 'gatehouse',
): Promise<Gatehouse> {
  const child = spawn(command, ['dev', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
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
    signIn: async (user, request) =>
      new URL((await call('sign-in', { user, authorization_request: request }))['redirect']!),
    passTime: async (seconds) => void (await call('time', { seconds })),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
