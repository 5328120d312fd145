// GET and POST /account/passkeys and POST /login/passkey accept valid passkeys of a software authenticator, and refuse invalid ones.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Authenticator, cbor, type Deviations, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent, withoutReference } from '../helpers/user-agent.ts';

const path = '/account/passkeys';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

async function signedIn(user: TestUser): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
async function add(agent: UserAgent, key: Authenticator, deviations: Deviations = {}): Promise<Page> {
  const { action, options, fields } = passkeyForm(await agent.get(path));
  return agent.post(action, { ...fields, credential: key.create(options, deviations) });
}
/** Creates a user with a passkey, and returns the browser that created it. */
async function enrolled(): Promise<{ user: TestUser; agent: UserAgent; key: Authenticator }> {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const key = new Authenticator(service.issuer);
  const page = await add(agent, key);
  // the first passkey comes with recovery codes
  expect([page.status, page.body]).toEqual([200, expect.stringContaining(`href="${path}?done=added"`)]);
  return { user, agent, key };
}
async function signInWith(
  key: Authenticator,
  deviations: Deviations = {},
  agent = new UserAgent(service),
): Promise<Page> {
  const { action, options, fields } = passkeyForm(await agent.get('/login'));
  return agent.post(action, { ...fields, credential: key.get(options, deviations) });
}
/** Moves the last sign-in one hour into the past. */
const moveSignInIntoPast = (user: TestUser) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '1 hour' WHERE sub = $1`, [user.sub]);
const eventsOf = ({ sub }: TestUser, type: string) =>
  service.database.sql<{ outcome: string; detail: Record<string, unknown> }>(
    'SELECT outcome, detail FROM audit_events WHERE sub = $1 AND type = $2 ORDER BY id',
    [sub, type],
  );
const hasSignedIn = (page: Page) => page.status === 303 && page.location === `${service.issuer}/account`;
const refused = 'That passkey didn’t work';

describe('a passkey', () => {
  test('is created on the account page, and signs in without other factors, also if the account has no password (Web Authentication 7.1, 7.2)', async () => {
    const { user, agent, key } = await enrolled();
    const list = (await agent.get(`${path}?done=added`)).body;
    expect(list).toMatch(/Passkey added[^]*Not used yet/);
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    const browser = new UserAgent(service);
    expect(hasSignedIn(await signInWith(key, {}, browser))).toBe(true);
    expect((await browser.get('/account')).body).toContain(user.username);
    const [session] = await service.database.sql('SELECT amr FROM sessions WHERE sub = $1 ORDER BY id DESC LIMIT 1', [
      user.sub,
    ]);
    expect(session).toEqual({ amr: ['hwk', 'user', 'mfa'] });
    expect(await eventsOf(user, 'user.second_factor_added')).toMatchObject([{ outcome: 'success' }]);
    expect((await agent.get(path)).body).not.toContain('Not used yet');
  });

  test('is offered before the password in a browser whose last sign-in began with one, and below it elsewhere (pages, account)', async () => {
    const { user, key } = await enrolled();
    const browser = new UserAgent(service);
    const isFirst = async () => {
      browser.cookies.delete('JSESSIONOPENID');
      const { body } = await browser.get('/login');
      return body.indexOf('id="use-passkey"') < body.indexOf('id="password"');
    };
    expect(await isFirst()).toBe(false);
    expect(hasSignedIn(await signInWith(key, {}, browser))).toBe(true);
    expect(await isFirst()).toBe(true);
    // the browser stays known for the user, whose next sign-in there causes no mail
    const known = 'SELECT count(*)::int AS n FROM known_browsers WHERE sub = $1';
    const before = await service.database.sql(known, [user.sub]);
    expect(hasSignedIn(await signInWith(key, {}, browser))).toBe(true);
    expect(await service.database.sql(known, [user.sub])).toEqual(before);
    const page = await browser.get('/login');
    const form = page.body.slice(page.body.indexOf('action="/login"'));
    const { username, password } = await service.createUser();
    await browser.post('/login', { csrf: /name="csrf" value="([^"]*)"/.exec(form)![1]!, username, password });
    expect(await isFirst()).toBe(false);
  });

  test('that can be synchronized to other devices is not hardware-bound (RFC 8176)', async () => {
    const user = await service.createUser();
    const key = new Authenticator(service.issuer);
    key.flags = 5 | 8 | 16;
    const agent = await signedIn(user);
    await add(agent, key);
    expect((await agent.get(path)).body).toContain('Synced across your devices');
    expect(hasSignedIn(await signInWith(key))).toBe(true);
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND amr = '{swk,user,mfa}'`, [
      user.sub,
    ]);
    expect(rows).toHaveLength(1);
  });

  test('signs the user in for a client, whose tokens say how (OpenID Connect Core 2)', async () => {
    const { key } = await enrolled();
    const client = await service.createClient({}, { firstParty: true });
    const agent = new UserAgent(service);
    const ask = {
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      response_type: 'code',
      scope: 'openid',
    };
    const page = await agent.follow(await agent.get(`/authorize?${new URLSearchParams(ask).toString()}`));
    const { action, options, fields } = passkeyForm(page);
    expect(Object.keys(fields)).toContain('transaction');
    const after = await agent.follow(await agent.post(action, { ...fields, credential: key.get(options) }));
    expect(after.location).toMatch(/^https:\/\/rp\.example\.com\/callback\?.*code=/);
  });

  test('is requested without a user name, with user verification, by a page that stores nothing (Web Authentication 5.5)', async () => {
    const count = async () =>
      (await service.database.sql('SELECT count(*)::int AS n FROM used_challenges'))[0] as { n: number };
    const before = await count();
    service.ofRequests.length = 0;
    const agent = new UserAgent(service);
    const { options } = passkeyForm(await agent.get('/login'));
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' });
    expect(options).not.toHaveProperty('allowCredentials');
    expect([service.ofRequests, await count()]).toEqual([[], before]);
    expect(passkeyForm(await agent.get('/login')).options.challenge).not.toBe(options.challenge);
  });

  test('is created as discoverable, and its user handle does not reveal the sub (Web Authentication 5.4.3, 14.6.1)', async () => {
    const { user, agent, key } = await enrolled();
    const { options } = passkeyForm(await agent.get(path));
    expect(options).toMatchObject({
      rp: { id: 'localhost' },
      user: { name: user.username },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [{ id: key.credentialId.toString('base64url') }],
    });
    const handle = Buffer.from(options.user!.id, 'base64url');
    expect(handle).toHaveLength(64);
    expect(handle.toString()).not.toContain(user.sub);
    // the handle is the same for the next passkey
    expect(options.user!.id).toBe(key.userHandle);
  });
});

