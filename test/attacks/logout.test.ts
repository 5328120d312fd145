// Attacks client-initiated logout: drive-by sign-outs, forged hints, addresses of other clients, and what must be dead afterwards.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, expect } from 'vitest';
import { newOpaqueToken } from '../../src/tokens/opaque-token.ts';
import { obtainCode, obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { LogoutReceiver } from '../helpers/logout-receiver.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import {
  ask,
  type CodeFlow,
  createTestUser,
  endSessionAddress,
  introspect,
  isSignedIn,
  runCodeFlow,
  second,
  signedOutUri,
  wholeClient,
} from '../spec/kit.ts';
import { atOnce, type Finish } from './at-once.ts';
import { attack } from './attack.ts';
import { signInOf } from '../helpers/sign-in.ts';

let service: TestService;
let client: TestClient;
let alice: TestUser;
let mine: CodeFlow;
const receiver = new LogoutReceiver();
beforeAll(async () => {
  await receiver.start();
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, OUTBOUND_ALLOW: receiver.host } });
  client = await service.createClient(wholeClient);
  alice = await createTestUser(service);
  mine = await runCodeFlow(service, client, { scope: 'openid' }, { user: alice });
});
afterAll(async () => {
  await service?.stop();
  await receiver.stop();
});

const query = (parameters: Record<string, string>) => `/logout?${new URLSearchParams(parameters).toString()}`;
const back = () => ({ client_id: client.clientId, post_logout_redirect_uri: signedOutUri });
/** Expects at most a page of the service, and that the session is still valid. */
async function expectHarmless(page: Page, what: string): Promise<void> {
  expect(page.location ?? service.issuer, what).toMatch(new RegExp(`^${service.issuer}`));
  expect(page.body, what).not.toContain('http-equiv');
  expect(await isSignedIn(mine.agent, second(service)), what).toBe(true);
}

attack(
  {
    id: 'A81',
    name: 'Drive-by logout',
    request:
      "The logout address as an image, a frame, a script's request and a prefetch, as a link with a registered address to return to, and as a form of another site with and without the session's cookie",
    answer: 'A confirmation page at most: the session lives, and no redirect leaves the service',
    source: 'OpenID Connect RP-Initiated Logout 2 and 6',
    requirements: ['R66', 'R8'],
  },
  async () => {
    const { agent } = mine;
    const link = query({ ...back(), id_token_hint: mine.tokens.id_token });
    const loads: Record<string, string>[] = [
      { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'cross-site' },
      { 'sec-purpose': 'prefetch;prerender' },
      { purpose: 'prefetch' },
    ];
    for (const headers of loads) {
      const page = await agent.get(link, headers);
      expect(page.status).toBe(403);
      await expectHarmless(page, JSON.stringify(headers));
    }
    const head = await agent.fetch(link, { method: 'HEAD' });
    expect(head.status).toBe(405);
    await expectHarmless(head, 'HEAD');
    const visited = await agent.get(link, { 'sec-fetch-site': 'cross-site' });
    expect(visited.status).toBe(200);
    expect(visited.body).toContain('value="sign-out"');
    await expectHarmless(visited, 'a link');

    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    const token = hiddenFields(visited.body)['csrf']!;
    const stolen = hiddenFields((await (await anotherBrowser()).get('/logout')).body)['csrf']!;
    const forms: Record<string, string>[] = [
      back(),
      { ...back(), decision: 'sign-out' },
      { ...back(), decision: 'sign-out', csrf: 'x' },
      { ...back(), decision: 'sign-out', csrf: stolen },
      // even with the right token, the form comes from another site
      { ...back(), decision: 'sign-out', csrf: token },
    ];
    for (const form of forms) {
      await expectHarmless(await agent.post('/logout', form, foreign), JSON.stringify(form));
      // as browsers send it: without the cookies of SameSite=Lax
      await expectHarmless(await new UserAgent(service).post('/logout', form, foreign), JSON.stringify(form));
    }
    await expectHarmless(await agent.post('/logout', forms[3]!), 'a token of another browser');
  },
);

async function anotherBrowser(): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(await service.createUser());
  return agent;
}

