// Checks what an authorization returns, as in every module: the response's place and shape, tokens, ID Tokens, and UserInfo for each access
// token.
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { issuer } from './bed/bed.ts';
import { type HttpAnswer, mediaType } from './bed/network.ts';
import { checkClaims, checkSubject } from './checks/claims.ts';
import { checkEntropy } from './checks/entropy.ts';
import { checkErrorMembers } from './checks/errors.ts';
import { checkIdToken, type IdToken } from './checks/id-token.ts';
import { checkUserinfoJwt } from './checks/userinfo-jwt.ts';
import type { Client } from './client.ts';
import { json, type Outcome, type RelyingParty } from './relying-party.ts';

/** Everything that one authorization returned. */
export interface Grant {
  parameters: Record<string, string>;
  /** From the authorization endpoint and from the token endpoint. */
  idTokens: IdToken[];
  accessTokens: string[];
  /** One for each access token. */
  userinfos: Record<string, unknown>[];
  code: string | undefined;
  /** The token endpoint's answer, for flows with a code. */
  tokens: Record<string, unknown> | undefined;
  outcome: Outcome;
}

/** The parameters of the response, which are in their place and in no other. */
export function responseParameters(rp: RelyingParty, client: Client, outcome: Outcome): Record<string, string> {
  const { arrival, page } = outcome.navigation;
  if (!arrival)
    throw new Error(`no response but a page (${page?.status}) at ${page?.url}: ${page?.body.slice(0, 3000)}`);
  const { url } = arrival;
  const registered = new URL(client.redirectUri);
  expect(url.origin + url.pathname).toBe(registered.origin + registered.pathname);
  const inQuery = [...url.searchParams];
  // the query of the client's own address survives (RFC 6749 3.1.2)
  const own = inQuery.splice(0, [...registered.searchParams].length);
  expect(own).toEqual([...registered.searchParams]);
  const inFragment = [...new URLSearchParams(url.hash.slice(1))];
  const where = outcome.sent['response_mode'] === 'form_post' ? 'body' : responseModeOf(outcome.sent['response_type']);
  expect(arrival.method).toBe(where === 'body' ? 'POST' : 'GET');
  if (where === 'body') expect(arrival.contentType).toBe('application/x-www-form-urlencoded');
  if (where !== 'query') expect(inQuery, 'parameters in the query').toEqual([]);
  if (where !== 'fragment') expect(inFragment, 'parameters in the fragment').toEqual([]);
  const found =
    where === 'query' ? inQuery : where === 'fragment' ? inFragment : [...new URLSearchParams(arrival.body)];
  expect(new Set(found.map(([name]) => name)).size, 'no parameter stands twice').toBe(found.length);
  const parameters = Object.fromEntries(found);
  expect(parameters['iss'] ?? issuer).toBe(rp.discovery.issuer);
  return parameters;
}

/** An error response with one of the codes, and no other parameters. */
export function expectError(
  rp: RelyingParty,
  client: Client,
  outcome: Outcome,
  codes: string[],
  { state = true } = {},
): Record<string, string> {
  const parameters = responseParameters(rp, client, outcome);
  expect(codes, JSON.stringify(parameters)).toContain(parameters['error']);
  checkErrorMembers(parameters);
  if (state) expect(parameters['state']).toBe(outcome.sent['state']);
  const allowed = ['error', 'error_description', 'error_uri', 'state', 'session_state', 'iss'];
  expect(Object.keys(parameters).filter((name) => !allowed.includes(name))).toEqual([]);
  return parameters;
}

/** A request whose redirect URI cannot be trusted: a page of the service says what is wrong, and no form continues from it. */
export function expectErrorPage(outcome: Outcome): void {
  const { page, arrival } = outcome.navigation;
  expect(arrival?.url.href, 'where the browser was sent').toBeUndefined();
  expect(page!.status).toBeGreaterThanOrEqual(400);
  expect(page!.status).toBeLessThan(500);
  expect(mediaType(page!)).toBe('text/html');
  expect(page!.body).toMatch(/<h1>[^<]+<\/h1>/);
}

export interface Completion {
  /** The parameters sent to the token endpoint besides the code. */
  token?: Record<string, string>;
  /** The parameters that a request object held instead of the address, where one was sent. */
  inside?: { state?: string; nonce?: string };
  /** Whether UserInfo is called: not where the module does so itself. */
  userinfo?: boolean;
  assertion?: { audience?: string };
}

