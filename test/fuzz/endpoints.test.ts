// Sends every route whatever an attacker may write: no error of the server, no leak, and the service works as before afterwards. FUZZ_RUNS
// is the number of requests to each route, FUZZ_SEED another random sequence; a failure prints the seed and the smallest request that
// fails.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutLimits } from '../helpers/grants.ts';
import { routesOf } from '../helpers/route-map.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { markup } from './hostile.ts';
import { exchange, header, type RawAnswer } from './raw.ts';
import { sketches, written } from './request.ts';
import { routes } from './routes.ts';
import { foundWorld, renew, worksAsEver, type World } from './world.ts';

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 3);
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const renewalInterval = 100; // requests after which codes, sessions and forms are used up

let service: TestService;
let world: World;
let asked = 0;
/** How often each route gave which status, printed after a run with FUZZ_RUNS. */
const given: Record<string, Record<number, number>> = {};
beforeAll(async () => {
  service = await startTestService({
    environment: {
      ...withoutLimits,
      LIMIT_VERIFICATION_CODES: '0',
      LIMIT_USER_CODES: '0',
      DEVICE_GRANT: 'on',
      CLIENT_ID_METADATA: 'approval',
      LIMIT_PUSHED_REQUESTS: '50',
      // longer than any run
      ACCESS_TOKEN_LIFETIME: '86400',
      USERINFO_POST: 'true',
      SIGN_UP: 'on',
      EMAIL_SIGN_IN: 'on',
      REQUEST_OBJECT_UNSIGNED: 'true',
      TRUST_PROXY: '127.0.0.0/8,::1',
    },
  });
  world = await foundWorld(service);
});
afterAll(async () => {
  if (process.env['FUZZ_RUNS']) console.table(given);
  await service?.stop();
});

