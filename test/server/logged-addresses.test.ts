// No line of the log has the query of an address: not of a request that names a connection, and not in a message of the framework.
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { withoutQueries } from '../../src/server/logged-addresses.ts';
import { addConnection } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, UserAgent } from '../helpers/user-agent.ts';

const hint = 'private-person@corp.example';
let service: TestService;
let provider: Provider;
let client: TestClient;
beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({ environment: { ...withoutLimits, OUTBOUND_ALLOW: provider.host } });
  await addConnection(service, provider, 'corporate', { domains: ['corp.example'] });
  client = await service.createClient();
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
beforeEach(() => {
  service.logs.length = 0;
});

/** The lines that name the hint, or are warnings or errors. */
const noisy = () =>
  service.logs
    .filter((line) => Number(line['level']) >= 40 || /private-person/.test(JSON.stringify(line)))
    .map((line) => JSON.stringify(line));

test.each(['connection', 'domain_hint'])(
  'a request with %s leads to the connection, and its query is in no line of the log (security R99, reports B3)',
  async (name) => {
    const agent = new UserAgent(service);
    const value = name === 'connection' ? 'corporate' : 'corp.example';
    const page = await agent.get(authorizationUrl(service.issuer, client, { [name]: value, login_hint: hint }));
    expect(page.location).toContain(`${service.issuer}/connections/corporate?transaction=`);
    expect((await agent.get(page.location!)).location).toContain(provider.issuer);
    expect(noisy()).toEqual([]);
  },
);

test('a typed name of a domain leads to its connection without a line of the log that names it (security R99, reports B3)', async () => {
  const agent = new UserAgent(service);
  const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, { login_hint: hint })));
  const left = await agent.post('/login/user', { ...hiddenFields(page.body), username: hint });
  expect(left.body).toContain(provider.issuer);
  expect(noisy()).toEqual([]);
});

test.each([
  ['a path that cannot be decoded', `/%zz?login_hint=${hint}`],
  ['a path that is too long', `/user/${'a'.repeat(2000)}?login_hint=${hint}`],
  ['an absolute address that cannot be read', `http://[bad/?login_hint=${hint}`],
])('%s is refused, and its query is in no line of the log (security R99, reports B3)', async (_kind, target) => {
  const { port } = new URL(service.issuer);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    socket.on('error', reject).on('close', () => resolve(text));
    socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 4/);
  expect(service.logs.length).toBeGreaterThan(0);
  expect(noisy()).toEqual([]);
});

test.each([
  ['"/authorize?login_hint=a%40b&x=y" (GET)', '"/authorize?…" (GET)'],
  ["'/%zz?code=1' is not a valid url component", "'/%zz?…' is not a valid url component"],
  ['did you forget it? yes, "why?"', 'did you forget it? yes, "why?"'],
  ['https://a.example/?x=1 and https://a.example?y=2', 'https://a.example/?… and https://a.example?…'],
])('%s is logged as %s (security R99)', (text, logged) => {
  expect(withoutQueries(text)).toBe(logged);
});
