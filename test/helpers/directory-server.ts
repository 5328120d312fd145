// Runs Debian's OpenLDAP server (slapd) on a loopback port, with entries of a test and a log that the test can read.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeCertificates } from './certificates.ts';
import { freePort } from './server-process.ts';

const program = '/usr/sbin/slapd';
export const hasSlapd = existsSync(program) && existsSync('/usr/bin/ldapadd');

export const base = 'dc=example,dc=com';
export const serviceDn = `cn=service,${base}`;
export const servicePassword = 'the password of the service account';

export interface DirectoryServer {
  url: string;
  /** The same directory by TLS. */
  secureUrl: string;
  /** host:port of both. */
  hosts: string[];
  /** The certificate (PEM) of the authority that signed the directory's own. */
  ca: string;
  /** Adds entries. */
  add(ldif: string): void;
  /** Adds entries of which the server logs much: it waits for this process to read its log. */
  addMany(ldif: string): Promise<void>;
  /** Changes entries: LDIF with `changetype`. */
  modify(ldif: string): void;
  /** The lines that the server has written since the last call. */
  log(): string;
  /** Stops answering, without closing connections. */
  freeze(): void;
  resume(): void;
  stop(): Promise<void>;
}

export interface DirectoryServerOptions {
  /** The name in the certificate. */
  certificateName?: string;
  /** Days until the certificate ends; negative for one that has ended. */
  certificateDays?: number;
  /** Further lines of the configuration of the database. */
  database?: string;
}

/** Starts an empty directory with the service account, which may read everything. */
export async function startDirectoryServer({
  certificateName = 'localhost',
  certificateDays = 2,
  database = '',
}: DirectoryServerOptions = {}): Promise<DirectoryServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-slapd-'));
  mkdirSync(join(folder, 'data'));
  makeCertificates(folder, { name: certificateName, days: certificateDays });
  const [port, securePort] = [await freePort(), await freePort()];
  writeFileSync(
    join(folder, 'slapd.conf'),
    `${['core', 'cosine', 'inetorgperson', 'nis'].map((name) => `include /etc/ldap/schema/${name}.schema`).join('\n')}
pidfile ${folder}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCACertificateFile ${folder}/ca.pem
TLSCertificateFile ${folder}/server.pem
TLSCertificateKeyFile ${folder}/server.key
sizelimit unlimited
database mdb
maxsize 104857600
suffix "${base}"
rootdn "cn=root,${base}"
rootpw root
directory ${folder}/data
dbnosync
index objectClass,uid,mail,member eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${serviceDn}" read by * none
${database}
overlay memberof
`,
  );
  const urls = [`ldap://127.0.0.1:${port}`, `ldaps://127.0.0.1:${securePort}`];
  let written = '';
  const child: ChildProcess = spawn(program, ['-f', join(folder, 'slapd.conf'), '-h', urls.join(' '), '-d', '256'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (written += part));
  await listening(port, child, () => written);

  const root = ['-x', '-H', urls[0]!, '-D', `cn=root,${base}`, '-w', 'root'];
  const change = (command: string, more: string[], ldif: string) => {
    const { status, stderr } = spawnSync(command, [...root, ...more], { input: ldif, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command}: ${stderr}`);
  };
  const server: DirectoryServer = {
    url: `ldap://localhost:${port}`,
    secureUrl: `ldaps://localhost:${securePort}`,
    hosts: [`localhost:${port}`, `localhost:${securePort}`],
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    add: (ldif) => change('ldapadd', [], ldif),
    async addMany(ldif) {
      const adding = spawn('ldapadd', root, { stdio: ['pipe', 'ignore', 'inherit'] });
      adding.stdin!.end(ldif);
      const [status] = (await once(adding, 'exit')) as [number | null];
      if (status !== 0) throw new Error(`ldapadd ended with ${status}`);
    },
    modify: (ldif) => change('ldapmodify', [], ldif),
    log() {
      const lines = written;
      written = '';
      return lines;
    },
    freeze: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGCONT');
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  server.add(`dn: ${base}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ${serviceDn}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: service
userPassword: ${servicePassword}

dn: ou=people,${base}
objectClass: organizationalUnit
ou: people

dn: ou=groups,${base}
objectClass: organizationalUnit
ou: groups
`);
  return server;
}

/** An entry of a person in LDIF. */
export const personEntry = (
  uid: string,
  { password = `password of ${uid}`, name = uid, mail = `${uid}@example.com` } = {},
) =>
  `dn: uid=${uid},ou=people,${base}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${name}
sn: ${name}
mail: ${mail}
userPassword: ${password}

`;

/** An entry of a group in LDIF. */
export const groupEntry = (name: string, members: readonly string[]) =>
  `dn: cn=${name},ou=groups,${base}
objectClass: groupOfNames
cn: ${name}
${members.map((dn) => `member: ${dn}`).join('\n')}

`;

/** Waits until the port accepts a connection. @throws Error when the server ends before */
async function listening(port: number, child: ChildProcess, log: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`slapd ended: ${log()}`);
    const socket = connect(port, '127.0.0.1');
    const opened = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (opened) return;
    await delay(20);
  }
}
