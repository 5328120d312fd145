// Reads a real OpenLDAP server and tries passwords there; names the failures of a directory.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addressProblem,
  createDirectory,
  type Directory,
  type DirectoryAddress,
  DirectoryUnavailable,
} from '../../src/outbound/directory.ts';
import {
  base,
  type DirectoryServer,
  groupEntry,
  hasSlapd,
  personEntry,
  serviceDn,
  servicePassword,
  startDirectoryServer,
} from '../helpers/directory-server.ts';

const withServer = describe.runIf(hasSlapd);
let server: DirectoryServer;
let directory: Directory;
let address: DirectoryAddress;
const alice = `uid=alice,ou=people,${base}`;

beforeAll(async () => {
  if (!hasSlapd) return;
  server = await startDirectoryServer();
  directory = createDirectory(server.hosts);
  address = { url: server.secureUrl, startTls: false, ca: server.ca, bindDn: serviceDn, bindPassword: servicePassword };
  const people = ['alice', 'bob', 'carol', 'dave', 'eve'];
  server.add(people.map((uid) => personEntry(uid)).join(''));
  server.add(groupEntry('staff', [alice, `uid=bob,ou=people,${base}`]));
});
afterAll(() => server?.stop());

const search = (filter: Parameters<typeof find>[0]) => find(filter);
const find = (filter: Parameters<Parameters<Parameters<Directory['use']>[1]>[0]['search']>[0]['filter'], limit = 10) =>
  directory.use(address, (connection) =>
    connection.search({ base, filter, attributes: ['uid', 'mail', 'entryUUID'], limit }),
  );
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof DirectoryUnavailable ? error.failure : error),
  );

