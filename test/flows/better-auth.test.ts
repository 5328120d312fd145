// Signs a user in to an application of better-auth, with the settings of docs/relying-parties.md, refreshes the tokens, and signs out of both.
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { genericOAuth } from 'better-auth/plugins';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { serveApplication, type WebApplication } from '../helpers/web-application.ts';

let service: TestService;
let application: WebApplication;
let client: TestClient;
let handler: (request: Request) => Promise<Response>;
beforeAll(async () => {
  service = await startTestService();
  application = await serveApplication(() => (request) => handler(request));
  client = await service.createClient({
    redirect_uris: [`${application.url}/api/auth/callback/gatehouse`],
    post_logout_redirect_uris: [`${application.url}/signed-out`],
    require_pkce: true,
  });
  ({ handler } = betterAuth({
    baseURL: application.url,
    secret: 'a test has no secrets to keep ..',
    telemetry: { enabled: false },
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    plugins: [
      genericOAuth({
        config: [
          {
            providerId: 'gatehouse',
            discoveryUrl: `${service.issuer}/.well-known/openid-configuration`,
            clientId: client.clientId,
            clientSecret: client.clientSecret,
            scopes: ['openid', 'profile', 'email'],
            pkce: true,
            postLogoutRedirectURI: `${application.url}/signed-out`,
          },
        ],
      }),
    ],
  }));
});
afterAll(async () => {
  await application?.stop();
  await service?.stop();
});

test('better-auth signs a user in with PKCE, reads UserInfo, refreshes the tokens and signs out of both (OpenID Connect Core 3.1, 5.3 and 12, RP-Initiated Logout 2)', async () => {
  const user = await service.createUser({
    email: 'alice@example.com',
    emailVerified: true,
    claims: { name: 'Alice Adams' },
  });
  const agent = new UserAgent(service);
  const api = async (method: 'GET' | 'POST', path: string, body?: unknown) => {
    const answer = await agent.fetch(`${application.url}/api/auth${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headers: {
        origin: application.url,
        'content-type': 'application/json',
        'sec-fetch-mode': 'cors',
        'sec-fetch-dest': 'empty',
        'sec-fetch-site': 'same-origin',
      },
    });
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
    return JSON.parse(answer.body) as Record<string, string>;
  };
  const begin = async () => (await api('POST', '/sign-in/social', { provider: 'gatehouse', callbackURL: '/' }))['url']!;

  const url = await begin();
  expect(url).toContain('code_challenge_method=S256');
  const signedIn = await agent.signIn(user, await agent.follow(await agent.get(url)));
  const allowed = await agent.submit(signedIn, { decision: 'allow' });
  expect(allowed.location).toMatch(`${client.redirectUri}?`);
  expect((await agent.get(allowed.location!)).location).toBe(`${application.url}/`);
  expect(await api('GET', '/get-session')).toMatchObject({
    user: { name: 'Alice Adams', email: 'alice@example.com', emailVerified: true },
  });
  const [account] = (await api('GET', '/list-accounts')) as unknown as Record<string, unknown>[];
  expect(account).toMatchObject({ providerId: 'gatehouse', accountId: user.sub });

  const id = { accountId: account!['id'] };
  const before = await api('POST', '/get-access-token', id);
  const refreshed = await api('POST', '/refresh-token', id);
  expect(refreshed['accessToken']).toMatch(/^ghat_/);
  expect(refreshed['accessToken']).not.toBe(before['accessToken']);

  const { url: logout } = await api('POST', '/sign-out', {});
  expect(await api('GET', '/get-session')).toBeNull();
  const left = await agent.submit(await agent.get(logout!), { decision: 'sign-out' });
  expect(left.location).toBe(`${application.url}/signed-out`);
  expect((await agent.follow(await agent.get(await begin()))).body).toContain('id="password"');
});
