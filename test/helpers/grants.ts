// Carries an authorization to its code or its tokens, and sends requests and waits for results, for many tests.
import { patience } from './limits.ts';
import { startTestService, type TestClient, type TestService } from './service.ts';
import { responseParameters, tokenRequest, UserAgent } from './user-agent.ts';

export interface Tokens {
  access_token: string;
  refresh_token: string;
  id_token: string;
  scope: string;
  expires_in: number;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

type Credentials = { username: string; password: string };

/** Settings that switch the limits off, for tests that send more requests than any user would. */
export const withoutLimits = {
  LIMIT_SIGN_IN_PER_ACCOUNT: '0',
  LIMIT_SIGN_IN_PER_NETWORK: '0',
  LIMIT_SIGN_IN_FAILURES: '0',
  LIMIT_REGISTRATION_PER_NETWORK: '0',
  LIMIT_REGISTRATIONS_WAITING: '0',
  LIMIT_CLIENT_AUTH_FAILURES: '0',
  LIMIT_CODES_PER_SESSION: '0',
  LIMIT_CONNECTION_BEGINS: '0',
};

/** A code for the client, from a browser that signs in and consents where the service asks. */
export async function obtainCode(
  service: TestService,
  client: Pick<TestClient, 'clientId' | 'redirectUri'>,
  user: Credentials | undefined,
  parameters: Record<string, string> = {},
  agent = new UserAgent(service),
): Promise<string> {
  const response = responseParameters(await agent.authorize(client, user, parameters));
  if (response['code'] === undefined) throw new Error(`no code: ${JSON.stringify(response)}`);
  return response['code'];
}

export function redeem(
  base: string,
  client: Pick<TestClient, 'basic' | 'redirectUri'>,
  code: string,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const { redirectUri } = client;
  return tokenRequest(base, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    ...parameters,
  });
}

export function refresh(
  base: string,
  client: Pick<TestClient, 'basic'>,
  refreshToken: string,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  return tokenRequest(base, client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...parameters });
}

/** The tokens of a whole code flow. */
export async function obtainTokens(
  service: TestService,
  client: TestClient,
  user: Credentials | undefined,
  parameters: Record<string, string> = {},
  agent = new UserAgent(service),
): Promise<Tokens> {
  const code = await obtainCode(service, client, user, parameters, agent);
  const { status, body } = await redeem(service.issuer, client, code);
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  return body as unknown as Tokens;
}

/** Sends JSON (or nothing) and reads JSON (or nothing). */
export async function call(
  url: string,
  options: { method?: string; token?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: options.method ?? (options.body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  // an export is a file of another type
  const isFile = /jsonl|csv/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' || isFile ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

export function userinfo(base: string, accessToken: string): Promise<Answer> {
  return call(`${base}/user/info`, { token: accessToken });
}

/** An access token with the scope admin, for a client to which an administrator granted it. */
export async function adminToken(service: TestService): Promise<string> {
  const client = await service.createClient({
    redirect_uris: [],
    grant_types: ['client_credentials'],
    scope: 'admin',
  });
  const { body } = await tokenRequest(service.issuer, client, { grant_type: 'client_credentials' });
  return body['access_token'] as string;
}

/** A service without limits on requests, and a token for its admin routes. */
export async function startAdministered(): Promise<{ service: TestService; token: string }> {
  const service = await startTestService({ environment: withoutLimits });
  return { service, token: await adminToken(service) };
}

/** Approves the current version of the client by the admin route. */
export async function approveClient(base: string, token: string, clientId: string): Promise<Answer> {
  const path = `${base}/admin/api/clients/${clientId}`;
  const { version } = (await call(path, { token })).body;
  return call(`${path}/approve`, { method: 'POST', token, body: { version } });
}

/**
 * Repeats the request until the answer satisfies: a busy machine makes nothing wrong.
 * @returns the answer that satisfied
 */
export async function eventually<T>(ask: () => Promise<T>, satisfies: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + patience;
  for (;;) {
    const answer = await ask();
    if (satisfies(answer)) return answer;
    if (performance.now() > end) throw new Error(`still not the expected answer: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Of a request without a proof, for calls of repositories. */
export const unbound = { binding: 'none', proof: undefined, address: undefined } as const;
