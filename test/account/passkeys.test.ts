// GET and POST /account/passkeys and POST /login/passkey: an authenticator in software makes passkeys, signs in with them, and lies.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Authenticator, cbor, type Lies, passkeyForm } from '../helpers/passkey.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

type User = Awaited<ReturnType<TestService['createUser']>>;

const path = '/account/passkeys';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2 });
});
afterAll(() => service?.stop());

async function signedIn(user: User): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(user);
  return agent;
}
async function add(agent: UserAgent, key: Authenticator, lies: Lies = {}): Promise<Page> {
  const { action, options, fields } = passkeyForm(await agent.get(path));
  return agent.post(action, { ...fields, credential: key.create(options, lies) });
}
/** A person with a passkey, and the browser that it was made in. */
async function enrolled(): Promise<{ user: User; agent: UserAgent; key: Authenticator }> {
  const user = await service.createUser();
  const agent = await signedIn(user);
  const key = new Authenticator(service.issuer);
  const page = await add(agent, key);
  // with the first one come recovery codes
  expect([page.status, page.body]).toEqual([200, expect.stringContaining(`href="${path}?done=added"`)]);
  return { user, agent, key };
}
async function signInWith(key: Authenticator, lies: Lies = {}, agent = new UserAgent(service)): Promise<Page> {
  const { action, options, fields } = passkeyForm(await agent.get('/login'));
  return agent.post(action, { ...fields, credential: key.get(options, lies) });
}
/** An hour ago the person signed in last. */
const age = (user: User) =>
  service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '1 hour' WHERE sub = $1`, [user.sub]);
const eventsOf = ({ sub }: User, type: string) =>
  service.database.sql<{ outcome: string; detail: Record<string, unknown> }>(
    'SELECT outcome, detail FROM audit_events WHERE sub = $1 AND type = $2 ORDER BY id',
    [sub, type],
  );
const isIn = (page: Page) => page.status === 303 && page.location === `${service.issuer}/account`;
const refused = 'That passkey did not sign you in';

describe('a passkey', () => {
  test('is made on the account page, and signs in alone, also where there is no password any more (Web Authentication 7.1, 7.2)', async () => {
    const { user, agent, key } = await enrolled();
    const list = (await agent.get(`${path}?done=added`)).body;
    expect(list).toMatch(/Passkey added[^]*Not used yet/);
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    const browser = new UserAgent(service);
    expect(isIn(await signInWith(key, {}, browser))).toBe(true);
    expect((await browser.get('/account')).body).toContain(user.username);
    const [session] = await service.database.sql('SELECT amr FROM sessions WHERE sub = $1 ORDER BY id DESC LIMIT 1', [
      user.sub,
    ]);
    expect(session).toEqual({ amr: ['hwk', 'user', 'mfa'] });
    expect(await eventsOf(user, 'user.second_factor_added')).toMatchObject([{ outcome: 'success' }]);
    expect((await agent.get(path)).body).not.toContain('Not used yet');
  });

  test('that may be copied to other devices is no key of hardware (RFC 8176)', async () => {
    const user = await service.createUser();
    const key = new Authenticator(service.issuer);
    key.flags = 5 | 8 | 16;
    const agent = await signedIn(user);
    await add(agent, key);
    expect((await agent.get(path)).body).toContain('Kept on several of your devices');
    expect(isIn(await signInWith(key))).toBe(true);
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND amr = '{swk,user,mfa}'`, [
      user.sub,
    ]);
    expect(rows).toHaveLength(1);
  });

  test('signs in on the way to an application, which learns how (OpenID Connect Core 2)', async () => {
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

  test('is asked for without a name, with the person verified, by a page that stores nothing (Web Authentication 5.5)', async () => {
    const count = async () =>
      (await service.database.sql('SELECT count(*)::int AS n FROM used_challenges'))[0] as { n: number };
    const before = await count();
    service.statements.length = 0;
    const agent = new UserAgent(service);
    const { options } = passkeyForm(await agent.get('/login'));
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' });
    expect(options).not.toHaveProperty('allowCredentials');
    expect([service.statements, await count()]).toEqual([[], before]);
    expect(passkeyForm(await agent.get('/login')).options.challenge).not.toBe(options.challenge);
  });

  test('is asked to be one that is found without a name; the name of the account there is no sub (Web Authentication 5.4.3, 14.6.1)', async () => {
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
    // the same for the next one
    expect(options.user!.id).toBe(key.userHandle);
  });
});