/** Forwards connections to a directory, and adds octets to the first answer of each. */
async function startAddingProxy(target: number, octets: Buffer) {
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    const outbound = connect(target, '127.0.0.1');
    sockets.add(inbound);
    for (const socket of [inbound, outbound])
      socket.on('error', () => undefined).on('close', () => (inbound.destroy(), outbound.destroy()));
    inbound.pipe(outbound);
    outbound.once('data', (answer) => {
      proxy.added++;
      inbound.write(Buffer.concat([answer, octets]));
      outbound.pipe(inbound);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = {
    port: (server.address() as { port: number }).port,
    added: 0,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    async stop() {
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

withServer('a directory', () => {
  it('is searched by the service account, over TLS with the authority of the setting (RFC 4513 3.1.3, federation FR32)', async () => {
    const [entry] = await search({ attribute: 'uid', value: 'alice' });
    expect(entry?.dn).toBe(alice);
    expect(entry?.attributes.get('mail')).toEqual(['alice@example.com']);
    expect(entry?.attributes.get('entryuuid')?.[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['*', 'a*', 'alice)(uid=*', '\\61lice', 'alice\0', '(|(uid=*))'])(
    'finds no entry by a value that looks like a filter: %j (RFC 4515 3, federation FR31)',
    async (value) => {
      expect(await search({ attribute: 'uid', value })).toEqual([]);
    },
  );

  it('joins the filter of an administrator with a value (RFC 4515)', async () => {
    const people = { text: '(objectClass=inetOrgPerson)' };
    expect(await search({ all: [people, { any: [{ attribute: 'mail', value: 'bob@example.com' }] }] })).toHaveLength(1);
    expect(await search({ all: [{ text: '(objectClass=device)' }, { attribute: 'uid', value: 'bob' }] })).toEqual([]);
  });

  it('refuses a search that finds more than the limit, instead of returning a part (federation FR15)', async () => {
    expect(await failureOf(find({ text: '(uid=*)' }, 4))).toBe('limit');
    expect(await find({ text: '(uid=*)' }, 5)).toHaveLength(5);
  });

  it('is read in pages (RFC 2696)', async () => {
    const sizes: number[] = [];
    await directory.use(address, async (connection) => {
      const query = { base, filter: { text: '(uid=*)' }, attributes: ['uid'] };
      for await (const page of connection.pages(query, 2)) sizes.push(page.length);
    });
    expect(sizes.filter((size) => size > 0)).toEqual([2, 2, 1]);
  });

  it('names the groups of an entry by memberOf', async () => {
    const [entry] = await directory.use(address, (connection) =>
      connection.search({ base, filter: { attribute: 'uid', value: 'alice' }, attributes: ['memberOf'] }),
    );
    expect(entry?.attributes.get('memberof')).toEqual([`cn=staff,ou=groups,${base}`]);
  });
});

withServer('a password', () => {
  it('is tried by a bind (RFC 4513 5.1.3)', async () => {
    expect(await directory.verify(address, alice, 'password of alice')).toEqual({ accepted: true });
    expect(await directory.verify(address, alice, 'another')).toEqual({ accepted: false, code: undefined });
  });

  it.each(['', '\0', 'password of alice\0'])(
    'that is empty or has a zero byte reaches no directory: %j (RFC 4513 5.1.2, federation FR30)',
    async (password) => {
      server.log();
      expect(await directory.verify(address, alice, password)).toEqual({ accepted: false, code: undefined });
      expect(server.log()).not.toContain('ACCEPT');
    },
  );

  it('is tried after StartTLS, which is never left for plain text (federation FR32)', async () => {
    server.log();
    const startTls = { ...address, url: server.url, startTls: true };
    expect(await directory.verify(startTls, alice, 'password of alice')).toEqual({ accepted: true });
    expect(await failureOf(directory.verify({ ...startTls, ca: undefined }, alice, 'password of alice'))).toBe('tls');
    expect(server.log()).not.toMatch(/BIND dn="uid=alice.* ssf=0 /);
  });

  it('is not sent if the directory, or an attacker on the path, refuses StartTLS (RFC 4513 3.1.3, federation FR32, F53)', async () => {
    const sent: Buffer[] = [];
    const refusing = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (data) => {
          sent.push(data);
          // an ExtendedResponse with the result unavailable
          socket.write(Buffer.from(`300c0201${data.subarray(4, 5).toString('hex')}78070a013404000400`, 'hex'));
        });
    });
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const { port } = refusing.address() as { port: number };
    const there = { ...address, url: `ldap://localhost:${port}`, startTls: true };
    const elsewhere = createDirectory([`localhost:${port}`]);
    expect(await failureOf(elsewhere.verify(there, alice, 'password of alice'))).toBe('tls');
    expect(await failureOf(elsewhere.use(there, async () => undefined))).toBe('tls');
    const plain = Buffer.concat(sent).toString('latin1');
    expect(plain).toContain('1.3.6.1.4.1.1466.20037');
    for (const secret of ['password of alice', servicePassword, alice]) expect(plain).not.toContain(secret);
    // nothing stays open
    refusing.close();
    await once(refusing, 'close');
  });

  it('is not accepted by octets that an attacker on the path adds to the answer to StartTLS (RFC 4511 4.14.1, federation FR32)', async () => {
    // a good BindResponse without the octets of its diagnostic message, which the true refusal would complete (RFC 4511 4.1.9, 4.2.2)
    const refusal = Buffer.from('300c02010361070a013104000400', 'hex');
    const diagnostic = Buffer.from([0x04, refusal.length]);
    const result = Buffer.concat([Buffer.from('0a01000400', 'hex'), diagnostic]);
    const operation = Buffer.concat([Buffer.from([0x61, result.length + refusal.length]), result]);
    const message = Buffer.concat([Buffer.from('020103', 'hex'), operation]);
    const added = Buffer.concat([Buffer.from([0x30, message.length + refusal.length]), message]);
    const path = await startAddingProxy(Number(new URL(server.url.replace('ldap:', 'http:')).port), added);
    const through = createDirectory([`localhost:${path.port}`]);
    const there = { ...address, url: `ldap://localhost:${path.port}`, startTls: true };
    try {
      expect(await failureOf(through.verify(there, alice, 'another'))).toBe('tls');
      expect(path.added).toBe(1);
    } finally {
      await path.stop();
    }
  });
});

withServer('a directory in trouble', () => {
  it('refuses the service account: the log tells the operator, and the answer says nothing about a user (federation FR33)', async () => {
    const wrong = { ...address, bindPassword: 'another' };
    expect(await failureOf(directory.use(wrong, async () => undefined))).toBe('credentials');
  });

  it('has a certificate of another name, one that has ended, or one of an unknown authority (federation FR32, F53)', async () => {
    for (const options of [{ certificateName: 'other.example' }, { certificateDays: -1 }]) {
      const other = await startDirectoryServer(options);
      const there = { ...address, url: other.secureUrl, ca: other.ca };
      expect(await failureOf(createDirectory(other.hosts).verify(there, alice, 'x'))).toBe('tls');
      await other.stop();
    }
    expect(await failureOf(directory.verify({ ...address, ca: undefined }, alice, 'x'))).toBe('tls');
  });

  it.each(['ldaps', 'StartTLS'])(
    'whose connection by %s ends is not searched again: a new connection would see only what an anonymous user sees (RFC 4513 4, federation FR15, F55)',
    async (by) => {
      const isSecure = by === 'ldaps';
      const { port } = new URL((isSecure ? server.secureUrl : server.url).replace(/^ldaps?/, 'http'));
      const path = await startAddingProxy(Number(port), Buffer.alloc(0));
      const there = { ...address, url: `${isSecure ? 'ldaps' : 'ldap'}://localhost:${path.port}`, startTls: !isSecure };
      const query = { base, filter: { attribute: 'uid', value: 'alice' }, attributes: ['uid'], limit: 2 };
      server.log();
      await createDirectory([`localhost:${path.port}`]).use(there, async (connection) => {
        expect(await connection.search(query)).toHaveLength(1);
        path.cut();
        // the first one may still be sent over the connection that ends
        expect(await failureOf(connection.search(query))).toBe('connection');
        expect(await failureOf(connection.search(query))).toBe('connection');
      });
      expect(path.added).toBe(1);
      await path.stop();
    },
  );

  it('does not answer, or is gone (federation FR33, F53)', async () => {
    const other = await startDirectoryServer();
    const there = { ...address, url: other.secureUrl, ca: other.ca };
    const elsewhere = createDirectory(other.hosts);
    other.freeze();
    expect(await failureOf(elsewhere.use(there, async () => undefined))).toBe('connection');
    other.resume();
    await other.stop();
    expect(await failureOf(elsewhere.use(there, async () => undefined))).toBe('connection');
  });
});

describe('the address of a directory (federation FR14, F59)', () => {
  const allowed = ['ldap.example:636', 'ldap.example:389', 'localhost:389'];
  it.each([
    ['ldaps://ldap.example', false, undefined],
    ['ldaps://LDAP.example:636/', false, undefined],
    ['ldap://ldap.example', true, undefined],
    ['ldap://localhost', false, undefined],
    ['ldap://ldap.example', false, 'plain'],
    ['ldaps://ldap.example', true, 'form'],
    ['ldaps://ldap.example:6360', false, 'not_allowed'],
    ['ldap://169.254.169.254', true, 'not_allowed'],
    ['ldap://localhost:5432', false, 'not_allowed'],
    ['ldaps://ldap.example@other.example', false, 'form'],
    ['ldaps://ldap.example/dc=example?uid', false, 'form'],
    ['https://ldap.example', false, 'form'],
    ['ldapi:///tmp/socket', false, 'form'],
  ])('%s, StartTLS %s: %s', (url, startTls, problem) => {
    expect(addressProblem({ url, startTls }, allowed)).toBe(problem);
  });

  it.runIf(hasSlapd)('opens no connection where the operator did not allow it', async () => {
    const nowhere = createDirectory([]);
    server.log();
    expect(await failureOf(nowhere.verify(address, alice, 'x'))).toBe('address');
    expect(server.log()).not.toContain('ACCEPT');
  });
});
