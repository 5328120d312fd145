// The service ends TLS itself at MTLS_PORT: it asks for certificates, lets OpenSSL verify them, and reads its files again (RFC 8705 7, RFC 9325).
import { execFile } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { promisify } from 'node:util';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { freePort } from '../helpers/server-process.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import {
  createCertificateFolder,
  escapedPem,
  send,
  type Sent,
  type TestAuthority,
  type TestCertificate,
} from '../helpers/mtls.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

const folder = createCertificateFolder();
const subject = '/C=DE/O=Bank/CN=app';
const flows = { redirect_uris: [], grant_types: ['client_credentials'], scope: 'openid' };

let service: TestService;
let base: string;
let ca: string;
let authority: TestAuthority;
let own: TestCertificate;
let self: TestCertificate;
let t1: TestClient;
let t2: TestClient;
beforeAll(async () => {
  makeCertificates(folder.folder);
  ca = join(folder.folder, 'ca.pem');
  authority = folder.newAuthority();
  own = authority.sign({ subject });
  self = folder.selfSigned();
  // the file that an operator replaces
  copyFileSync(authority.file, join(folder.folder, 'clients.pem'));
  const port = await freePort();
  base = `https://localhost:${port}`;
  service = await startTestService({
    environment: {
      ...withoutLimits,
      MTLS_BASE_URL: base,
      MTLS_PORT: String(port),
      TLS_CERT_FILE: join(folder.folder, 'server.pem'),
      TLS_KEY_FILE: join(folder.folder, 'server.key'),
      MTLS_CA_FILE: join(folder.folder, 'clients.pem'),
      // both ways at once
      TRUST_PROXY: '127.0.0.1,::1',
      CLIENT_CERT_HEADER: 'X-Forwarded-Client-Cert',
      CLIENT_CERT_FORMAT: 'xfcc',
    },
  });
  t1 = await service.createClient({
    ...flows,
    token_endpoint_auth_method: 'tls_client_auth',
    tls_client_auth_subject_dn: 'CN=app,O=Bank,C=DE',
  });
  t2 = await service.createClient({
    ...flows,
    token_endpoint_auth_method: 'self_signed_tls_client_auth',
    jwks: { keys: [{ ...self.jwk, x5c: [self.der.toString('base64')] }] },
    tls_client_certificate_bound_access_tokens: true,
  });
});
afterAll(async () => {
  await service?.stop();
  folder.remove();
});

const invalidClient = { status: 401, body: { error: 'invalid_client' } };
const token = (of: TestClient, certificate?: TestCertificate, sent: Sent = {}) =>
  send(`${base}/token`, {
    ca,
    ...(certificate && { certificate }),
    ...sent,
    form: { client_id: of.clientId, grant_type: 'client_credentials' },
  });

