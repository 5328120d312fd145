// Signs a user in to an application of Auth.js, with the settings of docs/relying-parties.md, and out of both.
import { Auth } from '@auth/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';
import { serveApplication, type WebApplication } from '../helpers/web-application.ts';

let service: TestService;
let application: WebApplication;
let client: TestClient;
/** The ID Token of the last sign-in. */
let idToken: string | null | undefined;
beforeAll(async () => {
  service = await startTestService();
  application = await serveApplication(
    () => (request) =>
      Auth(request, {
        basePath: '/api/auth',
        trustHost: true,
        secret: 'a test has no secrets to keep ..',
        providers: [
          {
            id: 'gatehouse',
            name: 'Gatehouse',
            type: 'oidc',
            issuer: service.issuer,
            clientId: client.clientId,
            clientSecret: client.clientSecret,
          },
        ],
        callbacks: {
          jwt({ token, account, profile }) {
            if (account) idToken = account.id_token;
            return profile ? { ...token, subject: profile.sub } : token;
          },
          session: ({ session, token }) => ({ ...session, subject: token['subject'] }),
        },
      }) as Promise<Response>,
  );
  client = await service.createClient({
    redirect_uris: [`${application.url}/api/auth/callback/gatehouse`],
    post_logout_redirect_uris: [`${application.url}/signed-out`],
    id_token_claims: true,
    require_pkce: true,
  });
});
afterAll(async () => {
  await application?.stop();
  await service?.stop();
});

test('Auth.js signs a user in with PKCE, shows the claims of the ID Token, and signs out of both (OpenID Connect Core 3.1, RP-Initiated Logout 2)', async () => {
  const user = await service.createUser({
    email: 'alice@example.com',
    emailVerified: true,
    claims: { name: 'Alice Adams' },
  });
  const agent = new UserAgent(service);
  const address = (path: string) => `${application.url}/api/auth${path}`;
  const session = async () => JSON.parse((await agent.get(address('/session'))).body) as unknown;
  const post = async (path: string) => {
    const { csrfToken } = JSON.parse((await agent.get(address('/csrf'))).body) as { csrfToken: string };
    const form = { csrfToken, callbackUrl: application.url };
    return agent.post(address(path), form, { origin: application.url });
  };
  expect(await session()).toBeNull();

  const begun = await post('/signin/gatehouse');
  expect(begun.location).toContain('code_challenge_method=S256');
  const signedIn = await agent.signIn(user, await agent.follow(begun));
  const allowed = await agent.submit(signedIn, { decision: 'allow' });
  expect(allowed.location).toMatch(`${client.redirectUri}?`);
  expect((await agent.get(allowed.location!)).location).toBe(`${application.url}/`);
  expect(await session()).toMatchObject({
    subject: user.sub,
    user: { name: 'Alice Adams', email: 'alice@example.com' },
  });

  await post('/signout');
  expect(await session()).toBeNull();
  const parameters = { id_token_hint: idToken!, post_logout_redirect_uri: `${application.url}/signed-out` };
  const question = await agent.get(`/logout?${new URLSearchParams(parameters).toString()}`);
  const left = await agent.submit(question, { decision: 'sign-out' });
  expect(left.location).toBe(`${application.url}/signed-out`);
  expect((await agent.follow(await post('/signin/gatehouse'))).body).toContain('id="password"');
});
