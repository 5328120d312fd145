// Sends SIGHUP to a running service whose operator has renewed the files of MTLS_PORT (RFC 8705 7).
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificates } from '../helpers/certificates.ts';
import { createCertificateFolder, send, type TestCertificate } from '../helpers/mtls.ts';
import { freePort, type ServerProcess, startServer, stopServers } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

const folder = createCertificateFolder();
const at = (name: string) => join(folder.folder, name);
const subject = '/CN=app';

let service: TestService;
let server: ServerProcess;
let client: TestClient;
let base: string;
beforeAll(async () => {
  makeCertificates(folder.folder);
  base = `https://localhost:${await freePort()}`;
  // it prepares database and client: only its settings know certificates
  service = await startTestService({
    environment: {
      MTLS_BASE_URL: base,
      TRUST_PROXY: '127.0.0.1',
      CLIENT_CERT_HEADER: 'Client-Cert',
      CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
    },
  });
  client = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'openid',
    token_endpoint_auth_method: 'tls_client_auth',
    tls_client_auth_subject_dn: 'CN=app',
  });
});
afterAll(async () => {
  await stopServers();
  await service?.stop();
  folder.remove();
});

/** The certificate that the port shows now. */
const shown = async (): Promise<string> => {
  const { port } = new URL(base);
  const socket = connect({ host: 'localhost', port: Number(port), rejectUnauthorized: false });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};
const token = (certificate: TestCertificate) =>
  send(`${base}/token`, {
    ca: at('ca.pem'),
    certificate,
    form: { client_id: client.clientId, grant_type: 'client_credentials' },
  });

test('SIGHUP lets a running service read its certificate and the authorities again, and a file with an error changes nothing (protocols 3)', async () => {
  const [first, next] = [folder.newAuthority('/CN=First'), folder.newAuthority('/CN=Next')];
  const [own, renewed] = [first.sign({ subject }), next.sign({ subject })];
  copyFileSync(first.file, at('clients.pem'));
  server = startServer({
    DATABASE_URL: service.database.url,
    SECRET_KEY: service.secretKey,
    BASE_URL: service.issuer,
    PORT: String(await freePort()),
    LOG_LEVEL: 'info',
    MTLS_BASE_URL: base,
    MTLS_PORT: new URL(base).port,
    TLS_CERT_FILE: at('server.pem'),
    TLS_KEY_FILE: at('server.key'),
    MTLS_CA_FILE: at('clients.pem'),
  });
  await server.ready();
  expect((await token(own)).status).toBe(200);
  expect((await token(renewed)).status).toBe(401);
  const before = await shown();

  makeCertificates(folder.folder);
  copyFileSync(next.file, at('clients.pem'));
  expect(await shown()).toBe(before);
  server.kill('SIGHUP');
  await expect.poll(shown).not.toBe(before);
  expect((await token(renewed)).status).toBe(200);
  expect((await token(own)).status).toBe(401);

  const after = await shown();
  const good = readFileSync(at('server.pem'));
  writeFileSync(at('server.pem'), 'no certificate');
  server.kill('SIGHUP');
  await expect.poll(() => server.stderr + server.stdout).toContain('could not be read again');
  expect(await shown()).toBe(after);
  expect((await token(renewed)).status).toBe(200);
  writeFileSync(at('server.pem'), good);
});
