// Attacks /authenticate, the short form of the authorization request: clients that may not use it, loads that are not navigations, dropped bindings.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { pkce, responseParameters, UserAgent, withoutReference } from '../helpers/user-agent.ts';
import { type CodeFlow, runCodeFlow } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
let client: TestClient;
let mine: CodeFlow;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  client = await service.createClient({ uma_profile: true, scope: 'openid' });
  mine = await runCodeFlow(service, client, { scope: 'openid' });
});
afterAll(() => service?.stop());

const short = (parameters: Record<string, string>) => `/authenticate?${new URLSearchParams(parameters).toString()}`;
const of = ({ clientId, redirectUri }: TestClient) => ({ client_id: clientId, redirect_uri: redirectUri });
const navigation = { 'sec-fetch-site': 'none' };
/** Every row that a sign-in could leave behind. */
async function rows(): Promise<string> {
  const counted = [
    'authorization_requests',
    'authorization_codes',
    'client_sessions',
    'session_clients',
    'sessions',
    'grants',
  ].map((table) => `(SELECT count(*) FROM ${table})`);
  return JSON.stringify(await service.database.sql(`SELECT ARRAY[${counted.join(', ')}] AS counts`));
}

attack(
  {
    id: 'A106',
    name: 'Clients that may not use /authenticate',
    request:
      "/authenticate for a public, a disabled and an unknown client, with a redirect_uri that is missing, changed or another client's, signed in and signed out",
    answer: 'The sign-in page with the error and 400, no address outside the service, and no code',
    source: "the specification's short form",
    requirements: ['R1', 'R20'],
  },
  async () => {
    const open = await service.createClient({ token_endpoint_auth_method: 'none' });
    const disabled = await service.createClient({}, { status: 'disabled' });
    const other = await service.createClient({ redirect_uris: ['https://two.example.com/cb'] });
    const requests: Record<string, string>[] = [
      of(open),
      { ...of(open), ...pkce() },
      of(disabled),
      { ...of(client), client_id: 'nobody' },
      { client_id: client.clientId },
      { redirect_uri: client.redirectUri },
      {},
      ...[
        'https://evil.example/',
        `${client.redirectUri}/`,
        `${client.redirectUri}?x=1`,
        client.redirectUri.toUpperCase(),
        other.redirectUri,
        'javascript:alert(1)',
      ].map((redirect_uri) => ({ client_id: client.clientId, redirect_uri })),
    ];
    const before = await rows();
    for (const agent of [mine.agent, new UserAgent(service)]) {
      const pages = new Set<string>();
      for (const request of requests) {
        const what = JSON.stringify(request);
        const first = await agent.get(short({ ...request, state: 's' }), navigation);
        expect(first.location ?? service.issuer, what).toMatch(new RegExp(`^${service.issuer}(/login|$)`));
        const page = await agent.follow(first);
        expect([page.status, page.location], what).toEqual([400, undefined]);
        expect(page.body, what).not.toMatch(/evil|id="password"/);
        pages.add(`${first.location} ${withoutReference(page)}`);
      }
      // an unknown, a disabled and a public client and a wrong address get the same answer
      expect(pages.size).toBe(1);
    }
    expect(await rows()).toBe(before);
    expect((await mine.agent.get(short(of(client)), navigation)).location).toMatch(
      /^https:\/\/rp\.example\.com\/callback\?code=/,
    );
  },
);

attack(
  {
    id: 'A108',
    name: 'Sub-resource or HEAD',
    request:
      "/authenticate with a live session as an image, a frame, an object, a script's request, a prefetch, a prerender, and by HEAD, POST and OPTIONS",
    answer: '403, 405 or the sign-in page: no code, no redirect to the client, and no row is left behind',
    source: 'a measurement of this service',
    requirements: ['R8', 'R57'],
  },
  async () => {
    const address = short({ ...of(client), ...challenge() });
    const before = await rows();
    const destinations = ['image', 'iframe', 'frame', 'embed', 'object', 'empty', 'script', 'style', 'worker', 'video'];
    const loads: Record<string, string>[] = [
      ...destinations.map((destination) => ({ 'sec-fetch-dest': destination })),
      { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'cross-site' },
      { 'sec-purpose': 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
      { 'sec-purpose': 'prefetch;anonymous-client-ip' },
      { purpose: 'prefetch' },
      { 'x-moz': 'prefetch' },
    ];
    for (const headers of loads) {
      const page = await mine.agent.get(address, headers);
      expect([page.status, page.location], JSON.stringify(headers)).toEqual([403, undefined]);
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`);
    }
    for (const method of ['HEAD', 'OPTIONS', 'PUT']) {
      const page = await mine.agent.fetch(address, { method });
      expect([page.status, page.location], method).toEqual([405, undefined]);
    }
    const posted = await mine.agent.post(address, {});
    expect(posted.location).toBe(`${service.issuer}/login?problem=request`);
    expect(await rows()).toBe(before);
    expect((await mine.agent.get(address, navigation)).location).toContain('code=');
  },
);

const challenge = () => {
  const { code_challenge, code_challenge_method } = pkce();
  return { code_challenge, code_challenge_method };
};

attack(
  {
    id: 'A109',
    name: 'Binding sent, then dropped',
    request:
      '/authenticate with code_challenge and nonce; then the code is redeemed without a verifier, with a wrong one, and rightly; and a verifier for a code without a challenge',
    answer: 'invalid_grant except for the right verifier; its ID Token holds the nonce',
    source: 'RFC 9700 4.8.2',
    requirements: ['R22'],
  },
  async () => {
    const { code_verifier, ...binding } = pkce();
    const begun = await mine.agent.get(short({ ...of(client), ...binding, nonce: 'n-1', state: 's' }), navigation);
    const { code, state } = responseParameters(begun);
    expect(state).toBe('s');
    const invalid = { status: 400, body: { error: 'invalid_grant' } };
    const base = service.instances[1]!;
    expect(await redeem(base, client, code!)).toMatchObject(invalid);
    expect(await redeem(base, client, code!, { code_verifier: pkce().code_verifier })).toMatchObject(invalid);
    expect(await redeem(base, client, code!, { code_verifier: binding.code_challenge })).toMatchObject(invalid);
    const good = await redeem(base, client, code!, { code_verifier });
    expect(good.status).toBe(200);
    expect(decodeJwt(good.body['id_token'] as string)['nonce']).toBe('n-1');

    const bare = responseParameters(await mine.agent.get(short(of(client)), navigation));
    expect(await redeem(base, client, bare['code']!, { code_verifier })).toMatchObject(invalid);
    // an incomplete or invalid binding is refused, not ignored
    for (const incomplete of [
      { code_challenge_method: 'S256' },
      { ...binding, code_challenge_method: 'plain' },
      { ...binding, code_challenge: `${binding.code_challenge}=` },
      { code_challenge: binding.code_challenge },
    ] as Record<string, string>[]) {
      const page = await mine.agent.get(short({ ...of(client), ...incomplete }), navigation);
      expect(responseParameters(page), JSON.stringify(incomplete)).toMatchObject({ error: 'invalid_request' });
    }
    const strict = await service.createClient({ require_pkce: true, scope: 'openid' });
    await mine.agent.authorize(strict, undefined, challenge());
    expect(responseParameters(await mine.agent.get(short(of(strict)), navigation))).toMatchObject({
      error: 'invalid_request',
    });
  },
);