attack(
  {
    id: 'A82',
    name: 'Bad hints',
    request:
      "id_token_hint unsigned, with a flipped signature, of another issuer or key, signed with the client's secret, of another user, or another JWT of ours: access token, logout token, signed UserInfo, end-session request; and one that is only expired",
    answer:
      'Only the expired one is accepted; the others get a page of the service and no redirect, and the session lives',
    source: 'OpenID conformance suite (BadIdTokenHint, ModifiedIdTokenHint), thunderid#4990',
    requirements: ['R66', 'R67'],
  },
  async () => {
    // it expires meanwhile
    const short = await service.createClient(wholeClient);
    await service.database.sql('UPDATE clients SET id_token_lifetime = 1 WHERE client_id = $1', [short.clientId]);
    const expired = await runCodeFlow(service, short, { scope: 'openid' });
    const { agent, tokens } = mine;
    const claims = decodeJwt(tokens.id_token);
    const [header, payload, signature] = tokens.id_token.split('.') as [string, string, string];
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const flipped = signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    const changed = Buffer.from(JSON.stringify({ ...claims, aud: 'another-client' })).toString('base64url');
    // tokens that the service signs for this client, but that are not ID Tokens
    const logged = await service.createClient({ backchannel_logout_uri: receiver.uri('/logout') });
    const visitor = await runCodeFlow(service, logged, { scope: 'openid' });
    await visitor.agent.submit(await visitor.agent.get('/logout'), { decision: 'sign-out' });
    await expect.poll(() => receiver.received.length).toBe(1);
    const signing = await service.createClient({ userinfo_signed_response_alg: 'RS256' });
    const { access_token } = await obtainTokens(service, signing, alice);
    const userinfo = await fetch(`${service.issuer}/user/info`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    const ending = new URLSearchParams((await endSessionAddress(service, client)).split('?')[1]).get('request')!;
    const hints: Record<string, string> = {
      unsigned: new UnsecuredJWT(claims).encode(),
      'a flipped signature': `${header}.${payload}.${flipped}`,
      'no signature': `${header}.${payload}.`,
      'another payload': `${header}.${changed}.${signature}`,
      'another key': await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      'another issuer': await new SignJWT({ ...claims, iss: 'https://evil.example' })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(privateKey),
      'the secret of the client': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(client.clientSecret)),
      'an access token': tokens.access_token,
      'a logout token': receiver.received[0]!.token,
      'a signed UserInfo': await userinfo.text(),
      'an end-session request': ending,
      text: 'x',
    };
    expect(hints['a signed UserInfo']).toMatch(/^eyJ.*\..*\..*$/);
    for (const [what, hint] of Object.entries(hints)) {
      for (const more of [{}, { post_logout_redirect_uri: signedOutUri }, back()] as Record<string, string>[]) {
        const page = await agent.get(query({ id_token_hint: hint, ...more }));
        expect(page.status, what).toBe(400);
        expect(page.body, what).not.toContain('value="sign-out"');
        await expectHarmless(page, what);
        // no user is signed in: no question, and no redirect either
        const empty = await new UserAgent(service).get(query({ id_token_hint: hint, ...more }));
        expect([empty.status, empty.location], what).toEqual([400, undefined]);
      }
    }
    // valid, but of another client than the request names, or of another user than the one who is signed in
    const contradictory = await agent.get(query({ ...back(), id_token_hint: visitor.tokens.id_token }));
    expect(contradictory.status).toBe(400);
    await expectHarmless(contradictory, 'a hint of another client');
    const others = (await runCodeFlow(service, client, { scope: 'openid' })).tokens.id_token;
    const asked = await agent.get(query({ id_token_hint: others, post_logout_redirect_uri: signedOutUri }));
    expect(asked.body).toContain('value="sign-out"');
    await expectHarmless(asked, 'a hint of another user');

    await expect.poll(() => decodeJwt(expired.tokens.id_token).exp! * 1000 < Date.now()).toBe(true);
    const good = await expired.agent.get(
      query({ id_token_hint: expired.tokens.id_token, post_logout_redirect_uri: signedOutUri, state: 's' }),
    );
    expect((await expired.agent.submit(good, { decision: 'sign-out' })).location).toBe(`${signedOutUri}?state=s`);
  },
);

attack(
  {
    id: 'A83',
    name: 'Logout URI of another client',
    request:
      'post_logout_redirect_uri of C2 with the hint or client_id of C1, that of C1 with an added query, slash or case, without any client, of a disabled client, and javascript:',
    answer: 'No redirect: a page says that the address is not registered, and the session lives',
    source: 'OpenID conformance suite (QueryAddedToLogoutRedirectUri)',
    requirements: ['R68', 'R25'],
  },
  async () => {
    const elsewhere = 'https://two.example.com/bye';
    const other = await service.createClient({ ...wholeClient, post_logout_redirect_uris: [elsewhere] });
    const disabled = await service.createClient(wholeClient, { status: 'disabled' });
    const hint = mine.tokens.id_token;
    const uris = [
      elsewhere,
      `${signedOutUri}?x=1`,
      `${signedOutUri}/`,
      `${signedOutUri}#`,
      signedOutUri.toUpperCase(),
      client.redirectUri,
      `https://rp.example.com@evil.example/signed-out`,
      'javascript:alert(1)',
      'data:text/html,x',
      '//evil.example/',
      '/logout',
    ];
    const requests = [
      ...uris.flatMap((uri) => [
        { post_logout_redirect_uri: uri, id_token_hint: hint },
        { post_logout_redirect_uri: uri, client_id: client.clientId },
        { 'post-logout-redirect-uri': uri, 'id-token-hint': hint },
      ]),
      { post_logout_redirect_uri: signedOutUri },
      { post_logout_redirect_uri: signedOutUri, client_id: 'nobody' },
      { post_logout_redirect_uri: signedOutUri, client_id: other.clientId },
      { post_logout_redirect_uri: signedOutUri, client_id: disabled.clientId },
    ] as Record<string, string>[];
    await Promise.all(
      requests.map(async (request) => {
        for (const page of [await mine.agent.get(query(request)), await new UserAgent(service).get(query(request))]) {
          expect([page.status, page.location], JSON.stringify(request)).toEqual([400, undefined]);
          expect(page.body).not.toMatch(/<a [^>]*href="(javascript|data):/i);
        }
      }),
    );
    await expectHarmless(await mine.agent.get('/logout'), 'all of them');
    // registration refuses such an address in the first place
    for (const uri of [
      'javascript:alert(1)',
      'data:text/html,x',
      'http://rp.example.com/bye',
      'https://rp.example.com/*',
    ])
      await expect(service.createClient({ post_logout_redirect_uris: [uri] })).rejects.toThrow(
        /post_logout_redirect_uris/,
      );
  },
);

/** Creates a session as sign-in does, without the work of a password. */
async function sessionOf({ sub }: { sub: string }): Promise<Map<string, string>> {
  const { token, hash } = newOpaqueToken('session');
  const { passwordHash } = (await service.store.users.find(sub))!;
  await service.store.signIns.insert(signInOf({ sub, passwordHash, tokenHash: hash, sid: randomUUID() }, 60));
  return new Map([['JSESSIONOPENID', token]]);
}

/** Submits a form of the sign-out page to both instances at once. */
function twice(form: Record<string, string>, cookies: Map<string, string>): Promise<Finish[]> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = {
    cookie,
    origin: service.issuer,
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
  };
  const body = new URLSearchParams(form).toString();
  return atOnce(service.instances.map((base) => ({ url: `${base}/logout`, method: 'POST', headers, body })));
}

