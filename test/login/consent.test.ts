// GET and POST /consent ask the user, remember the grant, report a refusal to the client, and accept no other form.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService();
  user = await service.createUser({
    username: 'alice',
    email: 'alice@example.com',
    emailVerified: true,
    claims: { name: 'Alice <Adams>', birthdate: '1990-01-02' },
  });
});
afterAll(() => service?.stop());

const ask = async (agent: UserAgent, client: TestClient, parameters: Record<string, string> = {}) =>
  agent.follow(await agent.get(authorizationUrl(service.issuer, client, parameters)));

async function signedIn(as = user): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(as);
  return agent;
}

const isQuestion = (page: Page) => page.status === 200 && page.body.includes('id="allow"');
const isIssued = (page: Page) => page.location !== undefined && 'code' in responseParameters(page);

async function grantsOf(client: TestClient): Promise<{ sub: string; scope: string[] }[]> {
  return service.database.sql(`SELECT sub, granted -> 'scope' AS scope FROM grants WHERE client_id = $1`, [
    client.clientId,
  ]);
}

test('the date of the last change is written in the language of the page (security R11)', async () => {
  const client = await service.createClient({ scope: 'openid profile' });
  const page = await ask(await signedIn(), client, { scope: 'openid profile' });
  const day = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(user.updatedAt);
  expect(page.body).toMatch(new RegExp(`Last updated</dt><dd><bdi>${day}</bdi>`));
});

test.each([
  ['en', 'No', 'Yes'],
  ['de', 'Nein', 'Ja'],
  ['ar', 'لا', 'نعم'],
])(
  'the pages of consent, account and console show a boolean claim as a word of the language %s (decisions section 3)',
  async (language, no, yes) => {
    const user = await service.createUser({
      admin: true,
      email: `${language}@example.com`,
      claims: { phone_number: '+4912345', phone_number_verified: true },
    });
    const client = await service.createClient({ scope: 'openid email phone' });
    const agent = new UserAgent(service, { 'accept-language': language });
    await agent.signIn(user);
    const shownBy = (page: Page) =>
      [...page.body.matchAll(/<dd><bdi[^>]*>([^<]*)<\/bdi>/g)].map(([, value]) => value!.trim());
    const consent = shownBy(
      await ask(agent, client, { scope: 'openid phone', claims: '{"userinfo":{"email_verified":null}}' }),
    );
    const profile = shownBy(await agent.get('/account/profile'));
    for (const shown of [consent, profile]) {
      expect(shown).toEqual(expect.arrayContaining([no, yes]));
      expect(shown.join()).not.toMatch(/true|false/);
    }
    const stored = shownBy(await agent.follow(await agent.get(`/admin/users/${user.sub}`)));
    expect(stored).toContain(yes);
    expect(stored.join()).not.toMatch(/true|false/);
  },
);

test('the page names the client, the host of its redirect URI, the account and the requested scopes with their values (security R11)', async () => {
  const client = await service.createClient({
    client_name: 'Harbour <b>',
    scope: 'openid profile email phone',
    policy_uri: 'https://rp.example.com/policy',
    tos_uri: 'https://rp.example.com/terms',
    logo_uri: 'https://logos.example.com/l.png',
  });
  const page = await ask(await signedIn(), client, { scope: 'openid profile email' });
  expect(isQuestion(page)).toBe(true);
  for (const shown of [
    'Harbour &lt;b&gt;',
    'rp.example.com',
    'alice',
    'alice@example.com',
    '1990-01-02',
    'Alice &lt;Adams&gt;',
    'See your email address',
    'https://rp.example.com/policy',
    'https://rp.example.com/terms',
  ])
    expect(page.body).toContain(shown);
  expect(page.body).not.toContain('See your phone number');
  expect(page.body).not.toContain('id="self-registered"');
  expect(page.headers.get('content-security-policy')).toContain("img-src 'self' data: https://logos.example.com;");
});