describe('a sign-in', () => {
  let person: Awaited<ReturnType<typeof enrolled>>;
  beforeAll(async () => {
    person = await enrolled();
  });

  test.each<[string, Lies]>([
    ['a page of another origin asked for (Web Authentication 7.2 step 9)', { origin: 'https://evil.example' }],
    ['another relying party asked for (Web Authentication 7.2 step 14)', { rpId: 'evil.example' }],
    ['makes a passkey (Web Authentication 7.2 step 7)', { type: 'webauthn.create' }],
    ['nobody was present at (Web Authentication 7.2 step 15)', { flags: 4 }],
    ['verified nobody (Web Authentication 7.2 step 16)', { flags: 1 }],
    ['is of a key that may suddenly be copied (Web Authentication 7.2 step 18)', { flags: 5 | 8 }],
    ['says to be backed up but cannot be (Web Authentication 7.2 step 17)', { flags: 5 | 16 }],
    ['names nobody (Web Authentication 7.2 step 6)', { userHandle: undefined }],
    ['names another account (Web Authentication 7.2 step 6)', { userHandle: Buffer.alloc(64).toString('base64url') }],
    [
      'has a challenge of its own (Web Authentication 7.2 step 8)',
      { challenge: Buffer.alloc(52).toString('base64url') },
    ],
    [
      'signs with another key (Web Authentication 7.2 step 21)',
      { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey },
    ],
    [
      'is of a passkey that nobody has (Web Authentication 7.2 step 5)',
      { id: Buffer.alloc(32, 1).toString('base64url') },
    ],
  ])('that %s is refused as any other', async (_, lies) => {
    const { user, key } = person;
    const failures = (await eventsOf(user, 'user.sign_in_failed')).length;
    const page = await signInWith(key, lies);
    expect([page.status, page.location, page.headers.get('set-cookie') ?? '']).toEqual([
      400,
      undefined,
      expect.not.stringContaining('JSESSIONOPENID'),
    ]);
    expect(page.body).toContain(refused);
    // and the next honest one is taken
    expect(isIn(await signInWith(key))).toBe(true);
    expect(await eventsOf(user, 'user.sign_in_failed')).toHaveLength(failures + ('id' in lies ? 0 : 1));
  });

  test('reads the same for an unknown passkey and for a wrong signature (security R60)', async () => {
    const { key } = person;
    const strip = ({ body }: Page) => body.replace(/(value|data-options)="[^"]*"/g, '');
    const unknown = await signInWith(new Authenticator(service.issuer), { userHandle: key.userHandle });
    const wrong = await signInWith(key, { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey });
    expect([unknown.status, strip(unknown)]).toEqual([wrong.status, strip(wrong)]);
  });

  test('is sent once: again, in the same browser, it is a replay (Web Authentication 13.4.3)', async () => {
    const { user, key } = await enrolled();
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const cookies = new Map(agent.cookies);
    expect(isIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    // as whoever copied the request
    const thief = new UserAgent(service);
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    const again = await thief.post(action, { ...fields, credential });
    expect([again.status, again.body]).toEqual([400, expect.stringContaining(refused)]);
    expect(await eventsOf(user, 'user.sign_in_failed')).toMatchObject([{ detail: { reason: 'replayed' } }]);
  });

  test('sent to two instances at once makes one session (Web Authentication 13.4.3)', async () => {
    const { user, key } = await enrolled();
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const pages = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        new UserAgent(service).post(service.instances[index % 2]! + action, { ...fields, credential }, { cookie }),
      ),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400, 400, 400, 400]);
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND 'hwk' = ANY (amr)`, [user.sub]);
    expect(rows).toHaveLength(1);
  });

  test('answers the challenge of its own browser, and for what it was given (Web Authentication 13.4.3)', async () => {
    const { agent, key } = person;
    const other = passkeyForm(await new UserAgent(service).get('/login'));
    const adding = passkeyForm(await agent.get(path));
    for (const { challenge } of [other.options, adding.options]) {
      const page = await signInWith(key, { challenge }, agent);
      expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
    }
  });

  test('comes within five minutes (Web Authentication 13.4.3)', async () => {
    const { key } = person;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    // the instances go by the time of the database: both their clocks are put forward
    const real = Date.now;
    Date.now = () => real() + 5 * 60_000 + 1000;
    try {
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('This page was open for too long')]);
    } finally {
      Date.now = real;
    }
    expect(isIn(await signInWith(key, {}, agent))).toBe(true);
  });

  test('whose count does not grow is one of a copy, refused and recorded; one that never counts is not (Web Authentication 7.2 step 22)', async () => {
    const { user, key } = await enrolled();
    for (const signCount of [0, 0, 7, 8]) expect(isIn(await signInWith(key, { signCount }))).toBe(true);
    for (const signCount of [8, 3, 0]) {
      const page = await signInWith(key, { signCount });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
    }
    expect(isIn(await signInWith(key, { signCount: 9 }))).toBe(true);
    const failure = { outcome: 'failure', detail: { reason: 'sign count' } };
    expect(await eventsOf(user, 'user.sign_in_failed')).toMatchObject([failure, failure, failure]);
  });

  test('of a disabled account is refused as any other (security R60)', async () => {
    const { user, key } = await enrolled();
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [user.sub]);
    const page = await signInWith(key);
    expect([page.status, page.body]).toEqual([400, expect.stringContaining(refused)]);
  });

  test('from another site, or without the token of the page, is none (security R55)', async () => {
    const { key } = person;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const credential = key.get(options);
    const foreign = await agent.post(action, { ...fields, credential }, { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    const forged = await agent.post(action, { ...fields, csrf: 'x', credential });
    expect([forged.status, forged.body]).toEqual([400, expect.stringContaining('where this form came from')]);
    expect(isIn(await agent.post(action, { ...fields, credential }))).toBe(true);
  });

  test('of whatever JSON never fails here (security R107)', async () => {
    const { key } = person;
    const agent = new UserAgent(service);
    const { action, options, fields } = passkeyForm(await agent.get('/login'));
    const good = JSON.parse(key.get(options)) as Record<string, Record<string, unknown>>;
    const data = (value: string) => Buffer.from(value).toString('base64url');
    const hostile: unknown[] = [
      ...['', '{', 'null', '[]', '1', '"x"', '{"__proto__":{"id":"x"}}', `${'['.repeat(5000)}`, 'x'.repeat(16_000)],
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
    expect(isIn(await agent.post(action, { ...fields, credential: JSON.stringify(good) }))).toBe(true);
  });
});

describe('the page of passkeys', () => {
  let newcomer: UserAgent;
  beforeAll(async () => {
    newcomer = await signedIn(await service.createUser());
  });

  test('adds and removes after a recent sign-in only, and takes the person there and back (security R91)', async () => {
    const { user, agent, key } = await enrolled();
    const page = await agent.get(path);
    const { action, options, fields } = passkeyForm(page);
    await age(user);
    expect((await agent.get(path)).body).toContain('href="/login?destination=passkeys"');
    // the forms of before are not good either
    const made = await agent.post(action, { ...fields, credential: new Authenticator(service.issuer).create(options) });
    expect(made.status).toBe(400);
    const stale = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(stale.body)![1]!;
    const gone = await agent.post(`${path}/remove`, { ...formOf(stale, `${path}/remove`), passkey });
    expect(gone.location).toBe(`${service.issuer}/login?destination=passkeys`);
    expect(isIn(await signInWith(key))).toBe(true);
    const { username, password } = user;
    const second = passkeyForm(
      await agent.submit(await agent.get('/login?destination=passkeys'), { username, password }),
    );
    const credential = key.get(second.options);
    const back = await agent.follow(await agent.post(second.action, { ...second.fields, credential }));
    expect([back.url, back.body]).toEqual([`${service.issuer}${path}`, expect.stringContaining('id="use-passkey"')]);
  });

  test('renames, in as many characters as there are, and removes what signs in no more (issue 6)', async () => {
    const { user, agent, key } = await enrolled();
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    const rename = formOf(page, `${path}/rename`);
    await agent.post(`${path}/rename`, { ...rename, passkey, name: ` <b>${'é'.repeat(100)} ` });
    expect((await agent.get(path)).body).toContain(`&lt;b&gt;${'é'.repeat(57)}<`);
    const otherUser = await enrolled();
    const theirs = formOf(await otherUser.agent.get(path), `${path}/remove`);
    await otherUser.agent.post(`${path}/remove`, { ...theirs, passkey });
    expect(isIn(await signInWith(key))).toBe(true);
    const removed = await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    expect(removed.location).toBe(`${service.issuer}${path}?done=removed`);
    expect((await signInWith(key)).body).toContain(refused);
    expect(await eventsOf(user, 'user.second_factor_removed')).toMatchObject([
      { outcome: 'success', detail: { kinds: ['passkey'] } },
    ]);
  });

  test('keeps the last passkey of an account without a password (issue 6)', async () => {
    const { user, agent, key } = await enrolled();
    await service.database.sql('UPDATE users SET password_hash = NULL WHERE sub = $1', [user.sub]);
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    const kept = await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    expect([kept.status, kept.body]).toEqual([409, expect.stringContaining('your account has no password'.slice(5))]);
    expect(isIn(await signInWith(key))).toBe(true);
  });

  test.each<[string, Lies]>([
    ['of another origin (Web Authentication 7.1 step 9)', { origin: 'https://evil.example' }],
    ['of another relying party (Web Authentication 7.1 step 14)', { rpId: 'evil.example' }],
    ['that verified nobody (Web Authentication 7.1 step 16)', { flags: 1 | 64 }],
    ['that signs instead (Web Authentication 7.1 step 7)', { type: 'webauthn.get' }],
    ['that answers nothing of ours (Web Authentication 7.1 step 8)', { challenge: 'AAAA' }],
    ['that is no CBOR', { attestation: Buffer.from('{}') }],
    [
      'with certificates of its maker, which nobody asked for (Web Authentication 5.4.7)',
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
  ])('takes no passkey %s', async (_, lies) => {
    const page = await add(newcomer, new Authenticator(service.issuer), lies);
    expect([page.status, page.body]).toEqual([
      400,
      expect.stringContaining('What your browser sent could not be used'),
    ]);
  });

  test('takes what was made once, and a passkey that somebody has not again (Web Authentication 7.1 step 26)', async () => {
    const { agent, key } = await enrolled();
    const { action, options, fields } = passkeyForm(await agent.get(path));
    expect((await agent.post(action, { ...fields, credential: key.create(options) })).status).toBe(409);
    const other = new Authenticator(service.issuer);
    const credential = other.create(options);
    expect((await agent.post(action, { ...fields, credential })).status).toBe(400);
    const { userHandle } = key;
    const thief = await signedIn(await service.createUser());
    expect((await add(thief, key)).status).toBe(409);
    expect(isIn(await signInWith(key, { userHandle }))).toBe(true);
  });

  test('holds twenty at most (security R105)', async () => {
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
    // the session of whoever adds one is renewed: the other request may find its own gone, and be sent to sign in
    expect(pages.filter(({ headers }) => headers.get('location')?.includes(path) ?? false)).toHaveLength(1);
    expect(await service.store.passkeys.list(user.sub)).toHaveLength(20);
    const refused = pages.find(({ status }) => status === 409);
    if (refused) expect(refused.body).toContain('as many passkeys as an account may have');
  });

  test('stands in the download of what is stored, without keys (issue 6)', async () => {
    const { agent, key } = await enrolled();
    expect((await agent.get('/account/security')).body).toContain(`href="${path}"`);
    const { body } = await agent.post('/account/data', formOf(await agent.get('/account/data'), '/account/data'));
    expect((JSON.parse(body) as { passkeys: unknown[] }).passkeys).toHaveLength(1);
    expect(body).not.toContain(key.credentialId.toString('base64url'));
  });
});

describe('a passkey after the password', () => {
  async function afterPassword({ username, password }: User, agent = new UserAgent(service)) {
    const page = await agent.submit(await agent.get('/login'), { username, password });
    expect(page.url).toBe(`${service.issuer}/login/second-factor`);
    return { agent, ...passkeyForm(page) };
  }

  test('is asked for, one of the person, and lets in, also where it verifies nobody: the password did (RFC 8176)', async () => {
    const { user, key } = await enrolled();
    const { agent, action, options, fields } = await afterPassword(user);
    expect(options).toMatchObject({
      userVerification: 'preferred',
      allowCredentials: [{ type: 'public-key', id: key.credentialId.toString('base64url'), transports: ['internal'] }],
    });
    const credential = key.get(options, { flags: 1, userHandle: undefined });
    expect(isIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    const rows = await service.database.sql(`SELECT 1 FROM sessions WHERE sub = $1 AND amr @> '{pwd,hwk,user,mfa}'`, [
      user.sub,
    ]);
    expect(rows).toHaveLength(1);
  });

  test('of somebody else, or for the sign-in alone, or sent again is refused (Web Authentication 7.2 steps 5, 6, 8)', async () => {
    const { user, key } = await enrolled();
    const otherUser = await enrolled();
    const { agent, action, options, fields } = await afterPassword(user);
    const alone = passkeyForm(await agent.get('/login')).options;
    for (const credential of [otherUser.key.get(options), key.get(alone), '{}']) {
      const page = await agent.post(action, { ...fields, credential });
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('You can try again, or use a code.')]);
      expect((await agent.get('/account')).status).toBe(303);
    }
    const cookies = new Map(agent.cookies);
    const credential = key.get(options);
    expect(isIn(await agent.post(action, { ...fields, credential }))).toBe(true);
    const thief = new UserAgent(service);
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    expect((await thief.post(action, { ...fields, credential })).status).toBe(400);
    expect(await eventsOf(user, 'user.sign_in_failed')).toHaveLength(4);
  });

  test('is not asked for once it is removed (issue 6)', async () => {
    const { user, agent } = await enrolled();
    const page = await agent.get(path);
    const passkey = /name="passkey" value="([^"]*)"/.exec(page.body)![1]!;
    await agent.post(`${path}/remove`, { ...formOf(page, `${path}/remove`), passkey });
    const { username, password } = user;
    const next = await new UserAgent(service).signIn({ username, password });
    expect(next.url).toBe(`${service.issuer}/account`);
  });
});

describe('by SQL', () => {
  test('a passkey that comes or goes is in the trail, but not beside its user (issue 6)', async () => {
    const { user } = await enrolled();
    await service.database.sql('DELETE FROM passkeys WHERE sub = $1', [user.sub]);
    expect(await eventsOf(user, 'user.second_factor_removed')).toHaveLength(1);
    const other = await enrolled();
    await service.database.sql('DELETE FROM users WHERE sub = $1', [other.user.sub]);
    expect(await eventsOf(other.user, 'user.second_factor_removed')).toHaveLength(0);
    expect(await eventsOf(other.user, 'user.deleted')).toHaveLength(1);
  });
});

test('where the service has an address for a name no passkey is asked for (Web Authentication 4, RP ID)', async () => {
  const bare = await startTestService({ host: '127.0.0.1' });
  try {
    const agent = new UserAgent(bare);
    expect((await agent.get('/login')).body).not.toContain('passkey');
    const page = await agent.signIn(await bare.createUser());
    expect(page.status).toBe(200);
    expect((await agent.get(path)).body).toContain('cannot use passkeys at its present address');
  } finally {
    await bare.stop();
  }
});

/** The hidden fields of one form of a page. */
function formOf(page: Page, action: string): Record<string, string> {
  const form = new RegExp(`<form[^>]* action="${action}"[^>]*>([^]*?)</form>`).exec(page.body)?.[1];
  if (form === undefined) throw new Error(`no form for ${action} on ${page.url} (${page.status})`);
  return { csrf: hiddenFields(form)['csrf']! };
}
