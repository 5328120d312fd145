// Runs the flows of users and their clients under load: signing in, the code flow with a remembered session.
import { randomUUID } from 'node:crypto';
import { pkce, UserAgent } from '../test/helpers/user-agent.ts';
import type { Ask } from './load.ts';
import type { Answer, Request } from './wire.ts';
import type { MakeProof } from './proofs.ts';

export const redirectUri = 'https://rp.example.com/callback';
export const formType = 'application/x-www-form-urlencoded';

export interface Person {
  username: string;
  password: string;
}

export interface Tokens {
  access_token: string;
  refresh_token?: string;
  id_token?: string;
}

/**
 * One flow with a remembered session: authorization, redemption with an ID Token, UserInfo.
 * @param scope values that the client registered, with openid
 * @param proofs binds the tokens to their key
 * @throws SessionOver when the user has to sign in again; Error when a step gets an unexpected answer
 */
export function codeFlowOf(
  web: Record<string, string>,
  scope = 'openid profile email',
  paths = ownPaths,
  proofs?: MakeProof,
) {
  const authorization = basicOf(web);
  return async (ask: Ask, agent: { cookies: Map<string, string> }): Promise<Tokens> => {
    const { code_verifier, ...challenge } = pkce();
    const parameters = authorizationParameters(web, scope, challenge);
    const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
    const authorized = await ask({ method: 'GET', path: `${paths.authorization}?${parameters}`, headers });
    // to the sign-in page, and not to the client
    if (authorized.status === 303 && !authorized.location?.startsWith(redirectUri))
      throw new SessionOver('the session is over: sign in again');
    return redeem(ask, authorization, authorized, code_verifier, paths, proofs);
  };
}

export function authorizationParameters(
  client: Record<string, string>,
  scope: string,
  more: Record<string, string>,
): URLSearchParams {
  return new URLSearchParams({
    response_type: 'code',
    scope,
    client_id: client['client_id']!,
    redirect_uri: redirectUri,
    state: 's',
    nonce: 'n',
    ...more,
  });
}

/** The addresses of the flow on a server. */
export const ownPaths = { authorization: '/authorize', userinfo: '/user/info' };

/** The steps after the answer with the code: its redemption with an ID Token, and UserInfo. */
export async function redeem(
  ask: Ask,
  authorization: string,
  { status, location }: Answer,
  code_verifier: string,
  paths: typeof ownPaths,
  proofs?: MakeProof,
): Promise<Tokens> {
  const code = location?.startsWith(redirectUri) ? new URL(location).searchParams.get('code') : null;
  if (code === null) throw new Error(`no code: ${status} ${location}`);
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier };
  const tokens = await tokenRequest(ask, authorization, form, proofs);
  if (tokens.id_token === undefined) throw new Error('no ID Token');
  expectStatus(await ask(userinfoRequest(paths.userinfo, tokens.access_token, proofs)), 200);
  return tokens;
}

/** A request for UserInfo with a bearer token, or with one that the proofs' key is bound to (RFC 9449 7.1). */
export function userinfoRequest(path: string, token: string, proofs?: MakeProof): Request {
  const authorization = `${proofs ? 'DPoP' : 'Bearer'} ${token}`;
  return { method: 'GET', path, headers: { authorization, ...(proofs && { dpop: proofs('GET', path, token) }) } };
}

export class SessionOver extends Error {}

/** Sends a request to the token endpoint. @throws SessionOver when the grant has ended meanwhile; Error for any other refusal */
export async function tokenRequest(
  ask: Ask,
  authorization: string,
  form: Record<string, string>,
  proofs?: MakeProof,
): Promise<Tokens> {
  const answer = await ask({
    method: 'POST',
    path: '/token',
    headers: { authorization, 'content-type': formType, ...(proofs && { dpop: proofs('POST', '/token') }) },
    body: new URLSearchParams(form).toString(),
  });
  if (answer.status === 400 && answer.body.includes('"invalid_grant"'))
    throw new SessionOver('the session ended between two steps: sign in again');
  return JSON.parse(expectStatus(answer, 200).body) as Tokens;
}

/**
 * Creates users by the admin routes, a few at a time, since their passwords are hashed.
 * @param basic the credentials of a client that may have the scope admin
 */
export async function makeUsers(base: string, basic: string, count: number, name = 'user'): Promise<Person[]> {
  const issued = await fetch(`${base}/token`, {
    method: 'POST',
    headers: { authorization: basic },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token } = (await issued.json()) as Tokens;
  const users = Array.from({ length: count }, (_, index) => ({
    username: `${name}-${index}`,
    password: randomUUID(),
  }));
  for (let done = 0; done < count; done += 16) {
    const some = users.slice(done, done + 16).map(async (user) => {
      const made = await fetch(`${base}/admin/api/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...user, email: `${user.username}@example.com`, claims: { name: 'Alice Adams' } }),
      });
      if (made.status !== 201) throw new Error(`no user: ${await made.text()}`);
    });
    await Promise.all(some);
  }
  return users;
}

/** A browser with a live session for each. */
export function signInAll(base: string, people: Person[]): Promise<UserAgent[]> {
  return Promise.all(people.map((person) => signIn(base, person)));
}

export async function signIn(base: string, person: Person): Promise<UserAgent> {
  const agent = new UserAgent({ issuer: base });
  await agent.signIn(person);
  return agent;
}

export function basicOf(client: Record<string, string>): string {
  return `Basic ${Buffer.from(`${client['client_id']}:${client['client_secret']}`).toString('base64')}`;
}

export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status) throw new Error(`answered with ${answer.status}: ${answer.body.slice(0, 300)}`);
  return answer;
}