test('a grant is remembered, and the user is asked only for new scopes (decisions section 3)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  expect(isIssued(await agent.submit(await ask(agent, client, { scope: 'openid email' }), { decision: 'allow' }))).toBe(
    true,
  );
  expect(isIssued(await ask(agent, client, { scope: 'openid email' }))).toBe(true);
  expect(isIssued(await ask(agent, client, { scope: 'openid' }))).toBe(true);
  expect(isIssued(await ask(await signedIn(), client, { scope: 'openid email' }))).toBe(true);
  const more = await ask(agent, client, { scope: 'openid email profile' });
  expect(isQuestion(more)).toBe(true);
  expect(more.body).toContain('See your name and profile');
  expect(more.body).not.toContain('See your email address');
  await agent.submit(more, { decision: 'allow' });
  const [grant] = await grantsOf(client);
  expect(grant!.scope.sort()).toEqual(['email', 'openid', 'profile']);
});

test('a grant applies to one user and one client (security R11)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  await agent.authorize(client, undefined);
  const bob = await service.createUser();
  expect(isQuestion(await ask(await signedIn(bob), client))).toBe(true);
  expect(isQuestion(await ask(agent, await service.createClient()))).toBe(true);
});

test('a refusal sends the client access_denied, and is not remembered (RFC 6749 4.1.2.1)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const end = await agent.submit(await ask(agent, client, { state: 's' }), { decision: 'deny' });
  expect(end.status).toBe(302);
  expect(responseParameters(end)).toMatchObject({ error: 'access_denied', state: 's', iss: service.issuer });
  expect(await grantsOf(client)).toEqual([]);
  expect(isQuestion(await ask(agent, client))).toBe(true);
});

test('a refusal of further scopes keeps the earlier grant (decisions section 3)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  await agent.authorize(client, undefined);
  const end = await agent.submit(await ask(agent, client, { scope: 'openid email' }), { decision: 'deny' });
  expect(responseParameters(end)['error']).toBe('access_denied');
  expect(isIssued(await ask(agent, client))).toBe(true);
  expect(isQuestion(await ask(agent, client, { scope: 'openid email' }))).toBe(true);
});

test('the answer is a 303 to a URL of the service, and the response to the client a 302 (decisions section 3, security A22, R10)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const page = await ask(agent, client);
  const answer = await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' });
  expect(answer.status).toBe(303);
  expect(answer.location).toMatch(`${service.issuer}/consent?transaction=`);
  expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await agent.follow(answer)).status).toBe(302);
});

test('no consent is asked for a first-party client (decisions section 3)', async () => {
  const client = await service.createClient({}, { firstParty: true });
  expect(isIssued(await ask(await signedIn(), client, { scope: 'openid profile' }))).toBe(true);
  expect(isIssued(await ask(await signedIn(), client, { prompt: 'none', scope: 'openid profile email' }))).toBe(true);
});

