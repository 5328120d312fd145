// Users set up second factors, prove them in the second step of a sign-in, replace them by recovery codes, and wrong codes are limited.
import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { recoveryCodesOf, setUpAuthenticator } from '../helpers/authenticator.ts';
import { secretsIn } from '../helpers/dump-search.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';
import { signInOf } from '../helpers/sign-in.ts';
import { hiddenFields, type Page, UserAgent, withoutReference } from '../helpers/user-agent.ts';

let service: TestService;
let client: TestClient;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { LIMIT_SIGN_IN_PER_ACCOUNT: '3' } });
  client = await service.createClient({ client_name: 'Harbour' });
});
afterAll(() => service?.stop());

const isSecondStep = (page: Page) => page.body.includes('id="code"') && page.url.includes('/login/second-factor');
const isSignedIn = async (agent: UserAgent) => (await agent.get('/account')).status === 200;

/** Creates a user with an authenticator whose current code is used up. */
async function enrolled() {
  const user = await service.createUser();
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return { user, agent, ...(await setUpAuthenticator(agent)) };
}

/** Moves the authenticators of a user this number of time steps forward. */
const advanceTime = (sub: string, steps = 3) =>
  service.database.sql('UPDATE authenticators SET last_step = last_step - $2 WHERE sub = $1', [sub, steps]);

const eventsOf = async (sub: string, type: string) =>
  (
    await service.database.sql<{ detail: Record<string, unknown> }>(
      'SELECT detail FROM audit_events WHERE sub = $1 AND type = $2 ORDER BY id',
      [sub, type],
    )
  ).map(({ detail }) => detail);