/** A successful response, its code redeemed, and every token checked. */
export async function complete(
  rp: RelyingParty,
  client: Client,
  outcome: Outcome,
  options: Completion = {},
): Promise<Grant> {
  const parameters = responseParameters(rp, client, outcome);
  expect(parameters['error'], parameters['error_description']).toBeUndefined();
  expect(parameters['state']).toBe(options.inside?.state ?? outcome.sent['state']);
  const asked = (outcome.sent['response_type'] ?? '').split(' ');
  const { code, id_token: frontIdToken, access_token: frontAccessToken } = parameters;
  expect({
    code: code !== undefined,
    token: frontAccessToken !== undefined,
    id_token: frontIdToken !== undefined,
  }).toEqual({ code: asked.includes('code'), token: asked.includes('token'), id_token: asked.includes('id_token') });
  if (code !== undefined) checkEntropy('code', code, { minimumBytes: 16 });
  const grant: Grant = { parameters, idTokens: [], accessTokens: [], userinfos: [], code, tokens: undefined, outcome };
  const expected = {
    issuer: rp.discovery.issuer,
    clientId: client.clientId,
    nonce: options.inside?.nonce ?? outcome.sent['nonce'],
    alg: (client.metadata['id_token_signed_response_alg'] as string | undefined) ?? 'RS256',
  };
  if (frontAccessToken !== undefined) {
    checkAccessToken({ ...parameters, expires_in: Number(parameters['expires_in']) });
    grant.accessTokens.push(frontAccessToken);
  }
  if (frontIdToken !== undefined)
    grant.idTokens.push(
      await checkIdToken(frontIdToken, rp.keys, { ...expected, code, accessToken: frontAccessToken, hashes: true }),
    );
  if (code !== undefined) {
    const answer = await rp.redeem(client, code, options.token, options.assertion);
    const tokens = checkTokenResponse(answer);
    grant.tokens = tokens;
    const accessToken = tokens['access_token'] as string;
    grant.accessTokens.push(accessToken);
    expect(tokens['id_token'], 'id_token of the token endpoint').toBeTypeOf('string');
    const idToken = tokens['id_token'] as string;
    grant.idTokens.push(await checkIdToken(idToken, rp.keys, { ...expected, code, accessToken, hashes: false }));
  }
  const subs = new Set(grant.idTokens.map(({ claims }) => claims.sub));
  expect(subs.size, 'one subject in all ID Tokens').toBeLessThanOrEqual(1);
  if (options.userinfo !== false)
    for (const token of grant.accessTokens)
      grant.userinfos.push(await checkUserinfo(rp, client, await rp.userinfo(token), grant.idTokens));
  return grant;
}

/** Registers, signs in and checks everything: the whole of many modules. */
export async function signIn(
  rp: RelyingParty,
  client: Client,
  changes: Record<string, string | undefined> = {},
  options: Completion = {},
): Promise<Grant> {
  return complete(rp, client, await rp.authorize(client, changes), options);
}

export function checkTokenResponse(answer: HttpAnswer): Record<string, unknown> {
  expect(answer.status, answer.body).toBe(200);
  const tokens = json(answer);
  checkAccessToken(tokens);
  expect(answer.headers.get('cache-control') ?? '', 'Cache-Control of the token response').toContain('no-store');
  return tokens;
}

function checkAccessToken(response: Record<string, unknown>): void {
  expect(response['access_token']).toEqual(expect.stringMatching(/^[\x20-\x7e]+$/));
  checkEntropy('access token', response['access_token'] as string);
  expect(String(response['token_type']).toLowerCase()).toBe('bearer');
  expect(response['expires_in']).toBeTypeOf('number');
  expect(response['expires_in'] as number).toBeGreaterThan(0);
  expect(response['expires_in'] as number).toBeLessThanOrEqual(31_536_000);
}

/** A UserInfo answer in the format that the client registered; the same user as in every ID Token. */
export async function checkUserinfo(
  rp: RelyingParty,
  client: Client,
  answer: HttpAnswer,
  idTokens: readonly IdToken[],
): Promise<Record<string, unknown>> {
  expect(answer.status, answer.body).toBe(200);
  const alg = client.metadata['userinfo_signed_response_alg'] as string | undefined;
  const claims = alg === undefined ? json(answer) : await checkUserinfoJwt(answer, rp.keys, client.clientId, alg);
  checkSubject(claims['sub']);
  for (const idToken of idTokens) expect(claims['sub']).toBe(idToken.claims.sub);
  checkClaims(claims);
  return claims;
}

export function pkce(verifier: string): Record<string, string> {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { code_challenge: challenge, code_challenge_method: 'S256' };
}

/** The response mode: query if only a code, or no known type, is requested. */
function responseModeOf(responseType: string | undefined): 'query' | 'fragment' {
  return responseType === undefined || responseType === 'code' ? 'query' : 'fragment';
}
