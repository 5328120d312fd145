// Defines a relying party of the walk: how it registers, how it is started, and how its process ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Party {
  /** Its folder here, and its display name. */
  folder: string;
  name: string;
  /** Fetches and builds what the machine lacks. */
  fetch?(): void;
  /** The version that runs, or what must be installed first. */
  version(): string | { missing: string };
  /** The path of its redirect address. */
  callback: string;
  /** The response type that it requests, unless it is a code. */
  responseType?: string;
  /** Whether it sends its secret in the form, instead of by HTTP Basic. */
  secretInForm?: boolean;
  /** Whether it lacks PKCE, and so cannot prove that it began the sign-in. */
  withoutPkce?: boolean;
  /** Where it is notified of a sign-out elsewhere, by the service itself or by a frame in the browser: paths with their queries. */
  backchannelLogout?: string;
  frontchannelLogout?: string;
  /** Whether it signs its requests, with its secret (OpenID Connect Core 6.1). */
  signsRequests?: boolean;
  /** Whether its page has a button for new tokens. */
  refreshes: boolean;
  /** The program: the environment has everything about its client, and `work` is a folder for its files. */
  command(work: string): { program: string; args: string[] };
}

/** The environment of a program. */
export interface PartySettings {
  ISSUER: string;
  CLIENT_ID: string;
  CLIENT_SECRET: string;
  /** Of an API: the audience of its tokens. */
  RESOURCE?: string;
  /** What a program that exchanges tokens and comes with certificates needs besides. */
  [further: string]: string | undefined;
}

export interface PartyProcess {
  stop(): Promise<void>;
  /** Its output so far. */
  output(): string;
}

const startLimit = 180_000; // milliseconds

/** Starts the party's program and waits until it listens. */
export async function startParty(party: Party, port: number, settings: PartySettings): Promise<PartyProcess> {
  const work = mkdtempSync(join(tmpdir(), `gatehouse-${party.folder}-`));
  const folder = join(import.meta.dirname, party.folder);
  const { program, args } = party.command(work);
  const own = { PORT: String(port), SESSION_KEY: sessionKey, WORK: work };
  // a file, since Apache cannot open a pipe of Node's as its log
  const printed = openSync(join(work, 'printed'), 'a');
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: work, ...own, ...settings },
    stdio: ['ignore', printed, printed],
  });
  closeSync(printed);
  const output = () => readFileSync(join(work, 'printed'), 'utf8');
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
    rmSync(work, { recursive: true, force: true });
  };
  try {
    await listening(child, port, output);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, output };
}

/** The key that encrypts the sessions of parties that keep them in a cookie: 32 bytes. */
const sessionKey = 'a test has no secrets to keep ..';

async function listening(child: ChildProcess, port: number, printed: () => string): Promise<void> {
  for (const begin = Date.now(); ; await delay(20)) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      if (child.exitCode !== null || child.pid === undefined) throw new Error(`it ended at its start: ${printed()}`);
      if (Date.now() - begin > startLimit) throw new Error(`it does not listen: ${printed()}`);
    } finally {
      socket.destroy();
    }
  }
}