describe('a sign-in', () => {
  let enrolment: Awaited<ReturnType<typeof enrolled>>;
  beforeAll(async () => {
    enrolment = await enrolled();
  });

  test.each<[string, Deviations]>([
    ['of another origin (Web Authentication 7.2 step 9)', { origin: 'https://evil.example' }],
    ['of another relying party (Web Authentication 7.2 step 14)', { rpId: 'evil.example' }],
    ['that creates a passkey (Web Authentication 7.2 step 7)', { type: 'webauthn.create' }],
    ['without user presence (Web Authentication 7.2 step 15)', { flags: 4 }],
    ['without user verification (Web Authentication 7.2 step 16)', { flags: 1 }],
    ['of a device-bound passkey that becomes eligible for backup (Web Authentication 7.2 step 18)', { flags: 5 | 8 }],
    ['that is backed up but not eligible for backup (Web Authentication 7.2 step 17)', { flags: 5 | 16 }],
    ['without a user handle (Web Authentication 7.2 step 6)', { userHandle: undefined }],
    [
      'with the user handle of another account (Web Authentication 7.2 step 6)',
      { userHandle: Buffer.alloc(64).toString('base64url') },
    ],
    [
      'with an invented challenge (Web Authentication 7.2 step 8)',
      { challenge: Buffer.alloc(52).toString('base64url') },
    ],
    [
      'with the signature of another key (Web Authentication 7.2 step 21)',
      { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey },
    ],
    ['of an unknown passkey (Web Authentication 7.2 step 5)', { id: Buffer.alloc(32, 1).toString('base64url') }],
  ])('%s gets the common refusal', async (_, deviations) => {
    const { user, key } = enrolment;
    const failures = (await eventsOf(user, 'user.sign_in_failed')).length;
    const page = await signInWith(key, deviations);
    expect([page.status, page.location, page.headers.get('set-cookie') ?? '']).toEqual([
      400,
      undefined,
      expect.not.stringContaining('JSESSIONOPENID'),
    ]);
    expect(page.body).toContain(refused);
    // the next valid sign-in succeeds
    expect(hasSignedIn(await signInWith(key))).toBe(true);
    expect(await eventsOf(user, 'user.sign_in_failed')).toHaveLength(failures + ('id' in deviations ? 0 : 1));
  });

  test('gets the same refusal for an unknown passkey and for a wrong signature (security R60)', async () => {
    const { key } = enrolment;
    const strip = (page: Page) => withoutReference(page).replace(/(value|data-options)="[^"]*"/g, '');
    const unknown = await signInWith(new Authenticator(service.issuer), { userHandle: key.userHandle });
    const wrong = await signInWith(key, { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey });
    expect([unknown.status, strip(unknown)]).toEqual([wrong.status, strip(wrong)]);
  });

  test('works once: for ten seconds its own form gets another cookie of its session, and all else is a replay (Web Authentication 13.4.3, reports A4)', async () => {
    const { user, key } = await enrolled();
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const sent = new Map(agent.cookies);
    const send = async (cookies: Map<string, string>, form: Record<string, string>) => {
      const browser = new UserAgent(service);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      const page = await browser.post(action, { ...form, credential });
      return { browser, page };
    };
    const signedIn = () =>
      service.database.sql<{ id: string }>(`SELECT id FROM sessions WHERE sub = $1 AND 'hwk' = ANY (amr)`, [user.sub]);
    expect(hasSignedIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    const first = await signedIn();
    // the second click of this form in this browser
    const again = await send(sent, fields);
    expect(hasSignedIn(again.page)).toBe(true);
    expect((await again.browser.get('/account')).body).toContain(user.username);
    expect((await agent.get('/account')).status).toBe(303);
    // a copy of the answer without the form's token, with another form of this browser, and in other browsers
    const signsNothingIn = async ({ browser, page }: Awaited<ReturnType<typeof send>>) => {
      expect([page.status, page.headers.get('set-cookie') ?? '']).toEqual([
        400,
        expect.not.stringContaining('JSESSIONOPENID'),
      ]);
      expect((await browser.get('/account')).status).toBe(303);
    };
    await signsNothingIn(await send(sent, { ...fields, csrf: '' }));
    const second = new UserAgent(service);
    for (const [name, value] of sent) second.cookies.set(name, value);
    const otherForm = passkeyForm(await second.get('/login?destination=passkeys')).fields;
    expect(otherForm['csrf']).not.toBe(fields['csrf']);
    const replay = await send(sent, otherForm);
    await signsNothingIn(replay);
    expect(replay.page.body).toContain(refused);
    await signsNothingIn(await send(new Map(), fields));
    const stranger = new UserAgent(service);
    const theirs = passkeyForm(await stranger.get('/login')).fields;
    await signsNothingIn(await send(stranger.cookies, fields));
    await signsNothingIn(await send(stranger.cookies, theirs));
    await service.database.sql(`UPDATE sessions SET form_at = form_at - interval '10 seconds' WHERE sub = $1`, [
      user.sub,
    ]);
    const late = await send(sent, fields);
    await signsNothingIn(late);
    expect(late.page.body).toContain(refused);
    expect(await signedIn()).toEqual(first);
    const reasons = (await eventsOf(user, 'user.sign_in_failed')).map(({ detail }) => detail['reason']);
    expect(reasons).toEqual(['replayed', 'signature', 'replayed']);
  });

  test('that is sent to two instances at once creates one session (Web Authentication 13.4.3, reports A4)', async () => {
    const { user, key } = await enrolled();
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const browsers = Array.from({ length: 8 }, () => new UserAgent(service));
    const pages = await Promise.all(
      browsers.map((browser, index) =>
        browser.post(service.instances[index % 2]! + action, { ...fields, credential }, { cookie }),
      ),
    );
    expect(pages.map(({ status }) => status)).toEqual(Array(8).fill(303));
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND 'hwk' = ANY (amr)`, [user.sub]);
    expect(rows).toHaveLength(1);
    // each answer replaced the cookie of the one before
    const statuses = await Promise.all(browsers.map(async (browser) => (await browser.get('/account')).status));
    expect(statuses.sort()).toEqual([200, ...Array<number>(7).fill(303)]);
    expect(await eventsOf(user, 'user.signed_in')).toHaveLength(2);
    expect(await eventsOf(user, 'user.sign_in_failed')).toEqual([]);
  });

  test('must answer the challenge of its own browser, and for the same purpose (Web Authentication 13.4.3)', async () => {
    const { agent, key } = enrolment;
    const other = passkeyForm(await new UserAgent(service).get('/login'));
    const adding = passkeyForm(await agent.get(path));
    for (const { challenge } of [other.options, adding.options]) {
      const page = await signInWith(key, { challenge }, agent);
      expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
    }
  });

  test('must arrive within five minutes (Web Authentication 13.4.3)', async () => {
    const { key } = enrolment;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    // the instances use the time of the database: both their clocks are set forward
    const real = Date.now;
    Date.now = () => real() + 5 * 60_000 + 1000;
    try {
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('This page expired')]);
    } finally {
      Date.now = real;
    }
    expect(hasSignedIn(await signInWith(key, {}, agent))).toBe(true);
  });

  test('whose signature counter does not grow is a copy, which is refused and recorded, unless the passkey never counts (Web Authentication 7.2 step 22)', async () => {
    const { user, key } = await enrolled();
    for (const signCount of [0, 0, 7, 8]) expect(hasSignedIn(await signInWith(key, { signCount }))).toBe(true);
    for (const signCount of [8, 3, 0]) {
      const page = await signInWith(key, { signCount });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
    }
    expect(hasSignedIn(await signInWith(key, { signCount: 9 }))).toBe(true);
    const failure = { outcome: 'failure', detail: { reason: 'sign count' } };
    expect(await eventsOf(user, 'user.sign_in_failed')).toMatchObject([failure, failure, failure]);
  });

  test('to a disabled account gets the common refusal (security R60)', async () => {
    const { user, key } = await enrolled();
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
    const page = await signInWith(key);
    expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
  });

  test("from another site or without the page's anti-forgery token is refused (security R55)", async () => {
    const { key } = enrolment;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const foreign = await agent.post(action, { ...fields, credential }, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    const forged = await agent.post(action, { ...fields, csrf: 'x', credential });
    expect([forged.status, forged.body]).toEqual([400, expect.stringContaining('where this form came from')]);
    expect(hasSignedIn(await agent.post(action, { ...fields, credential }))).toBe(true);
  });

  test('with any JSON causes no server error (security R107)', async () => {
    const { key } = enrolment;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const good = JSON.parse(key.get(options)) as Record<string, Record<string, unknown>>;
    const data = (value: string) => Buffer.from(value).toString('base64url');
    const hostile: unknown[] = [
      '',
      '{',
      'null',
      '[]',
      '1',
      '"x"',
      '{"__proto__":{"id":"x"}}',
      `${'['.repeat(5000)}`,
      'x'.repeat(16_000),
      ...['id', 'rawId', 'type', 'response'].flatMap((member) => [
        { ...good, [member]: null },
        { ...good, [member]: 1 },
      ]),
      ...['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'].flatMap((member) =>
        ['', 'A', 'AAAA', '%', data('null'), data('[]'), data('{"challenge":{}}'), data('\u0000')].map((value) => ({
          ...good,
          response: { ...good['response'], [member]: value },
        })),
      ),
    ];
    for (const value of hostile) {
      const credential = typeof value === 'string' ? value : JSON.stringify(value);
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, credential]).toEqual([400, credential]);
    }
    expect((await agent.post(action, { ...fields, credential: 'x'.repeat(70_000) })).status).toBe(413);
    expect(hasSignedIn(await agent.post(action, { ...fields, credential: JSON.stringify(good) }))).toBe(true);
  });
});

describe('the page of passkeys', () => {
  let newAgent: UserAgent;
  beforeAll(async () => {
    newAgent = await signedIn(await service.createUser());
  });

  test('adds and removes passkeys only after a recent sign-in, which continues to the page (security R91)', async () => {
    const { user, agent, key } = await enrolled();
    const page = await agent.get(path);
    const { action, options, fields } = passkeyForm(page);
    await moveSignInIntoPast(user);
    expect((await agent.get(path)).body).toContain('href="/login?destination=passkeys"');
    // the earlier form is refused, too
    const refusedCreation = await agent.post(action, {
      ...fields,
      credential: new Authenticator(service.issuer).create(options),
    });
    expect(refusedCreation.status).toBe(400);
    const stale = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(stale.body)![1]!;
    const redirected = await agent.post(`${path}/remove`, { ...formOf(stale, `${path}/remove`), passkey });
    expect(redirected.location).toBe(`${service.issuer}/login?destination=passkeys`);
    expect(hasSignedIn(await signInWith(key))).toBe(true);
    const { username, password } = user;
    const second = passkeyForm(
      await agent.submit(await agent.get('/login?destination=passkeys'), { username, password }),
    );
    const credential = key.get(second.options);
    const back = await agent.follow(await agent.post(second.action, { ...second.fields, credential }));
    expect([back.url, back.body]).toEqual([`${service.issuer}${path}`, expect.stringContaining('id="use-passkey"')]);
  });

  test('limits names by characters, and a removed passkey no longer signs in (pages, account)', async () => {
    const { user, agent, key } = await enrolled();
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    const rename = formOf(page, `${path}/rename`);
    await agent.post(`${path}/rename`, { ...rename, passkey, name: ` <b>${'é'.repeat(100)} ` });
    expect((await agent.get(path)).body).toContain(`&lt;b&gt;${'é'.repeat(57)}<`);
    const otherUser = await enrolled();
    const theirs = formOf(await otherUser.agent.get(path), `${path}/remove`);
    await otherUser.agent.post(`${path}/remove`, { ...theirs, passkey });
    expect(hasSignedIn(await signInWith(key))).toBe(true);
    const removed = await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    expect(removed.location).toBe(`${service.issuer}${path}?done=removed`);
    expect((await signInWith(key)).body).toContain(refused);
    expect(await eventsOf(user, 'user.second_factor_removed')).toMatchObject([
      { outcome: 'success', detail: { kinds: ['passkey'] } },
    ]);
  });

  test('keeps the last passkey of an account without a password (pages, account)', async () => {
    const { user, agent, key } = await enrolled();
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    const conflict = await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    expect([conflict.status, conflict.body]).toEqual([
      409,
      expect.stringContaining('Without this passkey, you couldn’t sign in. Add another passkey first.'),
    ]);
    expect(hasSignedIn(await signInWith(key))).toBe(true);
  });

  test.each<[string, Deviations]>([
    ['of another origin (Web Authentication 7.1 step 9)', { origin: 'https://evil.example' }],
    ['of another relying party (Web Authentication 7.1 step 14)', { rpId: 'evil.example' }],
    ['without user verification (Web Authentication 7.1 step 16)', { flags: 1 | 64 }],
    ['that is an assertion (Web Authentication 7.1 step 7)', { type: 'webauthn.get' }],
    ['for a foreign challenge (Web Authentication 7.1 step 8)', { challenge: 'AAAA' }],
    ['that is not CBOR', { attestation: Buffer.from('{}') }],
    [
      'with certificates of the manufacturer, which were not requested (Web Authentication 5.4.7)',
      {
        attestation: cbor(
          new Map<string, unknown>([
            ['fmt', 'packed'],
            ['attStmt', new Map<string, unknown>([['x5c', [Buffer.alloc(8)]]])],
            ['authData', Buffer.alloc(37)],
          ]),
        ),
      },
    ],
  ])('accepts no passkey %s', async (_, deviations) => {
    const page = await add(newAgent, new Authenticator(service.issuer), deviations);
    expect([page.status, page.body]).toEqual([
      400,
      expect.stringContaining('Your browser’s response couldn’t be verified'),
    ]);
  });

  test('accepts a credential once, and no passkey of another account (Web Authentication 7.1 step 26)', async () => {
    const { agent, key } = await enrolled();
    const { action, options, fields } = passkeyForm(await agent.get(path));
    expect((await agent.post(action, { ...fields, credential: key.create(options) })).status).toBe(409);
    const other = new Authenticator(service.issuer);
    const credential = other.create(options);
    expect((await agent.post(action, { ...fields, credential })).status).toBe(400);
    const { userHandle } = key;
    const otherAgent = await signedIn(await service.createUser());
    expect((await add(otherAgent, key)).status).toBe(409);
    expect(hasSignedIn(await signInWith(key, { userHandle }))).toBe(true);
  });

  test('limits an account to twenty passkeys (security R105)', async () => {
    const { user, agent } = await enrolled();
    await service.database.sql(
      `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, transports, aaguid, backup_eligible, backed_up, name)
       SELECT 'p' || n, sha256(convert_to($1 || n, 'UTF8')), $1, '', 0, '{}', '00000000-0000-0000-0000-000000000000', false, false, ''
         FROM generate_series(1, 18) n`,
      [user.sub],
    );
    const keys = [new Authenticator(service.issuer), new Authenticator(service.issuer)];
    const forms = [passkeyForm(await agent.get(path)), passkeyForm(await agent.get(path))];
    const pages = await Promise.all(
      forms.map(({ action, options, fields }, index) =>
        agent.post(service.instances[index]! + action, { ...fields, credential: keys[index]!.create(options) }),
      ),
    );
    // the first addition renews the session: the other request may find its session ended, and be redirected to sign-in
    expect(pages.filter(({ headers }) => headers.get('location')?.includes(path) ?? false)).toHaveLength(1);
    expect(await service.store.passkeys.list(user.sub)).toHaveLength(20);
    const refused = pages.find(({ status }) => status === 409);
    if (refused) expect(refused.body).toContain('reached the maximum number of passkeys');
  });

  test('includes passkeys in the download of stored data, without keys (pages, account)', async () => {
    const { agent, key } = await enrolled();
    expect((await agent.get('/account/security')).body).toContain(`href="${path}"`);
    const { body } = await agent.post('/account/data', formOf(await agent.get('/account/data'), '/account/data'));
    expect((JSON.parse(body) as { passkeys: unknown[] }).passkeys).toHaveLength(1);
    expect(body).not.toContain(key.credentialId.toString('base64url'));
  });
});

describe('a passkey after the password', () => {
  async function afterPassword({ username, password }: TestUser, agent = new UserAgent(service)) {
    const page = await agent.submit(await agent.get('/login'), { username, password });
    expect(page.url).toBe(`${service.issuer}/login/second-factor`);
    return { agent, ...passkeyForm(page) };
  }

  test('is requested from those of the user, and accepted without user verification, since the password verified the user (RFC 8176)', async () => {
    const { user, key } = await enrolled();
    const { agent, action, options, fields } = await afterPassword(user);
    expect(options).toMatchObject({
      userVerification: 'preferred',
      allowCredentials: [{ type: 'public-key', id: key.credentialId.toString('base64url'), transports: ['internal'] }],
    });
    const credential = key.get(options, { flags: 1, userHandle: undefined });
    expect(hasSignedIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND amr @> '{pwd,hwk,user,mfa}'`, [
      user.sub,
    ]);
    expect(rows).toHaveLength(1);
  });

  test('of another user, for a sign-in without a password, or sent again by anything but its own form is refused (Web Authentication 7.2 steps 5, 6, 8, reports A4)', async () => {
    const { user, key } = await enrolled();
    const otherUser = await enrolled();
    const { agent, action, options, fields } = await afterPassword(user);
    const alone = passkeyForm(await agent.get('/login')).options;
    for (const credential of [otherUser.key.get(options), key.get(alone), '{}']) {
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('Try again, or use a code.')]);
      expect((await agent.get('/account')).status).toBe(303);
    }
    const cookies = new Map(agent.cookies);
    const credential = key.get(options);
    expect(hasSignedIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    const sessionsByKey = () =>
      service.database.sql(`SELECT id FROM sessions WHERE sub = $1 AND amr @> '{pwd,hwk}'`, [user.sub]);
    const made = await sessionsByKey();
    // the same form in the same browser: a double click, for ten seconds (reports A4)
    const browser = (of: Map<string, string>) => {
      const sender = new UserAgent(service);
      for (const [name, value] of of) sender.cookies.set(name, value);
      return sender;
    };
    const clicked = browser(cookies);
    expect(hasSignedIn(await clicked.post(action, { ...fields, credential }))).toBe(true);
    expect((await clicked.get('/account')).status).toBe(200);
    // a copy of the answer: without the form's token, in another browser, and later
    const attempts: [Map<string, string>, Record<string, string>][] = [
      [cookies, { ...fields, csrf: '' }],
      [(await afterPassword(user)).agent.cookies, fields],
      [new Map(), fields],
    ];
    for (const [of, form] of attempts) {
      const attacker = browser(of);
      expect(hasSignedIn(await attacker.post(action, { ...form, credential }))).toBe(false);
      expect((await attacker.get('/account')).status).toBe(303);
    }
    await service.database.sql(`UPDATE sessions SET form_at = form_at - interval '10 seconds' WHERE sub = $1`, [
      user.sub,
    ]);
    await service.database.sql('UPDATE form_outcomes SET expires_at = now()');
    expect((await browser(cookies).post(action, { ...fields, credential })).status).toBe(400);
    expect(await eventsOf(user, 'user.sign_in_failed')).toHaveLength(4);
    expect(await sessionsByKey()).toEqual(made);
    expect(made).toHaveLength(1);
  });

  test('is not requested once it is removed (pages, account)', async () => {
    const { user, agent } = await enrolled();
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    const { username, password } = user;
    const next = await new UserAgent(service).signIn({ username, password });
    expect(next.url).toBe(`${service.issuer}/account`);
  });
});

