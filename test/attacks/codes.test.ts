// Attacks authorization codes, PKCE and the token endpoint.
import { crc32 } from 'node:zlib';
import { decodeJwt } from 'jose';
import { beforeAll, expect, vi } from 'vitest';
import { type Answer, call, obtainCode, redeem, refresh, userinfo } from '../helpers/grants.ts';
import type { TestClient } from '../helpers/service.ts';
import { authorizationUrl, pkce, responseParameters, tokenRequest, UserAgent } from '../helpers/user-agent.ts';
import type { TestUser } from '../helpers/service.ts';
import {
  ask,
  createTestUser,
  form,
  introspect,
  isSignedIn,
  runCodeFlow,
  second,
  useService,
  wholeClient,
} from '../spec/kit.ts';
import { attack } from './attack.ts';

const service = useService({ LIMIT_CODES_PER_SESSION: '0' });
let client: TestClient;
let alice: TestUser;
/** Alice's browser: she is signed in and has allowed the client before. */
let agent: UserAgent;
beforeAll(async () => {
  client = await service().createClient(wholeClient);
  alice = await createTestUser(service());
  agent = new UserAgent(service());
  await agent.authorize(client, alice);
});

const issuer = () => service().issuer;
const refused = (error: string) => ({ status: 400, body: { error } });
const ok = { status: 200 };
const newCode = (parameters: Record<string, string> = {}, of: TestClient = client) =>
  obtainCode(service(), of, undefined, parameters, agent);
/** Corrects the checksum of a changed token, as an attacker can who knows the published format. */
function withChecksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return body + bytes.toString('base64url');
}

attack(
  {
    id: 'A30',
    name: 'Code used after a minute',
    request:
      'A code redeemed when it is 61 seconds old by the clock of the database, also by a service whose own clock is ten minutes behind',
    answer: 'invalid_grant; at 55 seconds it is redeemed, though the service’s own clock is ten minutes ahead',
    source: 'OWASP ASVS 5.0 10.4.3',
    requirements: ['R14'],
  },
  async () => {
    const aged = async (seconds: number) => {
      const code = await newCode();
      await service().database.sql(
        `UPDATE authorization_codes SET issued_at = issued_at - make_interval(secs => $1), expires_at = expires_at - make_interval(secs => $1)
          WHERE redeemed_at IS NULL`,
        [seconds],
      );
      return code;
    };
    const now = Date.now();
    const [late, lateToo, young] = [await aged(61), await aged(61), await aged(55)];
    expect(await redeem(issuer(), client, late)).toMatchObject(refused('invalid_grant'));
    try {
      vi.useFakeTimers({ toFake: ['Date'], now: now - 600_000 });
      expect(await redeem(issuer(), client, lateToo)).toMatchObject(refused('invalid_grant'));
      vi.setSystemTime(now + 600_000);
      expect(await redeem(second(service()), client, young)).toMatchObject(ok);
    } finally {
      vi.useRealTimers();
    }
  },
);

attack(
  {
    id: 'A31',
    name: 'redirect_uri at redemption',
    request:
      'A code redeemed without redirect_uri, with one that differs by case, a slash, a question mark, a port, an escape or a fragment, and with it twice',
    answer: 'invalid_grant, and invalid_request for the repeat; the code is not used up, but its fifth failure ends it',
    source: 'RFC 6749 4.1.3',
    requirements: ['R16', 'R23'],
  },
  async () => {
    const uri = client.redirectUri;
    const { origin, pathname } = new URL(uri);
    const wrong = [
      '',
      uri.replace('callback', 'Callback'),
      `${uri}/`,
      `${uri}?`,
      `${uri}#`,
      ` ${uri}`,
      `${uri}\n`,
      `${origin}:443${pathname}`,
    ];
    const more = [
      uri.toUpperCase(),
      uri.replace('callback', '%63allback'),
      uri.replace('https', 'http'),
      origin,
      `${origin}/./callback`,
    ];
    const codes = await Promise.all([0, 1, 2, 3].map(() => newCode()));
    const failures = new Map(codes.map((code) => [code, 0]));
    for (const [index, redirect_uri] of [...wrong, ...more].entries()) {
      const code = codes[index % 4]!;
      failures.set(code, failures.get(code)! + 1);
      expect(await redeem(issuer(), client, code, { redirect_uri }), redirect_uri).toMatchObject(
        refused('invalid_grant'),
      );
    }
    expect([...failures.values()].every((count) => count < 5)).toBe(true);
    const twice = new URLSearchParams([
      ['grant_type', 'authorization_code'],
      ['code', codes[0]!],
      ['redirect_uri', uri],
      ['redirect_uri', uri],
    ]).toString();
    expect(await form(`${issuer()}/token`, twice, { authorization: client.basic })).toMatchObject(
      refused('invalid_request'),
    );
    for (const code of codes) expect(await redeem(second(service()), client, code)).toMatchObject(ok);

    const burnt = await newCode();
    for (let failure = 0; failure < 5; failure++) await redeem(issuer(), client, burnt, { redirect_uri: origin });
    expect(await redeem(issuer(), client, burnt)).toMatchObject(refused('invalid_grant'));
  },
);

