// Bytes that never become a request are refused in the same format and with the same headers as other requests, with one log line.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());
beforeEach(() => {
  service.logs.length = 0;
});

const host = 'Host: localhost';
const canary = 'canary-of-a-request';

/** Sends bytes and reads until the service closes the connection; the client's side stays open. */
function send(bytes: string, prepare: (socket: Socket) => void = () => undefined): Promise<string> {
  const { hostname, port } = new URL(service.issuer);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
    prepare(socket);
    socket.write(bytes);
  });
}

/** Parses the only answer in these bytes. */
function read(answer: string): { status: number; headers: Headers; body: unknown } {
  const [head, body] = answer.split('\r\n\r\n');
  const [line, ...lines] = head!.split('\r\n');
  const headers = new Headers(lines.map((one) => one.split(': ') as [string, string]));
  expect(headers.get('content-length')).toBe(String(body!.length));
  return { status: Number(/^HTTP\/1\.1 (\d{3}) \w/.exec(line!)?.[1]), headers, body: JSON.parse(body!) };
}

const invalid = (error_description: string) => ({ error: 'invalid_request', error_description });
const unreadable = invalid('the request could not be read: check its encoding');

test.each<[string, string, number, unknown]>([
  ['an unknown method', `BREW /${canary} HTTP/1.1\r\n${host}\r\n\r\n`, 400, unreadable],
  ['bytes that are not HTTP', `\x16\x03\x01${canary}\r\n\r\n`, 400, unreadable],
  ['a header without a name', `GET / HTTP/1.1\r\n${host}\r\n: ${canary}\r\n\r\n`, 400, unreadable],
  [
    'two body lengths',
    `POST /token HTTP/1.1\r\n${host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    400,
    unreadable,
  ],
  [
    'a header of 17 KiB',
    `GET / HTTP/1.1\r\n${host}\r\nCookie: ${canary}=${'x'.repeat(17 * 1024)}\r\n\r\n`,
    431,
    invalid('the headers are too large'),
  ],
  [
    'an endless chunk extension',
    `POST /token HTTP/1.1\r\n${host}\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(17 * 1024)}`,
    413,
    invalid('the request is too large'),
  ],
])(
  '%s is refused in the format of all errors, with the headers of all answers, without an echo and with one log line (decisions section 7, security R57)',
  async (_what, bytes, status, body) => {
    const answer = await send(bytes);
    const refused = read(answer);
    expect([refused.status, refused.body]).toEqual([status, body]);
    const plain = await fetch(`${service.issuer}/nowhere`);
    for (const name of ['content-type', 'cache-control', 'content-security-policy', 'x-frame-options'])
      expect(refused.headers.get(name), name).toBe(plain.headers.get(name));
    expect(refused.headers.get('connection')).toBe('close');
    expect(answer).not.toContain('canary');
    const lines = service.logs.filter((line) => line['status'] === status);
    expect(lines).toEqual([expect.objectContaining({ msg: 'request refused', code: 'invalid_request' })]);
    expect(JSON.stringify(lines)).not.toMatch(/canary|rawPacket|xxx/);
  },
);

test('an expectation other than 100-continue is refused in the same format (RFC 9110 10.1.1, security R57)', async () => {
  const refused = read(
    await send(`POST /token HTTP/1.1\r\n${host}\r\nExpect: ${canary}\r\nContent-Length: 1\r\n\r\nx`),
  );
  expect([refused.status, refused.body]).toEqual([417, invalid('of Expect only 100-continue is known')]);
  expect(refused.headers.get('x-frame-options')).toBe('DENY');
  expect(service.logs.filter((line) => line['status'] === 417)).toHaveLength(1);
  expect(JSON.stringify(service.logs)).not.toContain(canary);
  const bytes = `POST /revoke HTTP/1.1\r\n${host}\r\nExpect: 100-continue\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  expect(await send(bytes)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 415 /);
});

test.each(['identity', 'gzip', 'gzip, chunked', 'xchunked', 'chunked, identity', '${7*7}'])(
  'a request with the transfer coding %s is refused before anything is done, with one answer (RFC 9112 6.3, security R103)',
  async (coding) => {
    for (const path of ['/health/live', '/account', '/register/x'])
      for (const ending of ['', 'x', '0\r\n\r\n', 'GET /jwks HTTP/1.1\r\nHost: localhost\r\n\r\n']) {
        const answer = await send(
          `DELETE ${path} HTTP/1.1\r\n${host}\r\nTransfer-Encoding: ${coding}\r\nConnection: close\r\n\r\n${ending}`,
        );
        expect(answer.match(/HTTP\/1\.1 /g), answer).toHaveLength(1);
        expect(read(answer)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      }
  },
);

test.each([
  ['a malformed address', `GET /admin/api/users/%zz HTTP/1.1`, 400],
  ['a parameter of 1537 characters', `GET /admin/api/users/${'a'.repeat(1537)} HTTP/1.1`, 414],
  ['an expectation', `GET /admin/api/users HTTP/1.1\r\nExpect: magic`, 417],
  ['a broken header', `GET /admin/api/users HTTP/1.1\r\n: x`, 400],
  ['headers of 17 KiB', `GET /admin/api/users HTTP/1.1\r\nX: ${'x'.repeat(17 * 1024)}`, 431],
])('a refusal of %s at the admin routes names their version (decisions section 1)', async (_what, lines, status) => {
  const refused = read(await send(`${lines}\r\n${host}\r\nConnection: close\r\n\r\n`));
  expect(refused.status).toBe(status);
  expect(refused.headers.get('api-version')).toBe('1.0');
  expect(refused.headers.get('x-frame-options')).toBe('DENY');
  expect(refused.body).toEqual(invalid(expect.any(String) as string));
});

test('a browser that opens a malformed address gets a page that does not repeat it (decisions section 7)', async () => {
  const answer = await fetch(`${service.issuer}/user/%zz<i>/info`, { headers: { accept: 'text/html' } });
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await answer.text()).not.toMatch(/%zz|<i>/);
});

test('a request without a Host header is refused in the same format (RFC 9112 3.2)', async () => {
  const refused = read(await send('GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n'));
  expect([refused.status, refused.body]).toEqual([400, invalid('the header Host is missing')]);
  expect(refused.headers.get('x-frame-options')).toBe('DENY');
});

test.each([
  ['headers that never end', `GET / HTTP/1.1\r\n${host}\r\n`],
  [
    'a body that never ends',
    `POST /token HTTP/1.1\r\n${host}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nx`,
  ],
])('a request with %s gets 408 in the same format (decisions section 7, security R104)', async (_what, bytes) => {
  const { server } = service.apps[0]!;
  const times = [server.headersTimeout, server.requestTimeout] as const;
  [server.headersTimeout, server.requestTimeout] = [1, 1];
  try {
    const refused = read(await send(bytes));
    expect([refused.status, refused.body]).toEqual([408, invalid('the request took too long to arrive')]);
    expect(service.logs.filter((line) => line['status'] === 408)).toHaveLength(1);
  } finally {
    [server.headersTimeout, server.requestTimeout] = times;
  }
});

test('bytes after an answered request on its connection are refused after that answer (RFC 9112 9.3)', async () => {
  const answer = await send(`GET /health/live HTTP/1.1\r\n${host}\r\n\r\n`, (socket) => {
    socket.once('data', () => socket.write('garbage\r\n\r\n'));
  });
  const [first, second] = answer.split(/(?=HTTP\/1\.1 )/);
  expect(first).toMatch(/^HTTP\/1\.1 200 /);
  expect(read(second!)).toMatchObject({ status: 400, body: unreadable });
});
