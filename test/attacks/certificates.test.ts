// Looks for certificates in what the service writes, and takes the database away while clients come with them (RFC 8705).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { clientCert, createCertificateFolder, send, type TestCertificate } from '../helpers/mtls.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

const folder = createCertificateFolder();
const host = 'mtls.example.test';
const environment = {
  ...withoutLimits,
  TRUST_PROXY: '127.0.0.1,::1',
  MTLS_BASE_URL: `https://${host}`,
  CLIENT_CERT_HEADER: 'Client-Cert',
  CLIENT_CERT_VERIFY_HEADER: 'X-Client-Verify',
};

let service: TestService;
let own: TestCertificate;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ environment });
  own = folder.newAuthority().sign({ subject: '/C=DE/O=Canary holder/CN=canary-name' });
  client = await newClient(service);
});
afterAll(async () => {
  await service?.stop();
  folder.remove();
});

const newClient = (of: TestService) =>
  of.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'openid',
    token_endpoint_auth_method: 'tls_client_auth',
    tls_client_auth_subject_dn: 'CN=canary-name,O=Canary holder,C=DE',
    tls_client_certificate_bound_access_tokens: true,
  });

/** A request as the proxy passes it on. */
function present(
  of: TestService,
  path: string,
  sent: { form?: Record<string, string>; token?: string; by?: TestCertificate; header?: string } = {},
) {
  const { by = own, header = clientCert(by), ...rest } = sent;
  const { port } = new URL(of.issuer);
  const headers = { host, 'client-cert': header, 'x-client-verify': 'SUCCESS' };
  return send(`http://127.0.0.1:${port}${path}`, { ...rest, headers });
}
const credentials = ({ clientId }: TestClient) => ({ client_id: clientId, grant_type: 'client_credentials' });

test('Canary values: no log line, metric or event has a certificate, its name or its serial number, after success and failure (security R99, protocols P95)', async () => {
  const { body } = await present(service, '/token', { form: credentials(client) });
  const token = String(body['access_token']);
  await present(service, '/introspect', { form: { client_id: client.clientId, token } });
  await present(service, '/user/info', { token });
  const other = folder.selfSigned({ subject: '/CN=canary-stranger' });
  expect((await present(service, '/token', { form: credentials(client), by: other })).status).toBe(401);
  await present(service, '/user/info', { token, by: other });
  await present(service, '/token', { form: credentials(client), header: `${clientCert(own)}x` });
  await send(`${service.issuer}/token`, { form: credentials(client), headers: { 'client-cert': clientCert(own) } });
  const events = await service.database.sql('SELECT * FROM audit_events');
  const admin = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'metrics',
  });
  const metering = await send(`${service.issuer}/token`, {
    form: { grant_type: 'client_credentials' },
    headers: { authorization: admin.basic },
  });
  const metrics = await send(`${service.issuer}/metrics`, { token: String(metering.body['access_token']) });
  expect(metrics.status).toBe(200);
  const written = JSON.stringify([service.logs, events, metrics.text]);
  expect(written).toContain(client.clientId);
  for (const each of [own, other])
    for (const secret of [
      each.der.toString('base64'),
      each.der.toString('base64').slice(40, 100),
      String(each.jwk['x']),
    ])
      expect(written).not.toContain(secret);
  for (const name of ['canary-name', 'canary-stranger', 'Canary holder', token]) expect(written).not.toContain(name);
});

test('Database away: the addresses for certificates answer 503 with Retry-After, with no token and no verdict (security R152, protocols P94)', async () => {
  const other = await startTestService({ environment });
  const { database } = other.database.connection;
  try {
    const of = await newClient(other);
    const { body } = await present(other, '/token', { form: credentials(of) });
    const token = String(body['access_token']);
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS false`);
    await service.database.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
    const by = { client_id: of.clientId };
    const answers = await Promise.all([
      present(other, '/token', { form: credentials(of) }),
      present(other, '/introspect', { form: { ...by, token } }),
      present(other, '/revoke', { form: { ...by, token } }),
      present(other, '/user/info', { token }),
    ]);
    expect(answers.map(({ status, headers }) => [status, headers.has('retry-after')])).toEqual(
      Array(4).fill([503, true]),
    );
    for (const answer of answers) expect(Object.keys(answer.body)).not.toContain('active');
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
    await expect.poll(async () => (await present(other, '/token', { form: credentials(of) })).status).toBe(200);
  } finally {
    await service.database.sql(`ALTER DATABASE ${database} WITH ALLOW_CONNECTIONS true`);
    await other.stop();
  }
});