/** Where the answers lead, in browsers with the cookies. */
function ends(answers: Finish[], cookies: Map<string, string>): Promise<Page[]> {
  return Promise.all(
    answers.map(({ location }) => {
      const browser = new UserAgent(service);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      return browser.get(location!).then((page) => browser.follow(page));
    }),
  );
}

attack(
  {
    id: 'A84',
    name: 'What a logout ends',
    request:
      'The user signs out twice at once; then the cookie, refresh token, code, handle, access token, ID Token, prompt=none and the browser’s back button are tried',
    answer:
      'Both submits succeed; afterwards all of them are dead, introspection says inactive, prompt=none gets login_required, and the browser stored no page',
    source: 'pocket-id#1390, Hydra double-submit',
    requirements: ['R69'],
  },
  async () => {
    const { agent, user, tokens } = await runCodeFlow(service, client, { scope: 'openid' });
    const openCode = await obtainCode(service, client, user, {}, agent);
    const offline = await runCodeFlow(service, client, { scope: 'openid offline_access' }, { user, agent });
    const account = await agent.get('/account');
    expect(account.headers.get('cache-control')).toBe('no-store');
    const copy = new Map(agent.cookies);
    const question = await agent.get(query({ ...back(), id_token_hint: tokens.id_token, state: randomUUID() }));
    const form: Record<string, string> = { ...hiddenFields(question.body), decision: 'sign-out' };
    const answers = await twice(form, copy);
    for (const { status } of answers) expect(status).toBe(303);
    for (const end of await ends(answers, copy))
      expect([end.status, end.location]).toEqual([302, `${signedOutUri}?state=${form['state']}`]);
    const revived = () => {
      const copied = new UserAgent(service);
      for (const [name, value] of copy) copied.cookies.set(name, value);
      return copied;
    };
    for (const base of service.instances) {
      expect(await isSignedIn(revived(), base)).toBe(false);
      const silent = await revived().get(authorizationUrl(base, client, { prompt: 'none' }));
      expect(responseParameters(silent)['error']).toBe('login_required');
      expect(await refresh(base, client, tokens.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
      for (const handle of [tokens.client_session_handle, tokens.access_token, openCode])
        expect((await ask(base, '/user/me/info', `Bearer ${handle}`)).status).toBe(401);
      for (const token of [tokens.access_token, tokens.id_token, tokens.client_session_handle, openCode])
        expect((await introspect(base, client, token)).body).toEqual({ active: false });
    }
    // a grant of offline access outlives the session
    expect((await refresh(service.issuer, client, offline.tokens.refresh_token)).status).toBe(200);
    for (let round = 0; round < 20; round++) {
      const cookies = await sessionOf(user);
      const other = new UserAgent(service);
      for (const [name, value] of cookies) other.cookies.set(name, value);
      const page = await other.get(query(back()));
      const once = await twice({ ...hiddenFields(page.body), decision: 'sign-out' }, other.cookies);
      for (const end of await ends(once, other.cookies))
        expect([end.status, end.location]).toEqual([302, signedOutUri]);
      for (const [name, value] of cookies) other.cookies.set(name, value);
      expect(await isSignedIn(other, second(service))).toBe(false);
    }
    // the same form again, hours later, succeeds again and does nothing else
    const later = revived();
    const again = await later.follow(await later.post('/logout', form));
    expect(again.location).toBe(`${signedOutUri}?state=${form['state']}`);
  },
);
