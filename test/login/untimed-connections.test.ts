// Tests users whose provider does not say when they signed in there, as Google, GitHub and Apple do: one trip, then an answer (reports A2).
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Authenticator } from '../helpers/authenticator.ts';
import { addConnection, changeConnection, signInBy } from '../helpers/connections.ts';
import { redeem, withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;
let client: TestClient;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      REQUIRE_SECOND_FACTOR_GROUPS: 'ops',
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
      SIGN_UP: 'on',
    },
  });
  await addConnection(service, provider, 'silent', { provisioning: 'on' });
  client = await service.createClient({}, { firstParty: true });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
beforeEach(() => provider.lie({}));

let number = 0;
/** Another user is signed in at the provider. */
function newcomer(): string {
  const sub = `untimed-${++number}`;
  provider.be({ sub, preferred_username: `untimed user ${number}` });
  return sub;
}
/** A new user who has just signed in by the connection. */
async function signedIn(): Promise<{ agent: UserAgent; sub: string }> {
  const subject = newcomer();
  const agent = new UserAgent(service);
  await signInBy(agent, 'silent');
  const [link] = await service.database.sql<{ sub: string }>('SELECT sub FROM linked_identities WHERE subject = $1', [
    subject,
  ]);
  return { agent, sub: link!.sub };
}
/** Follows the redirects to a page; a trip to the provider is made wherever the page leads there alone. */
const arrive = async (agent: UserAgent, path: string): Promise<Page> => agent.follow(await agent.get(path));
const idTokenOf = async (page: Page, of = client) => {
  const { code } = responseParameters(page);
  const { body } = await redeem(service.issuer, of, code!);
  return decodeJwt(String(body['id_token']));
};
const change = (sub: string, columns: string) =>
  service.database.sql(`UPDATE users SET ${columns} WHERE sub = $1`, [sub]);
/** The sign-in was so long ago that only what happens now counts. */
const letTimePass = (sub: string) =>
  service.database.sql(
    `UPDATE sessions SET upstream = jsonb_set(upstream, '{at}', to_jsonb(now() - interval '1 hour')) WHERE sub = $1`,
    [sub],
  );
async function addAuthenticator(agent: UserAgent): Promise<Authenticator> {
  const page = await agent.get('/account/authenticator');
  const app = new Authenticator(page);
  expect((await agent.submit(page, { code: app.code() })).status).toBe(200);
  return app;
}

/** Authenticator apps are kept in password managers, too. */
const wordsOf = ({ body }: Page) => body.replace(/<style[^]*?<\/style>|<script[^]*?<\/script>|password manager/g, '');