describe('an SQL statement', () => {
  test('that adds or removes a passkey is recorded, but not beside the deletion of its user (pages, account)', async () => {
    const { user } = await enrolled();
    await service.database.sql('DELETE FROM passkeys WHERE sub = $1', [user.sub]);
    expect(await eventsOf(user, 'user.second_factor_removed')).toHaveLength(1);
    const other = await enrolled();
    await service.database.sql('DELETE FROM users WHERE sub = $1', [other.user.sub]);
    expect(await eventsOf(other.user, 'user.second_factor_removed')).toHaveLength(0);
    expect(await eventsOf(other.user, 'user.deleted')).toHaveLength(1);
  });
});

test('a service whose host is an IP address requests no passkey (Web Authentication 4)', async () => {
  const withoutHostName = await startTestService({ host: '127.0.0.1' });
  try {
    const agent = new UserAgent(withoutHostName);
    expect((await agent.get('/login')).body).not.toContain('passkey');
    const page = await agent.signIn(await withoutHostName.createUser());
    expect(page.status).toBe(200);
    expect((await agent.get(path)).body).toContain('Passkeys aren’t available at this service’s current address');
  } finally {
    await withoutHostName.stop();
  }
});

/** Reads the hidden fields of one form of a page. */
function formOf(page: Page, action: string): Record<string, string> {
  const form = new RegExp(`<form[^>]* action="${action}"[^>]*>([^]*?)</form>`).exec(page.body)?.[1];
  if (form === undefined) throw new Error(`no form for ${action} on ${page.url} (${page.status})`);
  return { csrf: hiddenFields(form)['csrf']! };
}
