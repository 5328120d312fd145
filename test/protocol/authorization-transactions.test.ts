// A pending authorization request belongs to one browser and takes one answer, whatever tabs and buttons the user uses.
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  pkce,
  responseParameters,
  tokenRequest,
  UserAgent,
} from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService();
  user = await service.createUser();
});
afterAll(() => service?.stop());

const open = async (agent: UserAgent, client: TestClient, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));

async function signedIn(): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}

const transactionOf = (page: Page) => hiddenFields(page.body)['transaction']!;

async function codesOf(client: TestClient): Promise<number> {
  const [row] = await service.database.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM authorization_codes ac JOIN client_sessions cs ON cs.id = ac.client_session_id
      WHERE cs.client_id = $1`,
    [client.clientId],
  );
  return row!.n;
}

test('no page puts a protocol parameter into a URL or a form that the user could edit (security R4)', async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const parameters = { state: 'the-state', nonce: 'the-nonce', scope: 'openid email' };
  const login = await open(agent, client, parameters);
  expect([...new URL(login.url).searchParams.keys()]).toEqual(['transaction']);
  // a script fills in the credential with a passkey's response
  expect(Object.keys(hiddenFields(login.body)).sort()).toEqual(['credential', 'csrf', 'transaction']);
  const consent = await agent.signIn(user, login);
  expect(Object.keys(hiddenFields(consent.body)).sort()).toEqual(['csrf', 'transaction']);
  expect(transactionOf(consent).length).toBeGreaterThanOrEqual(22);
  for (const page of [login, consent]) expect(page.body).not.toMatch(/the-state|the-nonce/);
});

test('the service ignores protocol parameters in its forms (security R4)', async () => {
  const client = await service.createClient();
  const extra = {
    redirect_uri: 'https://evil.example/',
    scope: 'openid email phone address',
    state: 'mine',
    client_id: 'other',
  };
  const agent = new UserAgent(service);
  const login = await open(agent, client, { state: 's' });
  const consent = await agent.submit(login, { ...extra, username: user.username, password: user.password });
  const end = await agent.submit(consent, { ...extra, decision: 'allow' });
  expect(end.location).toMatch(`${client.redirectUri}?`);
  expect(responseParameters(end)['state']).toBe('s');
  const { body } = await tokenRequest(service.issuer, client, {
    grant_type: 'authorization_code',
    code: responseParameters(end)['code']!,
    redirect_uri: client.redirectUri,
  });
  expect(body['scope']).toBe('openid');
});

test('the service ignores parameters beside a transaction in the URL (security R4)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await open(agent, client, { state: 's' });
  const evil = new URLSearchParams({ state: 'evil', redirect_uri: 'https://evil.example/', prompt: 'none' });
  const page = await agent.get(`/authorize?transaction=${transactionOf(consent)}&${evil}`);
  expect(page.location).toBe(consent.url);
});

test('a transaction is invalid in another browser, signed in or not (security R4)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await open(agent, client);
  const transaction = transactionOf(consent);
  const newBrowser = new UserAgent(service);
  const signedInBrowser = await signedIn();
  for (const browser of [newBrowser, signedInBrowser]) {
    for (const path of ['/authorize', '/consent']) {
      const page = await browser.get(`${path}?transaction=${transaction}`);
      expect(page.location).toBe(`${service.issuer}/login?problem=expired`);
    }
    const login = await browser.get(`/login?transaction=${transaction}`);
    expect(login.status).toBe(400);
    expect(hiddenFields(login.body)).not.toHaveProperty('transaction');
    const posted = await browser.post('/consent', { ...hiddenFields(consent.body), decision: 'allow' });
    expect(posted.location).toBe(`${service.issuer}/login?problem=expired`);
  }
  expect(await codesOf(client)).toBe(0);
  expect(responseParameters(await agent.submit(consent, { decision: 'allow' }))['code']).toBeDefined();
});

test('a transaction that never existed, in any form, shows the page for expired requests (security R4)', async () => {
  const agent = await signedIn();
  for (const transaction of ['x', '%00', '__proto__', `${'A'.repeat(5000)}`, '%ff', "'%3B--", 'A'.repeat(43)]) {
    for (const path of ['/authorize', '/consent', '/login']) {
      const page = await agent.follow(await agent.get(`${path}?transaction=${transaction}`));
      expect(page.status, `${path} ${transaction}`).toBe(400);
    }
  }
});

test('requests of two clients in two tabs do not affect each other (security A10)', async () => {
  const first = await service.createClient({ redirect_uris: ['https://one.example.com/cb'] });
  const second = await service.createClient({ redirect_uris: ['https://two.example.com/cb'] });
  const agent = new UserAgent(service);
  const one = pkce();
  const two = pkce();
  const send = ({ code_challenge, code_challenge_method }: ReturnType<typeof pkce>) => ({
    code_challenge,
    code_challenge_method,
  });
  const loginOne = await open(agent, first, { state: '1', nonce: 'n1', scope: 'openid email', ...send(one) });
  const loginTwo = await open(agent, second, { state: '2', nonce: 'n2', scope: 'openid profile', ...send(two) });
  const consentOne = await agent.signIn(user, loginOne);
  // the second tab's sign-in form is older than the session, so that the tab asks for a new page
  const consentTwo = await agent.follow(await agent.get(`/authorize?transaction=${transactionOf(loginTwo)}`));
  const ends = [
    [second, await agent.submit(consentTwo, { decision: 'allow' }), two, '2', 'openid profile'],
    [first, await agent.submit(consentOne, { decision: 'allow' }), one, '1', 'openid email'],
  ] as const;
  for (const [client, end, { code_verifier }, mark, scope] of ends) {
    expect(end.location).toMatch(`${client.redirectUri}?`);
    expect(responseParameters(end)['state']).toBe(mark);
    const { body } = await tokenRequest(service.issuer, client, {
      grant_type: 'authorization_code',
      code: responseParameters(end)['code']!,
      redirect_uri: client.redirectUri,
      code_verifier,
    });
    expect(body['scope']).toBe(scope);
    expect(decodeJwt(body['id_token'] as string)).toMatchObject({ aud: client.clientId, nonce: `n${mark}` });
  }
});

test('twelve simultaneous answers to one consent page yield codes of that decision alone, of which few are stored, and no server error (security A12, reports A4)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  for (let round = 0; round < 3; round++) {
    const consent = await open(agent, client, { prompt: 'consent', state: String(round) });
    const form = { ...hiddenFields(consent.body), decision: 'allow' };
    const before = await codesOf(client);
    const ends = await Promise.all(
      Array.from({ length: 12 }, async () => agent.follow(await agent.post('/consent', form))),
    );
    const codes = ends.flatMap((end) => (end.location?.includes('code=') ? [responseParameters(end)] : []));
    expect(codes.length).toBeGreaterThan(0);
    expect(new Set(codes.map(({ state }) => state))).toEqual(new Set([String(round)]));
    expect((await codesOf(client)) - before).toBeLessThanOrEqual(5);
    for (const end of ends.filter((one) => !one.location)) expect([400, 409, 429]).toContain(end.status);
  }
});

test('of allow and deny at the same moment, only one takes effect (security A12)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  for (let round = 0; round < 5; round++) {
    const consent = await open(agent, client, { prompt: 'consent' });
    const ends = await Promise.all(
      ['allow', 'deny', 'allow', 'deny'].map(async (decision) =>
        agent.follow(await agent.post('/consent', { ...hiddenFields(consent.body), decision })),
      ),
    );
    const answers = ends.flatMap((end) => (end.location ? [Object.keys(responseParameters(end))[0]!] : []));
    expect(new Set(answers).size).toBe(1);
    expect(ends.every((end) => end.status < 500)).toBe(true);
  }
});

test('after the answer, the Back button leads to no page that takes an answer (security R4, R9)', async () => {
  const client = await service.createClient();
  const agent = new UserAgent(service);
  const login = await open(agent, client);
  const consent = await agent.signIn(user, login);
  await agent.submit(consent, { decision: 'allow' });
  const before = await codesOf(client);
  const transaction = transactionOf(consent);
  for (const path of ['/authorize', '/consent', '/login']) {
    const page = await agent.follow(await agent.get(`${path}?transaction=${transaction}`));
    expect(page.status).toBe(400);
  }
  // for ten seconds the same form counts as a double click (reports A4)
  await service.database.sql('UPDATE authorization_requests SET expires_at = now() WHERE client_id = $1', [
    client.clientId,
  ]);
  expect((await agent.submit(consent, { decision: 'allow' })).status).toBe(400);
  expect((await agent.signIn(user, login)).status).toBe(400);
  expect(await codesOf(client)).toBe(before);
});

test('after a refusal, the Back button leads to no page that takes an answer either (security R4)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await open(agent, client);
  expect(responseParameters(await agent.submit(consent, { decision: 'deny' }))['error']).toBe('access_denied');
  expect((await agent.submit(consent, { decision: 'allow' })).status).toBe(400);
  expect(await codesOf(client)).toBe(0);
});

test('a pending request expires after ten minutes (security R4, decisions section 4)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await open(agent, client);
  const [row] = await service.database.sql<{ seconds: number }>(
    `SELECT extract(epoch FROM expires_at - created_at)::float8 AS seconds FROM authorization_requests WHERE client_id = $1`,
    [client.clientId],
  );
  expect(row!.seconds).toBeCloseTo(600, 0);
  await service.database.sql('UPDATE authorization_requests SET expires_at = now() WHERE client_id = $1', [
    client.clientId,
  ]);
  expect((await agent.submit(consent, { decision: 'allow' })).url).toBe(`${service.issuer}/login?problem=expired`);
  expect(await codesOf(client)).toBe(0);
});

test('a browser has a limited number of pending requests, and a new one replaces the oldest (security R105)', async () => {
  const limited = await startTestService({ environment: { LIMIT_PENDING_SIGN_INS: '3' } });
  try {
    const client = await limited.createClient();
    const agent = new UserAgent(limited);
    const pages = [];
    for (let n = 0; n < 5; n++)
      pages.push(await agent.follow(await agent.get(authorizationUrl(limited.issuer, client))));
    const statuses = [];
    for (const page of pages) statuses.push((await agent.get(page.url)).status);
    expect(statuses).toEqual([400, 400, 200, 200, 200]);
  } finally {
    await limited.stop();
  }
});

test('the stored request contains no code, and a dump of the database contains no transaction id (security R26)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const consent = await open(agent, client);
  const rows = await service.database.sql<{ row: string }>(
    `SELECT row_to_json(r)::text AS row FROM authorization_requests r UNION ALL SELECT row_to_json(s)::text FROM sessions s`,
  );
  const dump = rows.map(({ row }) => row).join('\n');
  expect(dump).not.toContain(transactionOf(consent));
  for (const value of agent.cookies.values()) expect(dump).not.toContain(value);
});