describe('a client', () => {
  test.each([
    ['prompt=login', { prompt: 'login' }],
    ['max_age=0', { max_age: '0' }],
    ['max_age of many years', { max_age: '999999999' }],
    ['prompt=create', { prompt: 'create' }],
    ['prompt=login select_account', { prompt: 'login select_account' }],
    ['an essential auth_time', { claims: JSON.stringify({ id_token: { auth_time: { essential: true } } }) }],
  ])(
    'that sends %s is answered login_required after one trip (OpenID Connect Core 3.1.2.1, reports A2)',
    async (_what, sent) => {
      newcomer();
      const agent = new UserAgent(service);
      const before = provider.count('authorize');
      const first = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, sent)));
      const transaction = new URL(first.url).searchParams.get('transaction')!;
      const page = await signInBy(agent, 'silent', `/login?transaction=${transaction}`);
      expect(responseParameters(page)).toMatchObject({ error: 'login_required' });
      expect(provider.count('authorize') - before).toBe(1);
      // the same in a browser that has the session already
      const again = await agent.follow(await agent.get(authorizationUrl(service.issuer, client, sent)));
      const next = new URL(again.url).searchParams.get('transaction')!;
      const answered = await signInBy(agent, 'silent', `/login?transaction=${next}`);
      expect(responseParameters(answered)).toMatchObject({ error: 'login_required' });
    },
  );

  test('that is limited to the connection, or whose provider ignores the demand, also gets an answer (reports A2)', async () => {
    const limited = await service.createClient({}, { firstParty: true });
    await service.database.sql(`UPDATE clients SET connections = '{silent}' WHERE client_id = $1`, [limited.clientId]);
    const { agent, sub } = await signedIn();
    // a password does not help here
    await change(sub, `password_hash = (SELECT password_hash FROM users WHERE password_hash IS NOT NULL LIMIT 1)`);
    const asked = authorizationUrl(service.issuer, limited, { prompt: 'login' });
    expect(responseParameters(await signInBy(agent, 'silent', asked))).toMatchObject({ error: 'login_required' });
    newcomer();
    provider.lie({ idToken: { auth_time: Math.floor(Date.now() / 1000) - 3600 } });
    for (const sent of [{ prompt: 'login' }, { max_age: '60' }] as Record<string, string>[]) {
      const page = await signInBy(new UserAgent(service), 'silent', authorizationUrl(service.issuer, client, sent));
      expect(responseParameters(page)).toMatchObject({ error: 'login_required' });
    }
  });

  test('that registered require_auth_time is answered login_required, and any other gets an ID Token without auth_time (OpenID Connect Core 2, reports A2)', async () => {
    newcomer();
    const page = await signInBy(new UserAgent(service), 'silent', authorizationUrl(service.issuer, client));
    const idToken = await idTokenOf(page);
    expect(idToken).not.toHaveProperty('auth_time');
    const exacting = await service.createClient({ require_auth_time: true }, { firstParty: true });
    const refused = await signInBy(new UserAgent(service), 'silent', authorizationUrl(service.issuer, exacting));
    expect(responseParameters(refused)).toMatchObject({ error: 'login_required' });
  });

  test('that lets the user choose an account gets a code after one trip (OpenID Connect Core 3.1.2.1, reports A2)', async () => {
    const { agent } = await signedIn();
    const page = await agent.follow(
      await agent.get(authorizationUrl(service.issuer, client, { prompt: 'select_account' })),
    );
    const transaction = new URL(page.url).searchParams.get('transaction')!;
    const done = await signInBy(agent, 'silent', `/login?transaction=${transaction}`);
    expect(responseParameters(done)).toHaveProperty('code');
  });

  test('whose user has a password gets a code after it, and the page says why (federation FR10, F16, reports A2)', async () => {
    const { agent, sub } = await signedIn();
    const { password, username } = await service.createUser({});
    await change(
      sub,
      `password_hash = (SELECT password_hash FROM users WHERE username = '${username}'), username = 'with password'`,
    );
    const asked = authorizationUrl(service.issuer, client, { prompt: 'login' });
    const page = await signInBy(agent, 'silent', asked);
    expect(page.body).toContain('Confirm your identity with your password');
    expect(page.body).not.toContain('action="/connections/silent"');
    const done = await agent.follow(await agent.submit(page, { username: 'with password', password }));
    expect(await idTokenOf(done)).toHaveProperty('auth_time');
  });

  test('whose user has an authenticator gets a code after it (federation FR10, reports A2)', async () => {
    const { agent, sub } = await signedIn();
    const app = await addAuthenticator(agent);
    await letTimePass(sub);
    const asked = authorizationUrl(service.issuer, client, { prompt: 'login' });
    const page = await signInBy(agent, 'silent', asked);
    expect(page.url).toContain('/login/second-factor');
    const done = await agent.follow(await agent.submit(page, { code: app.code(1) }));
    expect(await idTokenOf(done)).toHaveProperty('auth_time');
  });

  test('that demands a second factor lets the user add the first one, which does not make the sign-in fresh (federation FR10, reports A2)', async () => {
    const strict = await service.createClient({}, { firstParty: true });
    await service.database.sql(`UPDATE clients SET required_acr = 'urn:gatehouse:acr:mfa' WHERE client_id = $1`, [
      strict.clientId,
    ]);
    newcomer();
    const agent = new UserAgent(service);
    const page = await signInBy(agent, 'silent', authorizationUrl(service.issuer, strict));
    const app = new Authenticator(page);
    expect(wordsOf(page)).not.toMatch(/password/i);
    const codes = await agent.submit(page, { code: app.code() });
    const next = /href="([^"]*consent\?transaction=[^"]*)"/.exec(codes.body)![1]!;
    const idToken = await idTokenOf(await agent.follow(await agent.get(next)), strict);
    expect(idToken['amr']).toContain('mfa');
    expect(idToken).not.toHaveProperty('auth_time');
  });
});

