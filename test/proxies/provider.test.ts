// Runs the service behind real proxies by the files of deploy/: cookies, addresses and long headers in both directions, and certificates of clients.
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { clientCert, createCertificateFolder, escapedPem, type TestCertificate } from '../helpers/mtls.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields } from '../helpers/user-agent.ts';
import { fronts } from './fronts.ts';
import { runProxy, type RunningProxy } from './programs.ts';

const [host, mtlsHost] = ['id.example', 'mtls.id.example'];

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}
interface Question {
  at?: string;
  headers?: Record<string, string>;
  form?: Record<string, string>;
  certificate?: TestCertificate;
}

describe.each(fronts)('$name', (front) => {
  const { path, sources, settings, mtlsAddress = '127.0.0.1' } = front;
  const isMissing = path === undefined;
  const folder = createCertificateFolder();
  const authority = folder.newAuthority();
  const own = authority.sign({ subject: '/O=Bank/CN=app' });
  let port: number;
  let service: TestService;
  let proxy: RunningProxy | undefined;
  let user: TestUser;
  let client: TestClient;
  let machine: TestClient;
  beforeAll(async () => {
    if (isMissing) return;
    port = await freePort();
    service = await startTestService({
      environment: {
        ...withoutLimits,
        ...settings,
        BASE_URL: `https://${host}:${port}`,
        TRUST_PROXY: '127.0.0.1',
        MTLS_BASE_URL: `https://${mtlsHost}:${port}`,
        CLIENT_CERT_VERIFY_HEADER: 'Client-Cert-Verify',
      },
    });
    proxy = await runProxy(front, {
      host,
      others: [mtlsHost],
      port,
      sources,
      values: [
        ['GATEHOUSE_HOST', host],
        ['MTLS_HOST', mtlsHost],
        ['MTLS_ADDRESS', mtlsAddress],
        ['GATEHOUSE_UPSTREAM', new URL(service.instances[0]!).host.replace('localhost', '127.0.0.1')],
        ['CLIENT_AUTHORITIES', authority.file],
      ],
    });
    user = await service.createUser({ username: 'ada' });
    client = await service.createClient();
    machine = await service.createClient({
      redirect_uris: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: 'CN=app,O=Bank',
    });
  });
  afterAll(async () => {
    await proxy?.stop();
    await service?.stop();
    folder.remove();
  });

  /** Sends a request to the proxy, on a connection of its own. */
  function ask(address: string, { at = host, headers = {}, form, certificate }: Question = {}): Promise<Answer> {
    const body = form && new URLSearchParams(form).toString();
    const where = { host: at === host ? '127.0.0.1' : mtlsAddress, port, servername: at, rejectUnauthorized: false };
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...where,
          ...(certificate && { cert: certificate.certificate, key: certificate.key }),
          path: address,
          method: body === undefined ? 'GET' : 'POST',
          headers: {
            host: `${at}:${port}`,
            ...(body !== undefined && {
              'content-type': 'application/x-www-form-urlencoded',
              'content-length': String(body.length),
            }),
            ...headers,
          },
          setHost: false,
          agent: false,
        },
        (response) => {
          let text = '';
          response.on('data', (part: Buffer) => (text += part.toString())).on('error', reject);
          response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body: text }));
        },
      );
      sent.on('error', reject).end(body);
    });
  }
  const cookiesOf = ({ headers }: Answer) => (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0]!);
  /** What a browser sends when it opens a page, and when it submits a form. */
  const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

  test.skipIf(isMissing)(
    'a user signs in: cookies and redirects pass in both directions, and the audit trail has the address of the user (delivery 4, security R65)',
    async () => {
      const page = await ask('/login', { headers: navigation });
      expect([page.status, proxy!.output()]).toEqual([200, expect.anything()]);
      // once each: neither removed nor added by the proxy
      expect(page.headers).toMatchObject({
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
      const forged = {
        'x-forwarded-for': '203.0.113.9',
        'x-real-ip': '203.0.113.9',
        forwarded: 'for=203.0.113.9;host=other.example',
        'x-forwarded-host': 'other.example',
        'x-forwarded-proto': 'http',
      };
      const headers = {
        ...navigation,
        ...forged,
        cookie: cookiesOf(page).join('; '),
        origin: `https://${host}:${port}`,
        'sec-fetch-site': 'same-origin',
      };
      const form = { ...hiddenFields(page.body), username: user.username, password: user.password };
      const signedIn = await ask('/login', { headers, form });
      expect(signedIn.status).toBe(303);
      expect(signedIn.headers.location).not.toContain('other.example');
      const set = signedIn.headers['set-cookie']!;
      expect(set.length).toBeGreaterThan(1);
      expect(set.every((cookie) => cookie.includes('Secure'))).toBe(true);
      const account = await ask('/account', { headers: { ...navigation, cookie: cookiesOf(signedIn).join('; ') } });
      expect(account.status).toBe(200);
      const [event] = await service.database.sql<{ address: string }>(
        `SELECT address FROM audit_events WHERE sub = $1 AND type = 'user.signed_in'`,
        [user.sub],
      );
      expect(event).toEqual({ address: '127.0.0.1' });
    },
  );

  test.skipIf(isMissing)(
    'long addresses, headers and redirects pass in both directions, up to the limits of the service (delivery 4)',
    async () => {
      const state = 's'.repeat(7000);
      const query = new URLSearchParams({
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        response_type: 'code',
        scope: 'openid',
        prompt: 'none',
        state,
      });
      const answer = await ask(`/authorize?${query}`, { headers: navigation });
      expect(answer.headers.location?.slice(0, client.redirectUri.length)).toBe(client.redirectUri);
      expect(answer.headers.location).toContain(state);
      // cookies of other programs at this host: four of them, together shorter than what the service takes
      const cookie = Array.from({ length: 4 }, (_, index) => `other${index}=${'c'.repeat(3500)}`).join('; ');
      expect((await ask('/login', { headers: { ...navigation, cookie } })).status).toBe(200);
      const tooLong = await ask('/login', {
        headers: { ...navigation, cookie: `a=${'c'.repeat(15_000)}; b=${'c'.repeat(15_000)}` },
      });
      // nginx itself refuses it
      expect([400, 431]).toContain(tooLong.status);
      // an import of users is longer than the usual request: the service answers, and not the proxy
      const large = await ask('/admin/api/users', { form: { text: 'x'.repeat(2_000_000) } });
      expect(large).toMatchObject({
        status: 401,
        headers: { 'content-type': expect.stringMatching(/json/) as string },
      });
    },
  );

  test.skipIf(isMissing)('the whole path passes, encoded as it was, and the metrics do not (delivery 4)', async () => {
    const encoded = await ask('/admin/api/clients/https%3A%2F%2Feditor.example%2Fclient.json');
    expect(encoded).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Bearer/) as string },
    });
    expect((await ask('/.well-known/openid-configuration')).body).toContain(`"issuer":"https://${host}:${port}"`);
    const metrics = await Promise.all(['/metrics', '/metrics/'].map((address) => ask(address)));
    expect(metrics.map(({ status }) => status)).toEqual([404, 404]);
  });

  test.skipIf(isMissing)(
    'a certificate of a client counts at its own address, and no header of a client does (delivery 4, RFC 9440 4, security R136)',
    async () => {
      const form = { client_id: machine.clientId, grant_type: 'client_credentials' };
      const token = (question: Question) => ask('/token', { form, ...question });
      expect(await token({ at: mtlsHost, certificate: own })).toMatchObject({ status: 200 });
      expect((await token({ at: mtlsHost })).status).toBe(401);
      for (const content of [clientCert(own), escapedPem(own), own.der.toString('base64')])
        for (const at of [host, mtlsHost]) {
          const headers = {
            'client-cert': content,
            'x-forwarded-tls-client-cert': content,
            'client-cert-verify': 'SUCCESS',
          };
          expect((await token({ at, headers })).status, `${at} ${content.slice(0, 30)}`).toBe(401);
        }
      // the ordinary address does not serve as the one with certificates: most proxies refuse another host than that of the connection
      const headers = { host: `${mtlsHost}:${port}`, 'client-cert': clientCert(own), 'client-cert-verify': 'SUCCESS' };
      expect([401, 421]).toContain((await token({ headers })).status);
      // of another authority: the proxy refuses the connection, or the service the client
      const other = folder.newAuthority().sign({ subject: '/O=Bank/CN=app' });
      const refused = await token({ at: mtlsHost, certificate: other }).catch(() => ({ status: 401 }));
      expect([400, 401]).toContain(refused.status);
    },
  );
});
