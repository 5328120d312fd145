// Runs Debian's Samba as a domain controller of Active Directory, with its LDAP service only, on the loopback ports 389 and 636.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeCertificates } from './certificates.ts';
import { takeTurn } from './turn.ts';

/** It needs root, because its ports are fixed and below 1024. */
export const hasSamba = existsSync('/usr/sbin/samba') && existsSync('/usr/bin/samba-tool') && process.getuid?.() === 0;

export interface ActiveDirectory {
  url: string;
  host: string;
  ca: string;
  /** The base of the domain example.com. */
  base: string;
  administrator: { dn: string; password: string };
  /** Runs samba-tool on the database of the domain. */
  tool(...options: string[]): void;
  stop(): Promise<void>;
}

/** Stands for the fixed ports: the tests of two files would else reach the same domain controller. */
const turnPort = 38_963;

/** Milliseconds for a hook that starts one: it waits for the turns of other files and checkouts. */
export const startLimit = 900_000;

/** Creates the domain example.com and starts its server: about ten seconds. Waits until no other test runs one. */
export async function startActiveDirectory(): Promise<ActiveDirectory> {
  const turn = await takeTurn(turnPort);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-samba-'));
  makeCertificates(folder);
  const password = 'Passw0rd-of-the-administrator';
  const network = ['--option=interfaces=lo', '--option=bind interfaces only=yes'];
  const run = (command: string, options: string[]) =>
    execFileSync(command, options, { stdio: ['ignore', 'ignore', 'pipe'] });
  const domain = ['--realm=EXAMPLE.COM', '--domain=EXAMPLE', `--adminpass=${password}`, `--targetdir=${folder}/domain`];
  run('samba-tool', [
    'domain',
    'provision',
    '--server-role=dc',
    '--dns-backend=NONE',
    '--host-ip=127.0.0.1',
    ...domain,
    ...network,
  ]);
  const settings = `${folder}/domain/etc/smb.conf`;
  const tls = { keyfile: 'server.key', certfile: 'server.pem', cafile: 'ca.pem' };
  // samba goes on without a port that another process has, and the test would ask that one
  if (await isOpen(636)) throw new Error('another process has port 636: another run of these tests?');
  const child: ChildProcess = spawn(
    'samba',
    [
      '-i',
      '-M',
      'single',
      '-s',
      settings,
      '--option=server services=ldap',
      ...Object.entries(tls).map(([name, file]) => `--option=tls ${name}=${folder}/${file}`),
    ],
    { stdio: 'ignore' },
  );
  await listening(636, child);
  const database = `${folder}/domain/private/sam.ldb`;
  const base = 'DC=example,DC=com';
  return {
    url: 'ldaps://localhost',
    host: 'localhost:636',
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    base,
    administrator: { dn: `CN=Administrator,CN=Users,${base}`, password },
    tool: (...options) => void run('samba-tool', [...options, '-H', database, '-s', settings]),
    async stop() {
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
      turn.close();
    },
  };
}

/** @throws Error when the server ends before it listens */
async function listening(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('samba ended: are the ports 389 and 636 in use?');
    if (await isOpen(port)) return;
    await delay(50);
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}
