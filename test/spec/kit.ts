// Holds what the tests of the specification share: a service with two instances, a user with every claim, and short calls.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll } from 'vitest';
import { type Answer, call, obtainCode, redeem, type Tokens, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { UserAgent } from '../helpers/user-agent.ts';

/** The result of one authorization code flow. */
export interface CodeFlow {
  agent: UserAgent;
  user: TestUser;
  client: TestClient;
  code: string;
  tokens: Tokens & { client_session_handle: string };
}

export const everyScope = 'openid profile email address phone scope';
export const signedOutUri = 'https://rp.example.com/signed-out';
export const wholeClient = {
  client_name: 'Harbour',
  scope: `${everyScope} offline_access`,
  uma_profile: true,
  post_logout_redirect_uris: [signedOutUri],
};

/** Starts the service of a test file before its first test; limits are off unless the environment sets them. */
export function useService(environment: Record<string, string> = {}): () => TestService {
  let service: TestService | undefined;
  beforeAll(async () => {
    service = await startTestService({ instances: 2, environment: { ...withoutLimits, ...environment } });
  });
  afterAll(() => service?.stop());
  return () => service!;
}

/** The address of the instance that issued no token: what holds there holds on every instance. */
export const second = (service: TestService): string => service.instances[1]!;

export const everyClaim = {
  name: 'Ada Lovelace',
  family_name: 'Lovelace',
  given_name: 'Ada',
  middle_name: 'King',
  nickname: 'ada',
  preferred_username: 'ada.l',
  profile: 'https://example.com/ada',
  picture: 'https://example.com/ada.png',
  website: 'https://ada.example.com/',
  gender: 'female',
  birthdate: '1815-12-10',
  zoneinfo: 'Europe/London',
  locale: 'en-GB',
  phone_number: '+44 20 7946 0000',
  address: { street_address: '1 Quay', locality: 'Bremen', postal_code: '28195', country: 'DE' },
};

/** Creates a user with every claim. */
export function createTestUser(service: TestService, claims: Record<string, unknown> = everyClaim): Promise<TestUser> {
  return service.createUser({ email: `${randomUUID()}@example.com`, groups: ['harbour', 'staff'], claims });
}

/** Signs a user in to the client, consents to everything, and redeems the code. */
export async function runCodeFlow(
  service: TestService,
  client: TestClient,
  parameters: Record<string, string> = {},
  { user: existing, agent = new UserAgent(service) }: { user?: TestUser; agent?: UserAgent } = {},
): Promise<CodeFlow> {
  const user = existing ?? (await createTestUser(service));
  const code = await obtainCode(service, client, user, { scope: everyScope, ...parameters }, agent);
  const { status, body } = await redeem(service.issuer, client, code);
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  return { agent, user, client, code, tokens: body as unknown as CodeFlow['tokens'] };
}

/** Sends a form and reads JSON. */
export async function form(
  url: string,
  fields: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  const text = await response.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, body };
}

export function introspect(
  base: string,
  caller: Pick<TestClient, 'basic'>,
  token: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  return form(`${base}/introspect`, { token, ...more }, { authorization: caller.basic });
}

/** Calls an operation of specification 4.7 in the variant that the Authorization header selects. */
export function ask(
  base: string,
  path: string,
  authorization: string,
  body?: unknown,
  method = 'PUT',
): Promise<Answer> {
  return call(base + path, { headers: { authorization }, ...(body !== undefined && { method, body }) });
}

/** Registers a client at the registration endpoint. */
export async function register(
  service: TestService,
  metadata: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Answer & { body: Record<string, string> }> {
  const body = { redirect_uris: ['https://rp.example.com/callback'], client_name: 'Harbour', ...metadata };
  return (await call(`${service.issuer}/register`, { method: 'POST', body, headers })) as Answer & {
    body: Record<string, string>;
  };
}

/** Reads (GET), updates (PUT) or deletes (DELETE) a registration by its registration access token. */
export function manage(client: Record<string, string>, method: string, body?: unknown): Promise<Answer> {
  return call(client['registration_client_uri']!, { method, body, token: client['registration_access_token']! });
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

/** The path and query of a signed end-session request (decisions section 6). */
export async function endSessionAddress(
  service: TestService,
  client: TestClient,
  claims: Record<string, unknown> = {},
  secret = client.sharedSecret,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const jwt = await new SignJWT({
    iss: client.clientId,
    aud: service.issuer,
    iat: now,
    exp: now + 60,
    jti: randomUUID(),
    redirect_uri: signedOutUri,
    ...claims,
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'end-session+jwt' })
    .sign(Buffer.from(secret));
  return `/end-session?request=${encodeURIComponent(jwt)}`;
}

/** Asks the given instance whether the browser's session is alive. */
export async function isSignedIn(agent: UserAgent, base: string): Promise<boolean> {
  return (await agent.get(`${base}/account`)).status === 200;
}

/** The parameters of a redirect, from its query and its fragment. */
export function front(location: string | undefined): Record<string, string> {
  const { searchParams, hash } = new URL(location!);
  return Object.fromEntries([...searchParams, ...new URLSearchParams(hash.slice(1))]);
}
