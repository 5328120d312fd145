// Debian's nginx checks certificates of clients with the configuration of docs/mtls.md, and passes them on (RFC 8705, RFC 9440 4).
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { withoutLimits } from '../helpers/grants.ts';
import {
  clientCert,
  createCertificateFolder,
  escapedPem,
  send,
  type TestAuthority,
  type TestCertificate,
} from '../helpers/mtls.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

/** The Debian package nginx, or another build of it. */
const program = process.env['NGINX_PROGRAM'] ?? '/usr/sbin/nginx';

describe.runIf(existsSync(program))('behind nginx', () => {
  const folder = createCertificateFolder();
  let service: TestService;
  let nginx: ChildProcess;
  let base: string;
  let plain: string;
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
    own = authority.sign({ subject: '/O=Bank/CN=app' });
    self = folder.selfSigned();
    const [port, plainPort] = [await freePort(), await freePort()];
    base = `https://localhost:${port}`;
    plain = `https://localhost:${plainPort}`;
    service = await startTestService({
      environment: {
        ...withoutLimits,
        TRUST_PROXY: '127.0.0.1,::1',
        MTLS_BASE_URL: base,
        CLIENT_CERT_HEADER: 'Client-Cert',
        CLIENT_CERT_FORMAT: 'pem',
        CLIENT_CERT_VERIFY_HEADER: 'Client-Cert-Verify',
      },
    });
    const upstream = new URL(service.issuer).host;
    const page = readFileSync(join(import.meta.dirname, '../../docs/mtls.md'), 'utf8');
    const server = /^```nginx\n(.*?)^```$/ms.exec(page)![1]!;
    const removal = /`(proxy_set_header Client-Cert "";[^`]*)`/.exec(page)![1]!;
    const placed = (text: string, at: number) =>
      text
        .replace('listen 443', `listen ${at}`)
        .replace('mtls.id.example.com', 'localhost')
        .replace('http://10.0.0.9:3000', `http://${upstream}`)
        .replace('/etc/nginx/mtls.pem', join(folder.folder, 'server.pem'))
        .replace('/etc/nginx/mtls.key', join(folder.folder, 'server.key'))
        .replace('/etc/nginx/clients-ca.pem', authority.file);
    const ordinary = placed(server, plainPort)
      .replace(/^ *(ssl_client_certificate|ssl_verify_client).*\n/gm, '')
      .replace(/^ *proxy_set_header Client-Cert.*\n/gm, '')
      .replace('proxy_set_header Host', `${removal}\n proxy_set_header Host`);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder.folder, name)};`)
      .join(' ');
    mkdirSync(join(folder.folder, 'logs'));
    const file = join(folder.folder, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${join(folder.folder, 'nginx.pid')}; error_log stderr;
events {}
http { access_log off; ${temporary}
${placed(server, port)}
${ordinary}
}`,
    );
    nginx = spawn(program, ['-e', 'stderr', '-p', folder.folder, '-c', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await vi.waitUntil(() => send(`${base}/token`, { ca }).then(Boolean, () => false), { timeout: 10_000 });
    t1 = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: 'CN=app,O=Bank',
    });
    t2 = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'self_signed_tls_client_auth',
      jwks: { keys: [self.jwk] },
      tls_client_certificate_bound_access_tokens: true,
    });
  });
  afterAll(async () => {
    nginx?.kill();
    if (nginx && nginx.exitCode === null) await once(nginx, 'exit');
    await service?.stop();
    folder.remove();
  });

  const token = (of: TestClient, certificate?: TestCertificate, headers: Record<string, string> = {}, at = base) =>
    send(`${at}/token`, {
      ca,
      headers,
      ...(certificate && { certificate }),
      form: { client_id: of.clientId, grant_type: 'client_credentials' },
    });
  const invalidClient = { status: 401, body: { error: 'invalid_client' } };

  test('both methods succeed, and a token is bound to the certificate of the connection (RFC 8705 2.1, 2.2, 3)', async () => {
    expect((await token(t1, own)).status).toBe(200);
    const { status, body } = await token(t2, self);
    expect(status).toBe(200);
    const form = { client_id: t2.clientId, token: String(body['access_token']) };
    const shown = await send(`${base}/introspect`, { ca, certificate: self, form });
    expect(shown.body).toMatchObject({ active: true, cnf: { 'x5t#S256': self.x5t } });
  });

  test('the verdict of nginx counts: another authority, a self-signed certificate, an expired one and one for servers are refused (RFC 8705 7.3, protocols P23)', async () => {
    const subject = '/O=Bank/CN=app';
    const refused = [
      folder.newAuthority().sign({ subject }),
      folder.selfSigned({ subject }),
      authority.sign({ subject, from: -3, to: -1 }),
      authority.sign({ subject, forClients: false }),
    ];
    for (const certificate of refused) {
      const answer = await token(t1, certificate);
      // nginx itself refuses some of them
      expect([400, 401]).toContain(answer.status);
      expect(answer.body['access_token']).toBeUndefined();
    }
  });

  test('the headers of a client do not come through, at either address (RFC 9440 4, security R136)', async () => {
    for (const certificate of [escapedPem(self), clientCert(self)]) {
      const headers = { 'client-cert': certificate, 'client-cert-verify': 'SUCCESS' };
      expect(await token(t2, undefined, headers)).toMatchObject(invalidClient);
      expect(await token(t2, undefined, headers, plain)).toMatchObject(invalidClient);
      expect(await token(t1, own, headers)).toMatchObject({ status: 200 });
    }
    // the address without certificates does not serve as the one with them
    const host = { host: new URL(base).host, 'client-cert': escapedPem(self) };
    expect(await token(t2, undefined, host, plain)).toMatchObject(invalidClient);
  });
});