test('the grant of a native client stores one redirect URI for all its ports, and the user is not asked again for another port (RFC 8252 7.3, security A25)', async () => {
  const automatic = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
  try {
    const { body } = await call(`${automatic.issuer}/register`, {
      body: { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb', 'http://127.0.0.1/other'] },
    });
    const clientId = body['client_id'] as string;
    const agent = new UserAgent(automatic);
    await agent.signIn(await automatic.createUser());
    const ask = async (redirectUri: string) =>
      agent.follow(await agent.get(authorizationUrl(automatic.issuer, { clientId, redirectUri })));
    await agent.submit(await ask('http://127.0.0.1:5001/cb'), { decision: 'allow' });
    for (const port of [5001, 5002, 5003])
      expect((await ask(`http://127.0.0.1:${port}/cb`)).location).toMatch(`http://127.0.0.1:${port}/cb?code=`);
    expect((await ask('http://127.0.0.1:5001/other')).url).toContain('/consent');
    expect(await automatic.database.sql('SELECT redirect_uris FROM grants')).toEqual([
      { redirect_uris: ['http://127.0.0.1/cb'] },
    ]);
  } finally {
    await automatic.stop();
  }
});

test('with automatic approval the page says that the client was not reviewed, and each redirect URI needs consent (security A25, R11)', async () => {
  const automatic = await startTestService({ environment: { REGISTRATION_APPROVAL: 'automatic' } });
  try {
    const uris = ['https://one.example.com/cb', 'https://two.example.com/cb'];
    const response = await fetch(`${automatic.issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: uris, client_name: 'Security Update - Sign in again' }),
    });
    const { client_id: clientId } = (await response.json()) as { client_id: string };
    const agent = new UserAgent(automatic);
    await agent.signIn(await automatic.createUser());
    const open = async (redirectUri: string) =>
      agent.follow(await agent.get(authorizationUrl(automatic.issuer, { clientId, redirectUri })));
    for (const uri of uris) {
      const page = await open(uri);
      expect(isQuestion(page)).toBe(true);
      expect(page.body).toContain('id="self-registered"');
      expect(page.body).toContain(new URL(uri).host);
      expect(isIssued(await agent.submit(page, { decision: 'allow' }))).toBe(true);
    }
    for (const uri of uris) expect(isIssued(await open(uri))).toBe(true);
  } finally {
    await automatic.stop();
  }
});

test('a client that an administrator approved needs no second consent for its second redirect URI (decisions section 3)', async () => {
  const uris = ['https://one.example.com/cb', 'https://two.example.com/cb'];
  const client = await service.createClient({ redirect_uris: uris });
  const agent = await signedIn();
  await agent.authorize(client, undefined);
  expect(isIssued(await ask(agent, { ...client, redirectUri: uris[1]! }))).toBe(true);
});

test('the user can choose another account on the page, and the request continues with that account (specification 4.1)', async () => {
  const client = await service.createClient();
  const bob = await service.createUser({ username: 'bob' });
  const agent = await signedIn();
  const page = await ask(agent, client);
  const switchTo = /id="switch-account"/.test(page.body) && /href="([^"]*)" id="switch-account"/.exec(page.body)?.[1];
  const accounts = await agent.get(`${service.issuer}${switchTo}`);
  const other = /id="other-account" href="([^"]*)"/.exec(accounts.body)![1]!.replaceAll('&amp;', '&');
  const consent = await agent.signIn(bob, await agent.get(`${service.issuer}${other}`));
  expect(consent.body).toContain('bob');
  expect(isIssued(await agent.submit(consent, { decision: 'allow' }))).toBe(true);
  expect((await grantsOf(client)).map(({ sub }) => sub)).toEqual([bob.sub]);
  expect((await agent.submit(page, { decision: 'allow' })).status).toBe(400);
});

test('an answer whose redirect was not followed does not prevent the next account from answering (specification 4.1)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const page = await ask(agent, client);
  await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' });
  const bob = await service.createUser();
  const login = await agent.get(`/login?transaction=${hiddenFields(page.body)['transaction']}`);
  const consent = await agent.signIn(bob, login);
  expect(isQuestion(consent)).toBe(true);
  expect(isIssued(await agent.submit(consent, { decision: 'allow' }))).toBe(true);
  expect((await grantsOf(client)).map(({ sub }) => sub).sort()).toEqual([user.sub, bob.sub].sort());
});

test.each<[string, (page: Page, other: Page) => Record<string, string>, Record<string, string>?]>([
  ['without the token', (page) => ({ transaction: hiddenFields(page.body)['transaction']! })],
  ['with an invented token', (page) => ({ ...hiddenFields(page.body), csrf: 'A'.repeat(43) })],
  [
    'with the token of another transaction',
    (page, other) => ({ ...hiddenFields(page.body), csrf: hiddenFields(other.body)['csrf']! }),
  ],
  ['from a foreign origin', (page) => hiddenFields(page.body), { origin: 'https://evil.example' }],
  ['from an opaque origin', (page) => hiddenFields(page.body), { origin: 'null', 'sec-fetch-site': 'cross-site' }],
  ['from another site', (page) => hiddenFields(page.body), { 'sec-fetch-site': 'cross-site' }],
  ['from another host of the same site', (page) => hiddenFields(page.body), { 'sec-fetch-site': 'same-site' }],
])('a form %s is not accepted as an answer (security R55)', async (_what, fields, headers) => {
  const client = await service.createClient();
  const agent = await signedIn();
  const page = await ask(agent, client);
  const other = await ask(agent, await service.createClient());
  const answer = await agent.post('/consent', { ...fields(page, other), decision: 'allow' }, headers);
  expect(answer.status).toBe(headers ? 403 : 400);
  expect(answer.location).toBeUndefined();
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(await grantsOf(client)).toEqual([]);
  // nothing is lost: the user can answer the same page, or the page with the error
  expect(isIssued(await agent.submit(headers ? page : answer, { decision: 'allow' }))).toBe(true);
});

test('the anti-forgery tokens of the sign-in page, of the account page and of an earlier session are not accepted (security R55)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const old = await ask(agent, client);
  const transaction = hiddenFields(old.body)['transaction']!;
  const login = await agent.get(`/login?transaction=${transaction}`);
  const account = await agent.get('/logout');
  await agent.signIn(user);
  for (const page of [old, login, account]) {
    const csrf = hiddenFields(page.body)['csrf']!;
    const answer = await agent.post('/consent', { transaction, csrf, decision: 'allow' });
    expect(answer.status).toBe(400);
  }
  expect(await grantsOf(client)).toEqual([]);
});

test.each<Record<string, string>[]>([[{}], [{ decision: 'maybe' }], [{ decision: 'ALLOW' }]])(
  'a form with %j instead of an answer is refused (security A20)',
  async (fields) => {
    const client = await service.createClient();
    const agent = await signedIn();
    const page = await ask(agent, client);
    expect((await agent.post('/consent', { ...hiddenFields(page.body), ...fields })).status).toBe(400);
    expect(await grantsOf(client)).toEqual([]);
  },
);

test('without a session the page redirects to the sign-in page, and its form is not accepted (security R55)', async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  const page = await ask(agent, client);
  agent.cookies.delete('JSESSIONOPENID');
  expect((await agent.get(page.url)).location).toMatch(`${service.issuer}/login?transaction=`);
  const answer = await agent.post('/consent', { ...hiddenFields(page.body), decision: 'allow' });
  expect(answer.location).toMatch(`${service.issuer}/login?transaction=`);
  expect(await grantsOf(client)).toEqual([]);
});

test('JSON and text are not accepted as forms (security R106)', async () => {
  const agent = await signedIn();
  const page = await ask(agent, await service.createClient());
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x']) {
    const answer = await agent.fetch('/consent', {
      method: 'POST',
      body: new URLSearchParams({ ...hiddenFields(page.body), decision: 'allow' }).toString(),
      headers: { 'content-type': type },
    });
    expect(answer.status).toBe(415);
  }
});

test("the audit trail contains the user's decisions (decisions section 7)", async () => {
  const client = await service.createClient();
  const agent = await signedIn();
  await agent.submit(await ask(agent, client), { decision: 'deny' });
  await agent.submit(await ask(agent, client), { decision: 'allow' });
  const rows = await service.database.sql<{ type: string; actor: string }>(
    `SELECT type, actor FROM audit_events WHERE client_id = $1 AND type LIKE 'consent.%' ORDER BY id`,
    [client.clientId],
  );
  expect(rows).toEqual([
    { type: 'consent.denied', actor: user.sub },
    { type: 'consent.granted', actor: user.sub },
  ]);
});
