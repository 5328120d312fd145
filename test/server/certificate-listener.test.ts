// The listener at MTLS_PORT as a TLS client sees it: which authorities count, when a session ends, and which connections are dropped (RFC 8705 7, RFC 9325).
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect, type ConnectionOptions, getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CertificateFileError, listenForCertificates } from '../../src/server/certificate-listener.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { createCertificateFolder, type TestAuthority, type TestCertificate } from '../helpers/mtls.ts';
import { freePort } from '../helpers/server-process.ts';

const folder = createCertificateFolder();
const file = (name: string) => join(folder.folder, name);
let authority: TestAuthority;
let app: TestCertificate;
beforeAll(() => {
  makeCertificates(folder.folder);
  authority = folder.newAuthority();
  app = authority.sign({ subject: '/CN=app' });
});
afterAll(folder.remove);

/** A listener whose service answers whether OpenSSL verified the certificate. */
async function listening({
  maxConnections = 100,
  ...options
}: { caFile?: string; handshakeTimeout?: number; maxConnections?: number } = {}) {
  const service = Fastify({ forceCloseConnections: true });
  service.server.maxConnections = maxConnections;
  service.get('/', ({ raw: { socket } }) => String(socket instanceof TLSSocket && socket.authorized));
  await service.ready();
  const port = await freePort();
  const files = { certFile: file('server.pem'), keyFile: file('server.key'), caFile: undefined, ...options };
  const listener = await listenForCertificates(service, { host: 'localhost', port, ...files });
  /** Asks over a connection of its own. */
  async function ask(more: ConnectionOptions = {}) {
    const own = { host: 'localhost', port, rejectUnauthorized: false, cert: app.certificate, key: app.key };
    const socket = connect({ ...own, ...more });
    await once(socket, 'secureConnect');
    const tls = {
      isResumed: socket.isSessionReused(),
      session: socket.getSession(),
      cipher: socket.getCipher().standardName,
      alpn: socket.alpnProtocol,
    };
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    const text = (await socket.toArray()).join('');
    return { ...tls, isVerified: text.endsWith('true') };
  }
  const stop = async () => {
    await listener.close();
    await service.close();
  };
  return { service, port, listener, ask, stop };
}

test('without a file no authority counts, and not those of Node either (RFC 8705 2.1, security R136)', async () => {
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authority.file, 'utf8')]);
  const without = await listening();
  expect((await without.ask()).isVerified).toBe(false);
  await without.stop();
  const withFile = await listening({ caFile: authority.file });
  expect((await withFile.ask()).isVerified).toBe(true);
  await withFile.stop();
});

test('a resumed session does not keep the verdict of former authorities (RFC 8705 7.3, security R136)', async () => {
  const caFile = file('replaced.pem');
  copyFileSync(authority.file, caFile);
  const { ask, listener, stop } = await listening({ caFile });
  const tls = { maxVersion: 'TLSv1.2' } as const;
  const { session } = await ask(tls);
  const resuming = { ...tls, ...(session && { session }) };
  expect(await ask(resuming)).toMatchObject({ isVerified: true, isResumed: true });
  copyFileSync(folder.newAuthority('/CN=Next').file, caFile);
  listener.reload();
  expect(await ask(resuming)).toMatchObject({ isVerified: false, isResumed: false });
  await stop();
});

test('a file of authorities that holds none is refused, and the former ones stay (protocols P23)', async () => {
  const caFile = file('emptied.pem');
  copyFileSync(authority.file, caFile);
  const { ask, listener, stop } = await listening({ caFile });
  writeFileSync(caFile, 'no certificate');
  expect(() => listener.reload()).toThrow(CertificateFileError);
  expect((await ask()).isVerified).toBe(true);
  await stop();
  await expect(listening({ caFile })).rejects.toThrow(CertificateFileError);
});

test('the order of the ciphers is that of the service, and the protocol is HTTP/1.1 (RFC 9325 4.2, RFC 7301 3.2)', async () => {
  const { ask, stop } = await listening();
  const ciphers = 'ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256';
  const answer = await ask({ maxVersion: 'TLSv1.2', ciphers, ALPNProtocols: ['h2', 'http/1.1'] });
  expect(answer).toMatchObject({ cipher: 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', alpn: 'http/1.1' });
  await stop();
});

test('a connection that does not begin TLS ends (security R105)', async () => {
  const { port, stop } = await listening({ handshakeTimeout: 50 });
  const silent = connectTcp({ host: 'localhost', port });
  silent.on('error', () => undefined);
  await once(silent, 'close');
  await stop();
});

test('the port takes as many connections as the service, and the service counts those that are dropped (security R105)', async () => {
  const { service, port, stop } = await listening({ maxConnections: 1 });
  const first = connect({ host: 'localhost', port, rejectUnauthorized: false });
  await once(first, 'secureConnect');
  const dropped = once(service.server, 'drop');
  const second = connectTcp({ host: 'localhost', port });
  second.on('error', () => undefined);
  await dropped;
  first.destroy();
  await stop();
});
