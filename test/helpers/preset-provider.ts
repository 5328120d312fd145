// Plays Google, Microsoft, GitHub, Apple, or a service with OAuth 2.0 only, by the shapes of their answers in test/fixtures/connections/.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { codeChallenge } from '../../src/oauth/pkce.ts';

export type Preset = 'google' | 'microsoft' | 'github' | 'apple' | 'service';
type Claims = Record<string, unknown>;

/** An answer of a provider, as the documentation of its fixture describes it. */
export const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/connections/${name}.json`, import.meta.url), 'utf8'));

/** The tenants of Microsoft that tests have. */
export const tenants = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;

interface Seen {
  path: string;
  query: Record<string, string>;
  form: Record<string, string>;
  authorization: string | undefined;
  cookie: string | undefined;
  accept: string;
}

/** The page that posts an answer by itself, or by its button (OAuth 2.0 Form Post Response Mode). */
function postingPage(action: string, form: Record<string, string>): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const fields = Object.entries(form).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`,
  );
  return `<!doctype html><title>Answer</title><link rel="icon" href="data:,"><body><form method="post" action="${escaped(action)}">${fields.join('')}
    <button>Continue</button></form><script>document.forms[0].submit()</script>`;
}

export type PresetProvider = Awaited<ReturnType<typeof startPresetProvider>>;

export async function startPresetProvider(preset: Preset) {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const key: Claims = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, { nonce: string; challenge: string; redirectUri: string; clientId: string }>();
  const seen: Seen[] = [];
  const state = {
    /** Members of the ID Token that replace those of the fixture; undefined leaves one out. */
    claims: {} as Claims,
    /** Members that the published key has more. */
    key: {} as Claims,
    /** Whole answers by their paths, each with its status; `raw` is JSON that no parser has read. */
    answers: {} as Record<string, { status?: number; body?: unknown; raw?: string }>,
    /** More fields of a posted answer. */
    posted: {} as Record<string, string>,
    /** Parameters in place of a code. */
    refusal: undefined as Record<string, string> | undefined,
    /** Checks what authenticates the client. */
    isClient: (() => true) as (form: Record<string, string>, authorization?: string) => Promise<boolean> | boolean,
  };
  const json = (response: ServerResponse, body: unknown, status = 200, raw = JSON.stringify(body)) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', location: '/trap' });
    response.end(raw);
  };
  /** Replaces the hosts of a fixture by this one. */
  const here = (value: unknown, tenant = ''): unknown =>
    JSON.parse(
      JSON.stringify(value)
        .replaceAll(/https:\/\/[^/"]+/g, origin)
        .replaceAll('{tenant}', tenant),
    );

  function discovery(path: string): unknown {
    if (preset !== 'microsoft') return here(fixture(`${preset}-openid-configuration`));
    const tenant = path.split('/')[1]!;
    const document = here(fixture('microsoft-openid-configuration'), tenant) as Claims;
    // the document that serves all tenants has a gap in its issuer
    return tenant === 'organizations' ? { ...document, issuer: `${origin}/{tenantid}/v2.0` } : document;
  }

  async function idToken(nonce: string, clientId: string): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const truth = here(fixture(`${preset}-id-token`)) as Claims;
    const times = { iat: now, exp: now + 300, ...(truth['nbf'] !== undefined && { nbf: now }) };
    const ids = { aud: clientId, nonce, ...(truth['azp'] !== undefined && { azp: clientId }) };
    const claims = Object.fromEntries(
      Object.entries({ ...truth, ...times, ...ids, ...state.claims }).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(claims as never).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(privateKey);
  }

  function authorize({ query, accept }: Seen, response: ServerResponse): void {
    const { redirect_uri: redirectUri = '', state: sent = '', nonce = '', client_id: clientId = '' } = query;
    const code = `code-${codes.size}-${Math.random().toString(36).slice(2)}`;
    codes.set(code, { nonce, challenge: query['code_challenge'] ?? '', redirectUri, clientId });
    const answer: Record<string, string> = { state: sent, ...(state.refusal ?? { code }) };
    if (query['response_mode'] === 'form_post') {
      const form = { ...answer, ...state.posted };
      if (!accept.includes('text/html')) return json(response, { action: redirectUri, form });
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      return void response.end(postingPage(redirectUri, form));
    }
    const target = new URL(redirectUri);
    for (const [name, value] of Object.entries(answer)) target.searchParams.set(name, value);
    response.writeHead(302, { location: target.href }).end();
  }

  async function token({ form, authorization }: Seen, response: ServerResponse): Promise<void> {
    const isGithub = preset === 'github';
    if (!(await state.isClient(form, authorization)))
      return isGithub
        ? json(response, { ...(fixture('github-token-error') as Claims), error: 'incorrect_client_credentials' })
        : json(response, { error: 'invalid_client' }, 401);
    const found = codes.get(form['code'] ?? '');
    codes.delete(form['code'] ?? '');
    const isRight =
      form['redirect_uri'] === found?.redirectUri && codeChallenge(form['code_verifier'] ?? '') === found?.challenge;
    if (!isRight)
      return isGithub ? json(response, fixture('github-token-error')) : json(response, { error: 'invalid_grant' }, 400);
    if (isGithub || preset === 'service') return json(response, fixture('github-token'));
    json(response, {
      access_token: 'canary-of-the-access-token-preset',
      token_type: 'Bearer',
      expires_in: 3600,
      id_token: await idToken(found!.nonce, found!.clientId),
    });
  }

  const defaults: Record<string, unknown> = {
    '/api/v3/user': fixture('github-user'),
    '/api/v3/user/emails': fixture('github-emails'),
    '/api/v3/user/teams': fixture('github-teams'),
    '/v1.0/me/transitiveMemberOf/microsoft.graph.group': fixture('microsoft-graph-groups'),
    '/me': { sub: 'service-1', email: 'somebody@third.example' },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://provider');
    const path = url.pathname;
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const { authorization, cookie, accept = '' } = request.headers;
    const entry: Seen = { path, form, query: Object.fromEntries(url.searchParams), authorization, cookie, accept };
    seen.push(entry);
    const written = state.answers[path];
    if (written) return json(response, written.body, written.status, written.raw);
    if (path.endsWith('/openid-configuration')) return json(response, discovery(path));
    if (/\/(certs|keys)$/.test(path)) return json(response, { keys: [{ ...key, ...state.key }] });
    if (/\/(auth|authorize)$/.test(path)) return authorize(entry, response);
    if (/\/(token|access_token)$/.test(path)) return token(entry, response);
    if (defaults[path] === undefined) return void response.writeHead(404).end();
    if (!authorization?.startsWith('Bearer canary-of-the-access-token'))
      return json(response, { message: 'Requires authentication' }, 401);
    json(response, defaults[path]);
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = `http://${host}`;
  return {
    origin,
    host,
    seen,
    state,
    /** Goes back to the fixtures. */
    reset() {
      Object.assign(state, { claims: {}, key: {}, answers: {}, posted: {}, refusal: undefined, isClient: () => true });
      seen.length = 0;
    },
    last: (end: string) => seen.findLast(({ path }) => path.endsWith(end)),
    count: (end: string) => seen.filter(({ path }) => path.endsWith(end)).length,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