attack(
  {
    id: 'A33',
    name: 'PKCE downgrade',
    request:
      'code_challenge_method plain, S512, s256 or none, a method without a challenge, challenges of 42 and 44 characters; the challenge or half a verifier sent as verifier',
    answer:
      'invalid_request at the authorization endpoint, and invalid_grant for the verifier: nothing falls back to plain',
    source: 'pocket-id ce6bdb9, RFC 7636 4.3',
    requirements: ['R20', 'R21'],
  },
  async () => {
    const open = await service().createClient({ token_endpoint_auth_method: 'none' });
    const { code_verifier, code_challenge } = pkce();
    const methods = ['plain', 'PLAIN', 'S512', 's256', 'S256 plain', 'none', '', ' S256'].map(
      (code_challenge_method) => ({
        code_challenge,
        code_challenge_method,
      }),
    );
    const challenges = [
      code_challenge.slice(1),
      `${code_challenge}A`,
      `${code_challenge.slice(1)}=`,
      `${code_challenge.slice(1)}+`,
      `${code_challenge}\n`,
    ];
    const asked: Record<string, string>[] = [
      ...methods,
      ...challenges.map((odd) => ({ code_challenge: odd, code_challenge_method: 'S256' })),
      { code_challenge },
      { code_challenge_method: 'S256' },
    ];
    for (const of of [client, open]) {
      for (const parameters of asked) {
        const sent = responseParameters(await agent.get(authorizationUrl(issuer(), of, parameters)));
        expect([sent['error'], sent['code']], JSON.stringify(parameters)).toEqual(['invalid_request', undefined]);
      }
    }
    expect(responseParameters(await agent.get(authorizationUrl(issuer(), open)))['error']).toBe('invalid_request');
    const code = await newCode({ code_challenge, code_challenge_method: 'S256' });
    for (const verifier of [code_challenge, code_verifier.slice(1), ''])
      expect(await redeem(issuer(), client, code, { code_verifier: verifier })).toMatchObject(refused('invalid_grant'));
    const plain = await redeem(issuer(), client, code, {
      code_verifier: code_challenge,
      code_challenge_method: 'plain',
    });
    expect(plain).toMatchObject(refused('invalid_grant'));
    expect(await redeem(issuer(), client, code, { code_verifier })).toMatchObject(ok);
    const bare = await newCode();
    expect(await redeem(issuer(), client, bare, { code_verifier })).toMatchObject(refused('invalid_grant'));
  },
);

attack(
  {
    id: 'A35',
    name: 'Almost valid tokens',
    request:
      'Live tokens of each kind with their last character gone, one more, a letter in its other case with the checksum wrong and right, an equals sign, escaped blanks, a doubled Bearer',
    answer: 'Unknown everywhere: UserInfo, user data, introspection, refresh, redemption, revocation and registration',
    source: 'CVE-2026-27840',
    requirements: ['R27'],
  },
  async () => {
    const { tokens } = await runCodeFlow(service(), client, {}, { user: alice, agent });
    const code = await newCode();
    const nearly = (token: string) => [
      token.slice(0, -1),
      token.slice(1),
      `${token}A`,
      ...[0, 5, 20, 40, 50].map((index) => flipped(token, index)),
      withChecksum(flipped(token, 10).slice(0, -6)),
      `${token}=`,
      `${token}%20`,
      `%20${token}`,
      `Bearer ${token}`,
      `${token}.`,
    ];
    for (const wrong of nearly(tokens.access_token)) {
      expect((await userinfo(issuer(), wrong)).status, wrong).toBe(401);
      expect((await ask(issuer(), '/user/me/scope', `Bearer ${wrong}`)).status).toBe(401);
      expect((await introspect(issuer(), client, wrong)).body['active'] ?? false).toBe(false);
      expect((await form(`${issuer()}/revoke`, { token: wrong }, { authorization: client.basic })).status).toBe(200);
    }
    for (const wrong of nearly(tokens.client_session_handle))
      expect((await ask(issuer(), '/user/me/scope', `Bearer ${wrong}`)).status, wrong).toBe(401);
    for (const wrong of nearly(tokens.refresh_token))
      expect(await refresh(issuer(), client, wrong), wrong).toMatchObject(refused('invalid_grant'));
    for (const wrong of nearly(code))
      expect(await redeem(issuer(), client, wrong), wrong).toMatchObject(refused('invalid_grant'));
    for (const wrong of nearly(client.registrationAccessToken))
      expect((await call(`${issuer()}/register/${client.clientId}`, { token: wrong })).status, wrong).toBe(401);
    const [name, value] = [...agent.cookies].find(([cookie]) => cookie.startsWith('JSESSION'))!;
    for (const wrong of nearly(value)) {
      const anotherBrowser = new UserAgent(service());
      anotherBrowser.cookies.set(name, wrong);
      expect(await isSignedIn(anotherBrowser, issuer()), wrong).toBe(false);
    }

    // every valid token still works
    expect((await userinfo(issuer(), tokens.access_token)).status).toBe(200);
    expect((await ask(issuer(), '/user/me/scope', `Bearer ${tokens.client_session_handle}`)).status).toBe(200);
    expect(await refresh(issuer(), client, tokens.refresh_token)).toMatchObject(ok);
    expect(await redeem(issuer(), client, code)).toMatchObject(ok);
  },
);