describe('the account pages', () => {
  test('let a user without any factor add the first one, with a mail and an event, and nothing else before it (federation FR10, F16, reports A2)', async () => {
    const { agent, sub } = await signedIn();
    const data = await agent.get('/account/data');
    const email = await agent.get('/account/email');
    for (const answer of [
      await agent.post('/account/data', hiddenFields(data.body)),
      await agent.post('/account/email', { ...hiddenFields(email.body), email: 'new@else.example' }),
    ]) {
      const page = await agent.follow(answer);
      expect(page.url).toContain('/account/second-factors?done=needed');
      expect(page.body).toContain('Add a second factor first');
    }
    const app = await addAuthenticator(agent);
    const events = await service.database.sql('SELECT type FROM audit_events WHERE sub = $1 AND type = $2', [
      sub,
      'user.second_factor_added',
    ]);
    expect(events).toHaveLength(1);
    // everything else asks for it
    const asked = await agent.follow(
      await agent.post('/account/data', hiddenFields((await agent.get('/account/data')).body)),
    );
    expect(asked.url).toContain('/login/second-factor?destination=data');
    await agent.follow(await agent.submit(asked, { code: app.code(1) }));
    const file = await agent.post('/account/data', hiddenFields((await agent.get('/account/data')).body));
    expect(file.headers.get('content-disposition')).toContain('account.json');
  });

  test('ask for a trip first if the last one is long ago, and make no exception for a second one (reports A2)', async () => {
    const { agent, sub } = await signedIn();
    await letTimePass(sub);
    const asked = await arrive(agent, '/account/authenticator');
    expect(asked.url).toContain('/login?destination=authenticator');
    expect(asked.body).not.toContain('id="password"');
    const there = await signInBy(agent, 'silent', '/login?destination=authenticator');
    expect(there.url).toContain('/account/authenticator');
    await addAuthenticator(agent);
    expect((await agent.get('/account/authenticator')).location).toContain('/login/second-factor');
    const passkeys = await agent.get('/account/passkeys');
    expect(passkeys.body).toContain('id="sign-in-again"');
  });

  test('let no user with a role or a guarded group add one, and send the user to an administrator (federation FR10, reports A2)', async () => {
    const help = 'Ask an administrator for a recovery link';
    // a link that a person made stays when the user becomes an administrator, and the sessions end
    const { agent, sub } = await signedIn();
    await service.database.sql(`UPDATE linked_identities SET how = 'person' WHERE sub = $1`, [sub]);
    await change(sub, 'admin = true');
    await signInBy(agent, 'silent');
    expect((await arrive(agent, '/account/authenticator')).body).toContain(help);
    expect((await agent.get('/account/passkeys')).body).toContain('id="sign-in-again"');
    // nor within a sign-in that demands one
    const guarded = await signedIn();
    await change(guarded.sub, `groups = '{ops}'`);
    expect((await arrive(guarded.agent, '/account/authenticator')).body).toContain(help);
    expect((await signInBy(new UserAgent(service), 'silent')).body).toContain(help);
  });

  test('do not mention a password to a user who has none (reports A2)', async () => {
    const { agent } = await signedIn();
    for (const path of [
      '/account',
      '/account/security',
      '/account/second-factors',
      '/account/authenticator',
      '/account/passkeys',
      '/account/sessions',
      '/account/email',
      '/account/data',
      '/account/connections',
      '/account/password',
    ]) {
      const page = await arrive(agent, path);
      expect(page.status, path).toBe(200);
      expect(wordsOf(page), path).not.toMatch(/password/i);
    }
  });
});

test('a user who tries to prove an account by such a sign-in reads that it proves nothing (federation FR9, reports A2)', async () => {
  await changeConnection(service, 'silent', { linking: 'ask' });
  const { agent, sub } = await signedIn();
  await change(sub, `email = 'known@else.example', email_verified = true`);
  await addConnection(service, provider, 'second', { provisioning: 'on', authoritative_domains: ['else.example'] });
  provider.be({ sub: 'of-the-second', email: 'known@else.example', email_verified: true });
  const asked = await signInBy(agent, 'second');
  expect(asked.url).toContain('/login/connect');
  provider.be({ sub: `untimed-${number}` });
  const page = await signInBy(agent, 'silent', '/login?destination=connect');
  expect(page.url).toContain('/login/connect');
  expect(page.body).toContain('couldn’t confirm that the account is yours');
});