/** The statuses that may answer a malformed request at any route. */
const malformed = [400, 404, 405, 413, 414, 415, 417, 431];
const openToScripts = [
  '/.well-known/',
  '/jwks',
  '/token',
  '/revoke',
  '/par',
  '/device_authorization',
  '/user/info',
  '/register',
];
const leaks =
  /SQLSTATE|node_modules|\.ts:\d|\bat .+ \(|postgres|pg_|duplicate key|violates|constraint|ECONN|ENOENT|FST_ERR|TypeError|RangeError|SyntaxError|undefined|\[object/i;

/** The fault of an answer, as one sentence; undefined for none. */
function fault(route: string, statuses: readonly number[], bytes: string, answer: RawAnswer): string | undefined {
  const [method, path] = route.split(' ') as [string, string];
  const { status, body } = answer;
  // a body beyond the limit may still be arriving when the answer is sent and the connection ends
  if (status === 0 && bytes.length > 64 * 1024) return undefined;
  if (![...statuses, ...malformed].includes(status)) return `the status ${status} is not documented`;
  const of = (name: string) => header(answer, name);
  // anything after a download is at its end
  const length = of('content-length') ?? (of('transfer-encoding') === 'chunked' ? Infinity : 0);
  if (method !== 'HEAD' && Buffer.byteLength(body) > Number(length)) return 'something follows the answer';
  if (of('x-content-type-options') !== 'nosniff') return 'nosniff is missing';
  if (of('referrer-policy') !== 'no-referrer') return 'Referrer-Policy is missing';
  if (of('cross-origin-opener-policy') !== 'same-origin') return 'COOP is missing';
  const framed = path === '/check-session' && status === 200;
  if (!framed && of('x-frame-options') !== 'DENY') return 'X-Frame-Options is missing';
  const policy = of('content-security-policy') ?? '';
  if (!/^default-src 'none';.*base-uri 'none'/.test(policy)) return 'the policy is missing';
  if (!framed && !policy.includes(`frame-ancestors 'none'`)) return 'the policy lets it be framed';
  const crossOrigin = of('access-control-allow-origin');
  if (
    crossOrigin !== undefined &&
    (crossOrigin !== '*' || !openToScripts.some((open) => path.startsWith(open) || path === '*'))
  )
    return 'a foreign origin is let in';
  if (of('access-control-allow-credentials') !== undefined) return 'credentials of foreign origins are let in';
  if (path.startsWith('/admin/api/') && of('api-version') !== '1.0') return 'Api-Version is missing';
  const type = of('content-type') ?? '';
  if (status >= 400 && of('cache-control') !== 'no-store') return 'an error may be cached';
  if (type.startsWith('text/html')) {
    if (body.includes(markup)) return 'markup comes back as markup';
    if (!['GET', 'HEAD', 'POST'].includes(method)) return 'a page where none belongs';
  } else if (body !== '' && /^application\/json *(;|$)/.test(type)) {
    const value = JSON.parse(body) as Record<string, unknown>;
    if (status >= 400) {
      if (!/^[a-z_]+$/.test(String(value['error']))) return 'error is no code';
      if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(String(value['error_description'])))
        return 'error_description is not as RFC 6749 5.2 has it';
    }
  }
  // random tokens contain any three characters now and then
  const found = status >= 400 ? leaks.exec(body.replaceAll(/[\w-]{43,}/g, '')) : null;
  if (found) return `the answer reveals too much: ${found[0]}`;
  const location = of('location');
  if (location !== undefined && !/^\/(?!\/)/.test(location) && !location.startsWith(`${service.issuer}/`)) {
    const { origin, pathname } = new URL(location);
    if (!/^(https:\/\/rp\.example\.com\/(callback|signed-out))$/.test(origin + pathname))
      return `it leads to ${origin}`;
  }
  for (const [name, value] of answer.headers) {
    if (
      name === 'set-cookie' &&
      !/^(JSESSIONOPENID|GATEHOUSE_(BROWSER(_STATE)?|KNOWN_BROWSER|LANGUAGE|PENDING_REQUEST|CONSOLE(_REQUEST)?|TRY_IT)_[0-9a-f]{8})=[\w.-]*; /.test(
        value,
      )
    )
      return 'a foreign cookie is set';
  }
  return undefined;
}

/** The log lines that only a fault of the service writes. */
function complaints(): unknown[] {
  const found = service.logs.filter((line) => Number(line['level']) >= 50);
  // in a long run they would fill the memory
  service.logs.length = 0;
  service.statements.length = 0;
  service.ofRequests.length = 0;
  return found;
}

test('every route has generators, and every generator has a route (security R107)', () => {
  expect(Object.keys(routes).sort()).toEqual(routesOf(service.apps[0]!));
});

test.each(Object.entries(routes))(
  '%s answers every request with a documented status and all headers, reveals no internals, and logs no error (security R5, R53, R57, R97, R100, R107)',
  async (name, route) => {
    const [method, template] = name.split(' ') as [string, string];
    const { host } = new URL(service.issuer);
    if (route.form) await renew(world);
    await fc.assert(
      fc.asyncProperty(sketches(method, route), async (sketch) => {
        if (++asked % renewalInterval === 0) await renew(world);
        const bytes = written(method, template, sketch, world, host);
        const answer = await exchange(service.issuer, bytes);
        const counts = (given[name] ??= {});
        counts[answer.status] = (counts[answer.status] ?? 0) + 1;
        const problem = fault(name, route.statuses, bytes, answer);
        const lines = complaints();
        if (problem === undefined && lines.length === 0) return;
        throw new Error(
          `${problem ?? 'an error was logged'}\n${bytes.slice(0, 3000)}\n-> ${answer.status} ${answer.body.slice(0, 500)}\n${JSON.stringify(lines)}`,
        );
      }),
      // a route without parameters and without queries has little to go wrong
      { numRuns: route.statuses.length === 1 && !route.authorization ? Math.ceil(numRuns / 4) : numRuns, seed },
    );
  },
  30_000 + numRuns * 300,
);

test('after all of that the service works as before, and stores no more than its limits allow (security R105)', async () => {
  await worksAsEver(service);
  const [rows] = await service.database.sql<Record<string, number>>(
    `SELECT (SELECT coalesce(max(n), 0)::int FROM (SELECT count(*) AS n FROM authorization_requests WHERE browser_hash IS NOT NULL GROUP BY browser_hash) each) AS pending,
       (SELECT coalesce(max(n), 0)::int FROM (SELECT count(*) AS n FROM authorization_requests WHERE browser_hash IS NULL GROUP BY client_id) each) AS pushed,
       (SELECT count(*)::int FROM rate_limits WHERE expire IS NULL) AS endless`,
  );
  expect(rows!['pending']).toBeLessThanOrEqual(20);
  expect(rows!['pushed']).toBeLessThanOrEqual(50);
  expect(rows!['endless']).toBe(0);
});