describe('at MTLS_PORT', () => {
  test('both methods succeed, and a token is bound to the certificate of the connection (RFC 8705 2.1, 2.2, 3)', async () => {
    expect((await token(t1, own)).status).toBe(200);
    const { status, body } = await token(t2, self);
    expect(status).toBe(200);
    const form = { client_id: t2.clientId, token: String(body['access_token']) };
    const shown = await send(`${base}/introspect`, { ca, certificate: self, form });
    expect(shown.body).toMatchObject({ active: true, cnf: { 'x5t#S256': self.x5t } });
  });

  test('Same name, other issuer: OpenSSL refuses another authority, a self-signed one, an expired one, a later one and one for servers (RFC 8705 2.1, 7.3, security R136, protocols P23)', async () => {
    const foreign = folder.newAuthority('/CN=Test authority');
    const refused = {
      'another authority': foreign.sign({ subject }),
      'self-signed': folder.selfSigned({ subject }),
      expired: authority.sign({ subject, from: -3, to: -1 }),
      'not yet valid': authority.sign({ subject, from: 1, to: 2 }),
      'without clientAuth': authority.sign({ subject, forClients: false }),
    };
    for (const [what, certificate] of Object.entries(refused))
      expect(await token(t1, certificate), what).toMatchObject(invalidClient);
    expect(await token(t1)).toMatchObject(invalidClient);
    // the dates count for a registered key, too
    const expired = authority.sign({ keyOf: self, from: -3, to: -1 });
    expect(await token(t2, expired)).toMatchObject(invalidClient);
  });

  test('a header of a client is dropped, also at the other port from a proxy to another host (security R136)', async () => {
    const forged = { 'x-forwarded-client-cert': `Cert="${escapedPem(self)}"` };
    expect(await token(t2, undefined, { headers: forged })).toMatchObject(invalidClient);
    expect((await token(t2, self, { headers: forged })).status).toBe(200);
    const form = { client_id: t2.clientId, grant_type: 'client_credentials' };
    expect(await send(`${service.issuer}/token`, { headers: forged, form })).toMatchObject(invalidClient);
  });

  test('Two certificates: of several elements of Envoy the last one counts (security R136, protocols P22)', async () => {
    const form = { client_id: t2.clientId, grant_type: 'client_credentials' };
    const [mine, other] = [`Cert="${escapedPem(self)}"`, `Cert="${escapedPem(own)}"`];
    const through = (header: string) =>
      send(`${service.issuer}/token`, {
        form,
        headers: { host: new URL(base).host, 'x-forwarded-client-cert': header },
      });
    expect((await through(`${other},${mine}`)).status).toBe(200);
    expect(await through(`${mine},${other}`)).toMatchObject(invalidClient);
    expect(await through(`${mine},By=spiffe://mesh/gateway`)).toMatchObject(invalidClient);
    // without CLIENT_CERT_VERIFY_HEADER nothing vouches for the chain
    const byName = { client_id: t1.clientId, grant_type: 'client_credentials' };
    const headers = { host: new URL(base).host, 'x-forwarded-client-cert': other, 'x-client-verify': 'SUCCESS' };
    expect(await send(`${service.issuer}/token`, { headers, form: byName })).toMatchObject(invalidClient);
  });

  test('there is no page and no cookie (RFC 8705 5, security R136, protocols P27)', async () => {
    for (const path of ['/', '/login', '/authorize', '/admin', '/account', '/register']) {
      const answer = await send(base + path, { ca, headers: { accept: 'text/html' } });
      expect([answer.status, answer.headers.get('set-cookie')], path).toEqual([404, null]);
      expect(answer.headers.get('content-type')).toMatch(/json/);
    }
  });

  test('TLS is 1.2 with the recommended ciphers or 1.3, which is preferred (RFC 9325 4.2, FAPI 2.0 SP 5.2.2)', async () => {
    const protocolOf = (options: ConnectionOptions) =>
      new Promise<string>((resolve) => {
        const { port } = new URL(base);
        const socket = connect({ host: 'localhost', port: Number(port), rejectUnauthorized: false, ...options }, () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`);
          socket.destroy();
        });
        socket.on('error', () => resolve('refused'));
      });
    expect(await protocolOf({})).toMatch(/^TLSv1\.3 /);
    expect(await protocolOf({ maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256$/);
    for (const refused of [
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const,
      { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' } as const,
      { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305' } as const,
    ])
      expect(await protocolOf(refused), JSON.stringify(refused)).toBe('refused');
  });
});

test('curl comes with its certificate (RFC 8705 2)', async () => {
  const curl = async ({ files }: TestCertificate, ...options: string[]) => {
    const tls = ['--cacert', ca, '--cert', files.certificate, '--key', files.key];
    const { stdout } = await promisify(execFile)('curl', ['-sS', '--max-time', '30', ...tls, ...options]);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  const form = ['-d', `client_id=${t1.clientId}`, '-d', 'grant_type=client_credentials'];
  expect(await curl(own, `${base}/token`, ...form)).toMatchObject({ access_token: expect.any(String) as string });
  expect(await curl(self, `${base}/token`, ...form)).toMatchObject({ error: 'invalid_client' });
});

test('openid-client uses the aliases of discovery with its certificate (RFC 8705 5)', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const withCertificate: client.CustomFetch = async (url, { method, headers, body }) => {
    if (url.startsWith(base)) resolve(url);
    else return fetch(url, { method, headers });
    const answer = await send(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ca,
      certificate: self,
      ...(body && { form: Object.fromEntries(new URLSearchParams(String(body))) }),
    });
    return new Response(answer.text, { status: answer.status, headers: answer.headers });
  };
  const metadata = { use_mtls_endpoint_aliases: true };
  const options = { execute: [client.allowInsecureRequests], [client.customFetch]: withCertificate };
  const issuer = new URL(service.issuer);
  const config = await client.discovery(issuer, t2.clientId, metadata, client.TlsClientAuth(), options);
  const tokens = await client.clientCredentialsGrant(config);
  expect(await promise).toBe(`${base}/token`);
  const shown = await client.tokenIntrospection(config, tokens.access_token);
  expect(shown.cnf).toEqual({ 'x5t#S256': self.x5t });
});

test('the files are read again on demand, and a file that cannot be read changes nothing (protocols 3)', async () => {
  const next = folder.newAuthority('/CN=Next authority');
  const renewed = next.sign({ subject });
  expect(await token(t1, renewed)).toMatchObject(invalidClient);
  const files = join(folder.folder, 'clients.pem');
  copyFileSync(next.file, files);
  expect(await token(t1, renewed)).toMatchObject(invalidClient);
  service.reloadCertificates();
  expect((await token(t1, renewed)).status).toBe(200);
  expect(await token(t1, own)).toMatchObject(invalidClient);
  writeFileSync(files, 'no certificate');
  service.reloadCertificates();
  expect((await token(t1, renewed)).status).toBe(200);
  expect((await call(`${service.issuer}/.well-known/openid-configuration`)).status).toBe(200);
});
