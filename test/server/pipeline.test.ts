// Every request runs through one pipeline: a document is answered alike whatever a request carries, refusals come before routes, and answers are counted.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let below: TestService;
beforeAll(async () => {
  service = await startTestService();
  below = await startTestService({ basePath: '/idp' });
});
afterAll(async () => {
  await service?.stop();
  await below?.stop();
});

const host = 'Host: localhost\r\n';
const last = `${host}Connection: close\r\n`;

/** Sends bytes and reads until the service closes the connection; the Date header is removed. */
function send(to: TestService, bytes: string): Promise<string> {
  const { hostname, port } = new URL(to.issuer);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
    socket.on('close', () => resolve(answer.replaceAll(/\r\nDate: [^\r]*/g, '')));
    socket.on('error', reject);
    socket.write(bytes);
  });
}

const metadata = '/.well-known/oauth-authorization-server';
const addresses: [string, () => TestService][] = [
  ['/.well-known/openid-configuration', () => service],
  [metadata, () => service],
  ['/jwks', () => service],
  ['/idp/.well-known/openid-configuration', () => below],
  [`${metadata}/idp`, () => below],
  ['/idp/jwks', () => below],
];

test.each(addresses)(
  'the answer of %s is the same, byte for byte, whatever else a request carries (security R57, R97)',
  async (path, of) => {
    const plain = await send(of(), `GET ${path} HTTP/1.1\r\n${last}\r\n`);
    expect(plain).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    for (const header of ['Authorization: x\r\n', 'Origin: https://rp.example\r\n', 'Expect: 100-continue\r\n']) {
      const again = await send(of(), `GET ${path} HTTP/1.1\r\n${header}${last}\r\n`);
      expect(again.replace('HTTP/1.1 100 Continue\r\n\r\n', '')).toBe(plain);
    }
    const head = await send(of(), `HEAD ${path} HTTP/1.1\r\n${last}\r\n`);
    expect(head).toBe(plain.slice(0, plain.indexOf('\r\n\r\n') + 4));
    expect(await send(of(), `GET ${path} HTTP/1.0\r\n\r\n`)).toBe(plain);
    const queried = await send(of(), `GET ${path}?x=y HTTP/1.1\r\n${last}\r\n`);
    expect(queried).toBe(plain);
    // the connection stays open, and an unread body is not parsed as the next request
    const twice = await send(
      of(),
      `GET ${path} HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nxyzGET ${path} HTTP/1.1\r\n${host}\r\nGET ${path} HTTP/1.1\r\n${last}\r\n`,
    );
    const open = plain.replace('Connection: close', 'Connection: keep-alive\r\nKeep-Alive: timeout=72');
    expect(twice).toBe(open + open + plain);
  },
);

test('a request that every address refuses is refused at the documents, too (RFC 9112 3.2, security R37, R98)', async () => {
  for (const [headers, description] of [
    ['Connection: close\r\n', 'the header Host is missing'],
    [`${last}Host: other.example\r\n`, 'the header Host is repeated'],
    [`${last}Authorization: x\r\nAuthorization: y\r\n`, 'the header Authorization is repeated'],
    [`${last}Transfer-Encoding: identity\r\n`, 'the only supported Transfer-Encoding is chunked'],
  ] as const) {
    const answer = await send(service, `GET /jwks HTTP/1.1\r\n${headers}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain(description);
  }
  const other = await send(service, `POST /jwks HTTP/1.1\r\n${last}Content-Length: 0\r\n\r\n`);
  expect(other).toMatch(/^HTTP\/1\.1 405 .*\r\nallow: GET, HEAD\r\n/s);
});

test('each answer is counted under its route (decisions section 1)', async () => {
  const client = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'metrics',
  });
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  const granted = await fetch(`${service.issuer}/token`, {
    method: 'POST',
    headers: { authorization: client.basic },
    body: form,
  });
  const { access_token } = (await granted.json()) as { access_token: string };
  const series = 'gatehouse_http_request_duration_seconds_count{method="GET",route="/jwks",status="200"} ';
  const count = async () => {
    const answer = await fetch(`${service.issuer}/metrics`, { headers: { authorization: `Bearer ${access_token}` } });
    const lines = (await answer.text()).split('\n').filter((line) => line.startsWith(series));
    expect(lines).toHaveLength(1);
    return Number(lines[0]!.slice(series.length));
  };
  await fetch(`${service.issuer}/jwks`);
  const before = await count();
  await send(service, `GET /jwks HTTP/1.1\r\n${host}\r\nGET /jwks HTTP/1.1\r\n${last}Authorization: x\r\n\r\n`);
  await eventually(count, (counted) => counted === before + 2);
});

test.each([
  ['POST /token', 'application/x-www-form-urlencoded'],
  ['POST /revoke', 'application/x-www-form-urlencoded'],
  ['POST /register', 'application/json'],
  ['POST /admin/api/users', 'application/json'],
  ['DELETE /register/x', 'application/json'],
  ['DELETE /admin/api/users/x', 'application/json'],
  ['PUT /user/x/settings', 'application/json'],
  ['POST /token', 'text/plain'],
  ['GET /jwks', 'application/json'],
  ['GET /user/info', 'text/plain'],
  ['OPTIONS /token', 'application/json'],
  ['OPTIONS /nowhere', 'application/json'],
  ['POST /nowhere', 'application/json'],
  ['POST /jwks', 'text/plain'],
])(
  '%s with the type %s but without a body is answered like one with an empty body (RFC 9112 6.3)',
  async (line, type) => {
    const head = `${line} HTTP/1.1\r\n${last}Content-Type: ${type}\r\n`;
    const answer = await send(service, `${head}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 [234]\d\d /);
    expect(answer).toBe(await send(service, `${head}Content-Length: 0\r\n\r\n`));
  },
);
