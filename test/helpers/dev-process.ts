// Starts `gatehouse dev` as developers do, and calls its doors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { vi } from 'vitest';
import { launcher, surroundings } from './server-process.ts';

export interface Ready {
  issuer: string;
  pid: number;
  clients: { client_id: string; client_secret?: string }[];
  users: { username: string; password: string; sub: string }[];
}

/** @param home keeps the copy of the schema */
export function startDevProcess(home: string, words: string[], environment: Record<string, string> = {}) {
  const child = spawn(launcher, ['dev', ...words], {
    env: { ...surroundings, HOME: home, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    output,
    exited,
    /** The line that it prints when it is ready. */
    async ready(): Promise<Ready> {
      await vi.waitUntil(() => output.stdout.includes('\n') || child.exitCode !== null, { timeout: 120_000 });
      if (child.exitCode !== null) throw new Error(output.stderr);
      return JSON.parse(output.stdout) as Ready;
    },
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Calls a door. */
export async function callDoor(issuer: string, door: string, body: object) {
  const response = await fetch(`${issuer}/dev/${door}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { redirect?: string; error_description?: string; refusal?: object };
  return { status: response.status, ...answer };
}