attack(
  {
    id: 'A36',
    name: 'Recombined code',
    request:
      'Codes made of the parts of two codes, split at each character, with a corrected checksum, and codes with the prefix of another token type',
    answer:
      'invalid_grant: a code has no parts, and holds neither client, session, user nor time; both codes stay valid',
    source: 'CVE-2026-16089',
    requirements: ['R13'],
  },
  async () => {
    const other = await service().createClient();
    await agent.authorize(other, undefined);
    const [mine, theirs] = [await newCode(), await newCode({}, other)];
    const cuts = Array.from({ length: 42 }, (_, index) => 6 + index);
    // the last character holds only four bits, so in one case of sixteen both codes end in the same character
    const mixed = cuts
      .map((cut) => withChecksum(mine.slice(0, cut) + theirs.slice(cut, -6)))
      .filter((code) => code !== mine && code !== theirs);
    const prefixed = ['ghat_', 'ghrt_', 'ghch_', 'ghse_', 'ghra_'].flatMap((prefix) => [
      prefix + mine.slice(5),
      withChecksum(prefix + mine.slice(5, -6)),
    ]);
    for (const [index, forged] of [...mixed, ...prefixed].entries()) {
      const by = index % 2 === 0 ? client : other;
      expect(await redeem(issuer(), by, forged), forged).toMatchObject(refused('invalid_grant'));
    }
    const inside = Buffer.from(mine.slice(5, 48), 'base64url');
    expect(inside).toHaveLength(32);
    for (const known of [client.clientId, alice.sub, other.clientId]) {
      expect(mine).not.toContain(known.slice(0, 8));
      expect(inside.includes(known)).toBe(false);
    }
    // two codes of one session and one second share no longer run of characters than random codes
    const runs = Array.from({ length: 39 }, (_, index) => mine.slice(5 + index, 10 + index));
    const next = await newCode();
    expect(runs.filter((run) => next.slice(5, 48).includes(run))).toEqual([]);
    expect(await redeem(issuer(), client, mine)).toMatchObject(ok);
    expect(await redeem(issuer(), other, theirs)).toMatchObject(ok);
  },
);

attack(
  {
    id: 'A37',
    name: 'Scope grows later',
    request:
      'A scope beyond the grant, among them offline_access and admin, at redemption and at refresh, alone and together with the granted one; then the wide one again after a narrow one',
    answer: 'Ignored at redemption and invalid_scope at refresh: the tokens never hold more than was granted',
    source: 'CVE-2024-52287, PostHog#49163',
    requirements: ['R12'],
  },
  async () => {
    const granted = 'openid profile';
    const code = await newCode({ scope: granted });
    const wider = `${granted} email offline_access admin`;
    const first = await redeem(issuer(), client, code, { scope: wider });
    expect(first).toMatchObject({ status: 200, body: { scope: granted } });
    const scopeOf = async (answer: Answer) =>
      (await introspect(issuer(), client, answer.body['access_token'] as string)).body['scope'];
    expect(await scopeOf(first)).toBe(granted);
    const token = first.body['refresh_token'] as string;
    for (const scope of [
      wider,
      `${granted} offline_access`,
      `${granted} admin`,
      'email',
      'admin',
      'openid\u00a0email',
      '*',
      'openid OPENID',
    ])
      expect(await refresh(issuer(), client, token, { scope }), scope).toMatchObject(refused('invalid_scope'));
    const narrow = await refresh(issuer(), client, token, { scope: 'openid' });
    expect(await scopeOf(narrow)).toBe('openid');
    const next = narrow.body['refresh_token'] as string;
    expect(await refresh(issuer(), client, next, { scope: wider })).toMatchObject(refused('invalid_scope'));
    const back = await refresh(second(service()), client, next, { scope: granted });
    expect(await scopeOf(back)).toBe(granted);
    expect((await userinfo(issuer(), back.body['access_token'] as string)).body).not.toHaveProperty('email');
    expect(decodeJwt(back.body['id_token'] as string)['sub']).toBe(alice.sub);
  },
);

