// Carries out the Dockerfile without a container engine, and starts what it makes: as the usual user, as one without a name, and with one family of addresses.
//
//   node test/deploy/image.ts       as root on Debian
//
// A folder with its own mounts stands for the container. The programs of this machine stand for those of the base image, which are read-only.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const root = resolve(import.meta.dirname, '../..');
if (process.argv[2] !== 'inside') {
  // mounts and interfaces of its own, which end with it
  const { status } = spawnSync('unshare', ['--mount', '--net', process.execPath, import.meta.filename, 'inside'], {
    stdio: 'inherit',
  });
  process.exit(status ?? 1);
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
const image = join(folder, 'image');
const say = (line: string) => console.log(line);
const sh = (script: string) => execFileSync('sh', ['-ec', script], { stdio: ['ignore', 'inherit', 'inherit'] });

interface State {
  environment: Record<string, string>;
  user: string;
  workdir: string;
  command: string[];
  check: string[];
}
const state: State = { environment: {}, user: '0:0', workdir: '/', command: [], check: [] };

/** The words of this program in the image. */
function inside(words: readonly string[], settings: Record<string, string> = {}, user = state.user): string[] {
  const { environment, workdir } = state;
  const values = Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...environment, ...settings });
  const group = user.split(':')[1]!;
  return [
    'chroot',
    `--userspec=${user}`,
    `--groups=${group}`,
    image,
    '/usr/bin/env',
    '-i',
    `--chdir=${workdir}`,
    ...values.map(([name, value]) => `${name}=${value}`),
    ...words,
  ];
}
function runInside(words: readonly string[], settings?: Record<string, string>, user?: string) {
  const [program = '', ...args] = inside(words, settings, user);
  return spawnSync(program, args, { encoding: 'utf8' });
}

/** The instructions of the last stage, without comments. */
function instructions(): [name: string, rest: string][] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.startsWith('FROM '));
  return lines.slice(last + 1).map((line) => {
    const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line)!;
    return [name, rest];
  });
}