describe('an authenticator', () => {
  test('is stored only after its code was entered, and the first one comes with recovery codes (RFC 6238 5.1)', async () => {
    const user = await service.createUser();
    const agent = new UserAgent(service);
    await agent.signIn(user);
    const start = await agent.get('/account/authenticator');
    expect(start.body).toMatch(/<svg id="qr" role="img"/);
    expect(await service.store.secondFactors.list(user.sub)).toEqual([]);
    const wrong = await agent.submit(start, { code: '12345', name: 'Telephone' });
    expect([wrong.status, wrong.body.includes('value="Telephone"')]).toEqual([400, true]);
    // the key stays, so that the user need not scan it again
    expect(wrong.body).toContain(/id="open-app" href="([^"]*)"/.exec(start.body)![1]);
    expect(await service.store.secondFactors.list(user.sub)).toEqual([]);

    const { page, recoveryCodes } = await setUpAuthenticator(agent, ' My  telephone ');
    expect(page.status).toBe(200);
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(page.body).toContain('download="recovery-codes.txt"');
    expect(await service.store.secondFactors.list(user.sub)).toMatchObject([
      { kind: 'authenticator', name: 'My telephone', usedAt: undefined },
    ]);
    const second = await setUpAuthenticator(agent);
    expect([second.page.url.endsWith('?done=added'), second.recoveryCodes]).toEqual([true, []]);
    expect(await eventsOf(user.sub, 'user.second_factor_added')).toEqual([
      { kind: 'authenticator' },
      { kind: 'authenticator' },
    ]);
    expect((await agent.get('/account/security')).body).toContain('10 recovery codes left');
  });

  test('is set up and removed only after a sign-in within the last 15 minutes (security R91)', async () => {
    const { user, agent } = await enrolled();
    const list = await agent.get('/account/second-factors');
    const fields = hiddenFields(list.body);
    const id = (await service.store.secondFactors.list(user.sub))[0]!.id;
    const page = await agent.get('/account/authenticator');
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1`, [
      user.sub,
    ]);
    const answers = [
      await agent.get('/account/authenticator'),
      await agent.post('/account/second-factors', { csrf: await csrfOf('/account/second-factors'), remove: id }),
      await agent.post('/account/recovery-codes', { csrf: await csrfOf('/account/recovery-codes') }),
    ];
    for (const answer of answers) expect(answer.location).toContain('/login?destination=');
    // a form from before the sign-in expired
    expect((await agent.post('/account/authenticator', hiddenFields(page.body))).status).toBe(400);
    expect(await service.store.secondFactors.list(user.sub)).toHaveLength(1);
    expect(fields['csrf']).toBeDefined();

    async function csrfOf(action: string): Promise<string> {
      const { body } = await agent.get('/account/second-factors');
      return hiddenFields(body.slice(body.indexOf(`action="${action}"`)))['csrf']!;
    }
  });

  test('that is removed keeps the password, and removes the recovery codes', async () => {
    const { user, agent } = await enrolled();
    const list = await agent.get('/account/second-factors');
    const id = (await service.store.secondFactors.list(user.sub))[0]!.id;
    const otherBrowser = new UserAgent(service);
    const other = await service.createUser();
    await otherBrowser.signIn(other);
    await setUpAuthenticator(otherBrowser);
    // another user cannot remove it
    await otherBrowser.submit(await otherBrowser.get('/account/second-factors'), { remove: id });
    expect(await service.store.secondFactors.list(user.sub)).toHaveLength(1);
    expect((await agent.submit(list, { remove: id })).body).toContain('role="status"');
    expect(await service.store.secondFactors.list(user.sub)).toEqual([]);
    expect(await service.store.recoveryCodes.count(user.sub)).toBe(0);
    expect(await eventsOf(user.sub, 'user.second_factor_removed')).toEqual([{ kinds: ['authenticator'] }]);
    const newBrowser = new UserAgent(service);
    await newBrowser.signIn(user);
    expect(await isSignedIn(newBrowser)).toBe(true);
  });
});

describe('the second step', () => {
  test('is shown only after the correct password, and earlier pages do not reveal it (security R60)', async () => {
    const { user, app } = await enrolled();
    const agent = new UserAgent(service);
    const wrong = await agent.signIn({ ...user, password: 'not the password' });
    const withoutFactor = await new UserAgent(service).signIn({
      ...(await service.createUser()),
      password: 'not the password',
    });
    const blank = (page: Page) =>
      withoutReference(page)
        .replace(/(value|data-options)="[^"]*"/g, '')
        .replaceAll(/user-[\w-]{8}/g, '');
    expect([wrong.status, blank(wrong)]).toEqual([withoutFactor.status, blank(withoutFactor)]);

    const step = await agent.signIn(user);
    expect(isSecondStep(step)).toBe(true);
    expect(await isSignedIn(agent)).toBe(false);
    expect(agent.cookies.has('GATEHOUSE_KNOWN_BROWSER')).toBe(false);
    expect(step.body).toMatch(/<input id="code"[^>]*inputmode="numeric" autocomplete="one-time-code"/);
    const end = await agent.submit(step, { code: ` ${app.code(1).slice(0, 3)} ${app.code(1).slice(3)}` });
    expect(end.url).toBe(`${service.issuer}/account`);
    expect(agent.cookies.has('GATEHOUSE_KNOWN_BROWSER')).toBe(true);
    expect(agent.cookies.has('GATEHOUSE_SECOND_STEP')).toBe(false);
    expect((await eventsOf(user.sub, 'user.signed_in')).at(-1)).toEqual({ amr: ['pwd', 'otp', 'mfa'] });
  });

  test('continues to the client that sent the request, with amr and acr in its tokens (RFC 8176, OpenID Connect Core 2)', async () => {
    const { user, app } = await enrolled();
    const agent = new UserAgent(service);
    const step = await agent.authorize(client, user, { scope: 'openid' });
    expect(step.body).toContain('Harbour');
    // browsers apply the directive to every redirect after a form
    expect(step.headers.get('content-security-policy')).toContain(`form-action 'self';`);
    let page = await agent.submit(step, { code: app.code(1) });
    page = await agent.submit(page, { decision: 'allow' });
    const code = new URL(page.location!).searchParams.get('code')!;
    const tokens = await agentTokens(code);
    expect(decodeJwt(tokens['id_token'] as string)).toMatchObject({
      amr: ['pwd', 'otp', 'mfa'],
      acr: 'urn:gatehouse:acr:mfa',
    });
    const response = await fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: client.basic },
      body: new URLSearchParams({ token: tokens['access_token'] as string }),
    });
    expect(await response.json()).toMatchObject({
      acr: 'urn:gatehouse:acr:mfa',
      extended_claims: { amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:acr:mfa' },
    });

    async function agentTokens(value: string) {
      const answer = await fetch(`${service.issuer}/token`, {
        method: 'POST',
        headers: { authorization: client.basic },
        body: new URLSearchParams({ grant_type: 'authorization_code', code: value, redirect_uri: client.redirectUri }),
      });
      return (await answer.json()) as Record<string, unknown>;
    }
  });

  test('cannot be bypassed: the password alone creates no session as soon as a second factor exists (security R91)', async () => {
    const { user, agent } = await enrolled();
    const { passwordHash } = (await service.store.users.find(user.sub))!;
    const signIn = signInOf(
      { tokenHash: randomBytes(32), sid: 'late', sub: user.sub, passwordHash: passwordHash! },
      60,
    );
    expect(await service.store.signIns.insert(signIn)).toBe(false);
    const session = { ...signIn.session, amr: ['pwd', 'otp', 'mfa'] };
    expect(await service.store.signIns.insert({ ...signIn, session })).toBe(true);
    expect(await isSignedIn(agent)).toBe(true);
  });

  test('cannot be bypassed by a sign-in while the second factor is being set up (security R91)', async () => {
    const { user } = await enrolled();
    const { passwordHash } = (await service.store.users.find(user.sub))!;
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    try {
      await holder.query(`CREATE TEMP TABLE kept AS SELECT * FROM authenticators WHERE sub = '${user.sub}'`);
      await holder.query(`DELETE FROM authenticators WHERE sub = '${user.sub}'`);
      // as the page does that sets one up: it locks the user's row first
      await holder.query(`BEGIN; SELECT FROM users WHERE sub = '${user.sub}' FOR NO KEY UPDATE`);
      await holder.query('INSERT INTO authenticators SELECT * FROM kept');
      const inserted = service.store.signIns.insert(
        signInOf({ tokenHash: randomBytes(32), sid: 'meanwhile', sub: user.sub, passwordHash: passwordHash! }, 60),
      );
      await expect
        .poll(() =>
          service.database.sql(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          ),
        )
        .toHaveLength(1);
      await holder.query('COMMIT');
      expect(await inserted).toBe(false);
    } finally {
      await holder.end();
    }
  });

  test('belongs to the browser that sent the password, for five minutes, and to that password (security R4)', async () => {
    const { user, app } = await enrolled();
    const agent = new UserAgent(service);
    const step = await agent.signIn(user);
    const attacker = new UserAgent(service);
    await attacker.get('/login');
    const cookie = agent.cookies.get('GATEHOUSE_SECOND_STEP')!;
    attacker.cookies.set('GATEHOUSE_SECOND_STEP', cookie);
    expect((await attacker.get('/login/second-factor')).location).toBe(`${service.issuer}/login`);
    expect((await new UserAgent(service).get('/login/second-factor')).location).toBe(`${service.issuer}/login`);
    // the form of another user
    const other = new UserAgent(service);
    expect((await other.post('/login/second-factor', { ...hiddenFields(step.body), code: app.code(1) })).status).toBe(
      303,
    );

    await service.store.users.rehash(user.sub, user.passwordHash!, 'other');
    expect((await agent.get('/login/second-factor')).location).toBe(`${service.issuer}/login`);
    expect((await agent.submit(step, { code: app.code(1) })).body).toContain('id="password"');
    await service.store.users.rehash(user.sub, 'other', user.passwordHash!);
    expect(isSecondStep(await agent.get('/login/second-factor'))).toBe(true);
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
    expect((await agent.get('/login/second-factor')).location).toBe(`${service.issuer}/login`);
  });

  test('accepts a code once, and exactly one of two simultaneous requests on two instances (RFC 6238 5.2)', async () => {
    const { user, app } = await enrolled();
    const agents = [new UserAgent(service), new UserAgent(service)] as const;
    const steps = [await agents[0].signIn(user), await agents[1].signIn(user)];
    const code = app.code(1);
    const ends = await Promise.all(
      agents.map((agent, index) =>
        agent.post(`${service.instances[index]}/login/second-factor`, { ...hiddenFields(steps[index]!.body), code }),
      ),
    );
    expect(ends.map(({ status }) => status).sort()).toEqual([303, 400]);
    const thirdBrowser = new UserAgent(service);
    expect((await thirdBrowser.submit(await thirdBrowser.signIn(user), { code })).status).toBe(400);
    // nor an earlier code
    await thirdBrowser.submit(await thirdBrowser.get('/login/second-factor'), { code: app.code() });
    expect(await isSignedIn(thirdBrowser)).toBe(false);
  });

  test('counts wrong codes against the account, whatever happens with the password in between (security R62, R63)', async () => {
    const { user, app } = await enrolled();
    const agent = new UserAgent(service);
    for (let n = 0; n < 3; n++) {
      const step = await agent.signIn(user);
      expect((await agent.submit(step, { code: app.wrong() })).status).toBe(400);
    }
    await advanceTime(user.sub);
    // the correct code is delayed now, and gets the same answer as a wrong one
    const delayed = await agent.submit(await agent.signIn(user), { code: app.code() });
    expect([delayed.status, await isSignedIn(agent)]).toEqual([400, false]);
    expect(await eventsOf(user.sub, 'user.locked_out')).toEqual([{ second_factor: true }]);
    await service.database.sql(`UPDATE sign_in_failures SET held_until = now() WHERE sub = $1`, [user.sub]);
    await agent.submit(delayed, { code: app.code() });
    expect(await isSignedIn(agent)).toBe(true);
    expect(await service.database.sql('SELECT FROM sign_in_failures WHERE sub = $1', [user.sub])).toEqual([]);
  });
});

describe('an attacker who knows the password', () => {
  /** Sends wrong codes after the correct password, until unknown browsers are delayed. */
  async function guess(user: { username: string; password: string }, app: { wrong(): string }) {
    const attacker = new UserAgent(service);
    for (let n = 0; n < 3; n++) {
      const step = await attacker.signIn(user);
      expect((await attacker.submit(step, { code: app.wrong() })).status).toBe(400);
    }
    return attacker;
  }

  test('does not delay the user in a known browser by wrong codes (security R63)', async () => {
    const { user, agent: knownBrowser, app } = await enrolled();
    const attacker = await guess(user, app);
    await advanceTime(user.sub);
    await knownBrowser.submit(await knownBrowser.get('/logout'), { decision: 'sign-out' });
    expect(await isSignedIn(knownBrowser)).toBe(false);
    await knownBrowser.submit(await knownBrowser.signIn(user), { code: app.code() });
    expect(await isSignedIn(knownBrowser)).toBe(true);
    // other browsers are still delayed
    await advanceTime(user.sub);
    await attacker.submit(await attacker.signIn(user), { code: app.code() });
    expect(await isSignedIn(attacker)).toBe(false);
  });

  test('cannot guess in a known browser either, whose cookie may be stolen (security R63)', async () => {
    const { user, agent: knownBrowser, app } = await enrolled();
    const step = await knownBrowser.signIn(user);
    for (let n = 0; n < 3; n++) expect((await knownBrowser.submit(step, { code: app.wrong() })).status).toBe(400);
    await knownBrowser.submit(await knownBrowser.get('/logout'), { decision: 'sign-out' });
    await advanceTime(user.sub);
    const again = await knownBrowser.signIn(user);
    expect((await knownBrowser.submit(again, { code: app.code() })).status).toBe(400);
    expect(await eventsOf(user.sub, 'user.locked_out')).not.toEqual([]);
  });

  test('is recorded in the audit trail, and the user gets one mail about wrong codes (security R101)', async () => {
    const user = await service.createUser({ email: 'told@example.com', emailVerified: true });
    const knownBrowser = new UserAgent(service);
    await knownBrowser.signIn(user);
    const { app } = await setUpAuthenticator(knownBrowser);
    const attacker = new UserAgent(service);
    await attacker.signIn(user);
    const events = await service.database.sql(
      `SELECT outcome, actor, detail FROM audit_events WHERE sub = $1 AND type = 'user.first_factor_shown'`,
      [user.sub],
    );
    expect(events).toEqual([{ outcome: 'success', actor: null, detail: { amr: ['pwd'] } }]);
    await guess(user, app);
    await guess(user, app);
    const mails = async () =>
      (await mailsIn(service.dataDir)).filter(
        ({ parsed }) => parsed.subject === 'Failed sign-in attempts with your password',
      );
    await vi.waitUntil(async () => (await mails()).length > 0, { timeout: 10_000, interval: 20 });
    await vi.waitUntil(async () => (await service.database.sql('SELECT FROM outbox')).length === 0, {
      timeout: 10_000,
      interval: 20,
    });
    expect(await mails()).toMatchObject([{ text: expect.stringContaining(user.username) as string }]);
  });
});

describe('a recovery code', () => {
  test('signs in once, in any notation, and is recorded', async () => {
    const { user, recoveryCodes } = await enrolled();
    const [code] = recoveryCodes as [string];
    const agents = [new UserAgent(service), new UserAgent(service)] as const;
    const steps = [await agents[0].signIn(user), await agents[1].signIn(user)];
    const typed = code.toLowerCase().replaceAll('-', ' ');
    const ends = await Promise.all(
      agents.map((agent, index) =>
        agent.post(`${service.instances[index]}/login/second-factor`, {
          ...hiddenFields(steps[index]!.body),
          recovery_code: typed,
        }),
      ),
    );
    expect(ends.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await eventsOf(user.sub, 'user.recovery_code_used')).toEqual([{ left: 9 }]);
    expect((await eventsOf(user.sub, 'user.signed_in')).at(-1)).toEqual({ amr: ['pwd', 'otp', 'mfa'] });
  });

  test('is invalid after new ones were created, and for every other user', async () => {
    const { user, agent, recoveryCodes } = await enrolled();
    const list = await agent.get('/account/second-factors');
    const form = list.body.slice(list.body.indexOf('action="/account/recovery-codes"'));
    const renewed = recoveryCodesOf(await agent.post('/account/recovery-codes', { csrf: hiddenFields(form)['csrf']! }));
    expect(renewed).toHaveLength(10);
    expect(await eventsOf(user.sub, 'user.recovery_codes_renewed')).toHaveLength(1);
    const { recoveryCodes: others } = await enrolled();
    const newBrowser = new UserAgent(service);
    let step = await newBrowser.signIn(user);
    for (const code of [recoveryCodes[0]!, others[0]!]) {
      step = await newBrowser.submit(step, { recovery_code: code });
      expect(step.status).toBe(400);
    }
    await newBrowser.submit(step, { recovery_code: renewed[0]! });
    expect(await isSignedIn(newBrowser)).toBe(true);
  });
});

test('neither the database nor the log contains the key of an authenticator or a recovery code (security R26)', async () => {
  const { app, recoveryCodes, user } = await enrolled();
  const found = () =>
    secretsIn({ query: async (text: string) => ({ rows: await service.database.sql(text) }) } as never);
  expect(await found()).toEqual([]);
  const logged = JSON.stringify(service.logs);
  for (const secret of [...recoveryCodes, app.key]) expect(logged).not.toContain(secret);
  // the search would find them
  await service.database.sql('UPDATE users SET claims = $2 WHERE sub = $1', [
    user.sub,
    { nickname: app.key, name: recoveryCodes[0] },
  ]);
  expect(await found()).toEqual(['public.users.claims: key of an authenticator', 'public.users.claims: recovery code']);
  await service.database.sql(`UPDATE users SET claims = '{}' WHERE sub = $1`, [user.sub]);
});