attack(
  {
    id: 'A38',
    name: 'Non-form bodies',
    request:
      'POST as JSON with an object for code, as text/plain, as multipart, with a tab in the content type, with two types, and with none, to the token, introspection, revocation and pushed request endpoints and to the forms',
    answer: '415 before any check: the service sends no query to the database',
    source: 'CVE-2025-32442, CVE-2026-25223',
    requirements: ['R106'],
  },
  async () => {
    const grant = new URLSearchParams({
      grant_type: 'authorization_code',
      code: await newCode(),
      redirect_uri: client.redirectUri,
    });
    const multipart = '--x\r\nContent-Disposition: form-data; name="grant_type"\r\n\r\nauthorization_code\r\n--x--\r\n';
    const bodies: [string | undefined, string][] = [
      ['application/json', JSON.stringify({ grant_type: 'authorization_code', code: { $ne: 1 } })],
      ['application/json', JSON.stringify(Object.fromEntries(grant))],
      ['text/plain', grant.toString()],
      ['multipart/form-data; boundary=x', multipart],
      ['application/x-www-form-urlencoded\ta', grant.toString()],
      ['application/x-www-form-urlencoded, application/json', grant.toString()],
      ['application/x-www-form-urlencoded/json', grant.toString()],
      ['x', grant.toString()],
      [undefined, grant.toString()],
      [undefined, ''],
    ];
    for (const base of service().instances) {
      for (const path of [
        '/token',
        '/introspect',
        '/revoke',
        '/par',
        '/login',
        '/consent',
        '/authorize',
        '/authenticate',
      ]) {
        for (const [type, body] of bodies) {
          const before = service().ofRequests.length;
          const headers = { authorization: client.basic, ...(type !== undefined && { 'content-type': type }) };
          const answer = await fetch(base + path, {
            method: 'POST',
            headers,
            body: Buffer.from(body),
            redirect: 'manual',
          });
          expect(answer.status, `${path} ${type}`).toBe(415);
          expect(service().ofRequests).toHaveLength(before);
        }
      }
    }
    const right = { authorization: client.basic, 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' };
    expect((await fetch(`${issuer()}/token`, { method: 'POST', headers: right, body: grant.toString() })).status).toBe(
      200,
    );
  },
);

attack(
  {
    id: 'A39',
    name: 'Secrets in the token URL',
    request:
      'POST /token with code and client_secret in the query and an empty or half body, and GET /token with all of it',
    answer: '400 or 401, and 405: the query is never read, the code stays valid, and no value reaches the log',
    source: 'RFC 6749 2.3.1 and 3.2',
    requirements: ['R99', 'R5'],
  },
  async () => {
    const post = await service().createClient({ token_endpoint_auth_method: 'client_secret_post' });
    await agent.authorize(post, undefined);
    const code = await newCode({}, post);
    const { clientId: client_id, clientSecret: client_secret, redirectUri: redirect_uri } = post;
    const everything = { grant_type: 'authorization_code', code, redirect_uri, client_id, client_secret };
    const url = `${issuer()}/token?${new URLSearchParams(everything).toString()}`;
    service().logs.length = 0;
    expect((await form(url, {})).status).toBe(400);
    expect(await form(url, { grant_type: 'authorization_code' })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    expect(await form(url, { grant_type: 'authorization_code', client_id, client_secret })).toMatchObject(
      refused('invalid_request'),
    );
    expect(await form(url, { ...everything, client_secret: '' })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    const got = await fetch(url);
    expect([got.status, got.headers.get('allow')?.includes('POST')]).toEqual([405, true]);
    const lines = JSON.stringify(service().logs);
    expect(service().logs.length).toBeGreaterThan(0);
    for (const secret of [code, client_secret, code.slice(5, 40), encodeURIComponent(client_secret)])
      expect(lines).not.toContain(secret);
    expect((await tokenRequest(issuer(), undefined, everything)).status).toBe(200);
  },
);

function flipped(text: string, from: number): string {
  const position = [...text].findIndex((letter, index) => index >= from && /[a-z]/i.test(letter));
  const letter = text[position]!;
  const other = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();
  return text.slice(0, position) + other + text.slice(position + 1);
}