/** What the base image has: the programs of this machine, Node 24, and a user of the number 1000. */
function makeBase(): void {
  for (const name of ['usr', 'proc', 'dev', 'tmp', 'etc', 'app', 'data', 'run', 'var'])
    mkdirSync(join(image, name), { recursive: true });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) sh(`ln -s usr/${name} '${image}/${name}'`);
  writeFileSync(join(image, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n');
  writeFileSync(join(image, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  writeFileSync(join(image, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  sh(`mount --make-rprivate /
    mount --bind '${image}' '${image}'
    mount --rbind /usr '${image}/usr'
    mount -t tmpfs none '${image}/usr/local'
    mount -t proc proc '${image}/proc'
    mount --rbind /dev '${image}/dev'
    mkdir -p '${image}/usr/local/bin'
    cp -L '${root}/node_modules/node/bin/node' '${image}/usr/local/bin/node'
    ip link set lo up`);
}

/** The packages of the first stage, installed as it says. */
function makePackages(): string {
  const packages = join(folder, 'packages');
  mkdirSync(packages);
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) cpSync(join(root, name), join(packages, name));
  const production = Object.entries(
    (
      JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
        packages: Record<string, { dev?: boolean }>;
      }
    ).packages,
  ).filter(([path, { dev }]) => path !== '' && !dev);
  // the network is not reachable here: what npm ci --omit=dev installs is copied from what is installed
  for (const [path] of production) {
    const from = join(root, path);
    if (statSync(from, { throwIfNoEntry: false }))
      cpSync(from, join(packages, path), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (file) => !/node_modules\/\.(bin|cache)(\/|$)/.test(file.slice(root.length)),
      });
  }
  return join(packages, 'node_modules');
}

function carryOut([name, rest]: [string, string], packages: string): void {
  if (name === 'ENV') for (const [, key, value] of rest.matchAll(/(\w+)=(\S+)/g)) state.environment[key!] = value!;
  else if (name === 'USER') state.user = rest;
  else if (name === 'WORKDIR') state.workdir = rest;
  else if (name === 'CMD') state.command = JSON.parse(rest) as string[];
  else if (name === 'HEALTHCHECK') state.check = JSON.parse(/CMD (\[.*\])$/.exec(rest)![1]!) as string[];
  else if (name === 'COPY') {
    const words = rest.split(/\s+/);
    const from = words[0]!.startsWith('--from=') ? words.shift() : undefined;
    const target = words.pop()!;
    const allowed = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
    for (const word of words) {
      if (from === undefined && !allowed.includes(`!${word}`)) throw new Error(`.dockerignore leaves out ${word}`);
      const source = from === undefined ? join(root, word) : packages;
      const place = join(image, state.workdir, target === './' ? word : target);
      mkdirSync(dirname(place), { recursive: true });
      cpSync(source, place, { recursive: true, verbatimSymlinks: true });
    }
    sh(`chown -R 0:0 '${image}/app'`);
  } else if (name === 'RUN') {
    if (rest.includes('apt-get')) {
      if (globSync('/usr/lib/*/libnss_wrapper.so').length === 0) throw new Error('install libnss-wrapper');
      say(`not run, since the programs are those of this machine: RUN ${rest}`);
      return;
    }
    const { status, stdout, stderr } = runInside(['sh', '-c', rest]);
    if (status !== 0) throw new Error(`RUN ${rest} ended with ${status}: ${stdout}${stderr}`);
  } else if (!['ARG', 'LABEL', 'VOLUME', 'EXPOSE', 'STOPSIGNAL'].includes(name)) throw new Error(`unknown: ${name}`);
  say(`${name} ${rest.slice(0, 100)}`);
}

/** Starts the image, waits until its health check succeeds, runs a command, and stops it. @param before words before the program */
async function start(
  what: string,
  user: string,
  settings: Record<string, string> = {},
  before: readonly string[] = [],
) {
  const data = join(image, 'data');
  // a new volume has the owner and the rights of the folder in the image
  const { uid, gid, mode } = statSync(data);
  const volume = mkdtempSync(join(folder, 'volume-'));
  execFileSync('chown', [`${uid}:${gid}`, volume]);
  chmodSync(volume, mode & 0o777);
  sh(`mount --bind '${volume}' '${data}'; mount -t tmpfs none '${image}/tmp'; mount -o remount,bind,ro '${image}'`);
  const begin = performance.now();
  const words = [...before, ...inside(state.command, settings, user)];
  const child: ChildProcess = spawn(words[0]!, words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (text: Buffer) => (printed += text.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  try {
    while (runInside(state.check, settings, user).status !== 0) {
      if (child.exitCode !== null || performance.now() - begin > 120_000) throw new Error(`${what}: ${printed}`);
      await delay(200);
    }
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    const list = runInside(['gatehouse', 'user', 'list'], settings, user);
    if (list.status !== 0 || !list.stdout.includes('admin')) throw new Error(`${what}: ${list.stdout}${list.stderr}`);
    say(`started ${what}: healthy after ${seconds} s, and a command lists the administrator`);
  } finally {
    child.kill('SIGTERM');
    const [code] = await closed;
    sh(`mount -o remount,bind,rw '${image}'; umount '${image}/tmp' '${data}'`);
    if (code !== 0) say(`it ended with ${code}: ${printed}`);
  }
}

/** The system call socket fails for addresses of IPv6, as in a kernel without it. */
const withoutIpv6 = `
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
AF_INET6, EAFNOSUPPORT, SOCKET = 10, 97, {'x86_64': 41, 'aarch64': 198}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 3, SOCKET), (0x20, 0, 0, 16), (0x15, 0, 1, AF_INET6), (0x06, 0, 0, 0x00050000 | EAFNOSUPPORT), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *each) for each in code))
program = struct.pack('HxxxxxxP', len(code), ctypes.addressof(text))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
`;

try {
  makeBase();
  const packages = makePackages();
  for (const instruction of instructions()) carryOut(instruction, packages);
  await start('as the usual user', state.user);
  await start('as a user without a name, of the group 0', '1234567:0');
  await start('without IPv6 in the kernel', state.user, {}, ['python3', '-c', withoutIpv6]);
  sh('ip address del 127.0.0.1/8 dev lo');
  await start('with IPv6 only', '1234567:0');
  sh('ip address add 127.0.0.1/8 dev lo; ip address del ::1/128 dev lo');
  await start('with IPv4 only', state.user);
} finally {
  sh(`umount --recursive --lazy '${image}'`);
  rmSync(folder, { recursive: true, force: true });
}
