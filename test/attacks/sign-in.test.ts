// Attacks sign-in: one account under many spellings, answers that reveal accounts, other addresses that check a password, unusual
// passwords.
import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import {
  authorizationUrl,
  hiddenFields,
  type Page,
  responseParameters,
  UserAgent,
  withoutReference,
} from '../helpers/user-agent.ts';
import { basic, form, register, second } from '../spec/kit.ts';
import { attack } from './attack.ts';

const limit = 7;
const wrong = 'not the password at all';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({
    fullPasswordWork: true,
    instances: 2,
    environment: { ...withoutLimits, LIMIT_SIGN_IN_PER_ACCOUNT: String(limit) },
  });
});
afterAll(() => service?.stop());

const guess = (username: string, password: string) => new UserAgent(service).signIn({ username, password });
const isIn = (page: Page) => page.url.endsWith('/account') && page.status === 200;

attack(
  {
    id: 'A75',
    name: 'One account, many spellings',
    request:
      'Wrong passwords for one account, each under another spelling: user name, e-mail address, capitals, full-width letters, spaces around it',
    answer: 'One counter: all together reach the limit, and then no spelling signs in with the right password',
    source: 'CVE-2025-24806, CVE-2026-19607',
    requirements: ['R61'],
  },
  async () => {
    const alice = await service.createUser({ username: 'Alice', email: 'alice@x.example' });
    const wide = (text: string) =>
      text.replace(/[a-z]/g, (letter) => String.fromCodePoint(letter.codePointAt(0)! + 0xfee0));
    const spellings = ['alice', 'ALICE', 'alice@x.example', 'Alice@X.Example', wide('alice'), 'alice ', ' aLiCe'];
    expect(spellings).toHaveLength(limit);
    for (const spelling of spellings) expect((await guess(spelling, wrong)).status).toBe(400);
    const right = await Promise.all(spellings.map((spelling) => guess(spelling, alice.password)));
    for (const page of right) expect([page.status, isIn(page)]).toEqual([400, false]);
    // one guess less leaves sign-in possible, and other accounts are not affected
    const bob = await service.createUser();
    for (let count = 1; count < limit; count++) await guess(bob.username, wrong);
    expect(isIn(await guess(bob.username, bob.password))).toBe(true);
  },
);

attack(
  {
    id: 'A77',
    name: 'Enumeration of accounts',
    request:
      'Sign-in with an unknown name, a wrong password, a throttled, a disabled and an unverified account and one without a password; login_hint and registration with known and unknown users',
    answer: 'Status, body, headers, cookies and the work of password hashing are the same',
    source: 'CVE-2026-4633, CVE-2024-41952',
    requirements: ['R60'],
  },
  async () => {
    const name = () => `u-${randomBytes(5).toString('hex')}`;
    const made = (user: Parameters<TestService['createUser']>[0]) => service.createUser({ username: name(), ...user });
    const known = await made({ email: 'known@x.example', emailVerified: true });
    const unverified = await made({ email: 'new@x.example' });
    const throttled = await made({});
    const disabled = await made({});
    await service.store.users.update(disabled.sub, { status: 'disabled' });
    const without = await call(`${service.issuer}/admin/api/users`, {
      token: await adminToken(service),
      body: { username: name() },
    });
    expect(without.status).toBe(201);
    // counted before any password is checked: so many at once exceed the limit
    await Promise.all(Array.from({ length: limit }, () => guess(throttled.username, wrong)));
    await guess(name(), wrong);

    const verify = vi.spyOn(argon2, 'verify');
    const hash = vi.spyOn(argon2, 'hash');
    try {
      const client = await service.createClient();
      const observed = async (username: string, password: string) => {
        const agent = new UserAgent(service);
        const page = await agent.follow(await agent.get(authorizationUrl(service.issuer, client)));
        verify.mockClear();
        hash.mockClear();
        const fields = { ...hiddenFields(page.body), username, password };
        return {
          ...seen(await agent.post('/login', fields), username),
          hashes: [verify.mock.calls.length, hash.mock.calls.length],
        };
      };
      const answers = [
        await observed(known.username, wrong),
        await observed(name(), wrong),
        await observed(throttled.username, wrong),
        await observed(throttled.username, throttled.password),
        await observed(disabled.username, disabled.password),
        await observed(disabled.username, wrong),
        await observed(unverified.username, wrong),
        await observed(without.body['username'] as string, wrong),
      ];
      expect(answers[0]).toMatchObject({ status: 400, hashes: [1, 0] });
      for (const answer of answers) expect(answer).toEqual(answers[0]);

      const hinted = async (login_hint: string, more: Record<string, string> = {}) => {
        const agent = new UserAgent(service);
        const page = await agent.get(authorizationUrl(service.issuer, client, { login_hint, ...more }));
        const end = seen(await agent.follow(page), login_hint);
        return { ...end, error: more['prompt'] === 'none' ? responseParameters(page) : undefined };
      };
      for (const more of [{}, { prompt: 'none' }] as Record<string, string>[])
        expect(await hinted(known.username, more)).toEqual(await hinted(name(), more));
      const registered = async (contact: string) => {
        const { status, body } = await register(service, { contacts: [contact] });
        return { status, members: Object.keys(body) };
      };
      expect(await registered('known@x.example')).toEqual(await registered('nobody@x.example'));
    } finally {
      verify.mockRestore();
      hash.mockRestore();
    }
  },
);

/** Everything that a browser can see of an answer, except what differs each time. */
function seen(page: Page, typed: string) {
  const volatile = ['date', 'set-cookie', 'location'];
  return {
    status: page.status,
    body: withoutReference(page)
      .replaceAll(typed, 'TYPED')
      .replaceAll(/(name="(csrf|transaction)" value|data-options)="[^"]*"/g, '$1')
      .replaceAll(/\?transaction=[\w-]{43}(?="|&amp;)/g, '?transaction='),
    headers: [...page.headers].filter(([name]) => !volatile.includes(name)),
    cookies: page.headers.getSetCookie().map((line) => line.replace(/=[^;]*/, '=')),
  };
}

attack(
  {
    id: 'A79',
    name: 'Every address that checks a password',
    request:
      'The guesses go in turn through the sign-in page, an authorization request, the form of another signed-in user, the administrators’ sign-in, another instance and the change of the password; then a password as a grant and as Basic credentials',
    answer: 'All of them share one counter and refuse at its limit; no other address accepts a user’s password',
    source: 'CVE-2025-64102, CVE-2026-9798, CVE-2026-16103, GHSA-25rw-g6ff-fmg8',
    requirements: ['R64'],
  },
  async () => {
    const alice = await service.createUser({ username: `alice-${randomBytes(4).toString('hex')}`, admin: true });
    const client = await service.createClient();
    const bob = await service.createUser();
    const bobs = new UserAgent(service);
    await bobs.signIn(bob);
    const alices = new UserAgent(service);
    await alices.signIn(alice);
    alices.cookies.delete('GATEHOUSE_KNOWN_BROWSER');
    const signIns: Record<string, () => Promise<[UserAgent, Page]>> = {
      'sign-in page': async () => open('/login'),
      'authorization request': async () => open(authorizationUrl(service.issuer, client)),
      'fresh sign-in': async () => open(authorizationUrl(service.issuer, client, { prompt: 'login' }), bobs),
      'switch of account': async () => open('/login', bobs),
      administrators: async () => open('/admin/registration'),
      'another instance': async () => {
        const agent = new UserAgent({ issuer: second(service) });
        return [agent, await agent.get('/login')];
      },
      'change of password': async () => open('/account/password', alices),
    };
    async function open(address: string, agent = new UserAgent(service)): Promise<[UserAgent, Page]> {
      return [agent, await agent.follow(await agent.get(address))];
    }
    const through = async (name: string, password: string) => {
      const [agent, page] = await signIns[name]!();
      const { pathname } = new URL(page.url);
      const own = pathname === '/account/password';
      const typed: Record<string, string> = own
        ? { current_password: password, new_password: 'three umbrellas under a lighthouse' }
        : { username: alice.username, password };
      const fields = { ...hiddenFields(page.body), ...typed };
      return agent.post(own ? pathname : '/login', fields, { origin: service.issuer });
    };
    const names = Object.keys(signIns);
    for (let count = 0; count < limit; count++)
      expect((await through(names[count % names.length]!, wrong)).status).toBe(400);
    for (const name of names) expect((await through(name, alice.password)).status, name).toBe(400);

    const { username, password } = await service.createUser();
    const authorization = basic(username, password);
    const granted = await form(
      `${service.issuer}/token`,
      { grant_type: 'password', username, password },
      { authorization: client.basic },
    );
    expect(granted).toMatchObject({ status: 400, body: { error: 'unsupported_grant_type' } });
    for (const path of [
      '/admin/api/users',
      '/metrics',
      '/user/me/info',
      '/user/info',
      '/register/x',
      '/user/me/settings',
    ])
      expect((await call(service.issuer + path, { headers: { authorization } })).status, path).toBe(401);
    for (const path of ['/introspect', '/revoke', '/token'])
      expect(
        (await form(service.issuer + path, { token: 'x', grant_type: 'client_credentials' }, { authorization })).status,
        path,
      ).toBe(401);
    expect((await register(service, {}, { authorization })).status).toBe(401);
    // none of these requests tried the password
    expect(isIn(await guess(username, password))).toBe(true);
  },
);

attack(
  {
    id: 'A80',
    name: 'Unusual passwords',
    request:
      'Passwords that differ at byte 80 only, in emoji, in a space at an end, in an accent; with NUL, a lone surrogate, of 2 KB and of 1 MiB',
    answer:
      'Every difference counts and no character is trimmed; NUL, invalid text and too long passwords are refused before any hashing',
    source: 'OWASP ASVS 6.2',
    requirements: ['R59', 'R107'],
  },
  async () => {
    const token = await adminToken(service);
    const create = (password: string) =>
      call(`${service.issuer}/admin/api/users`, {
        token,
        body: { username: `u-${randomBytes(5).toString('hex')}`, password },
      });
    const long = randomBytes(40).toString('hex').slice(0, 79);
    const kinds: [string, string, ...string[]][] = [
      [`${long}A tail`, `${long}B tail`, long, `${long}A tai`],
      ['🔑🚪🏰⚓🌊🐙🦀🐠🐳🚢🧭🗺️', '🔑🚪🏰⚓🌊🐙🦀🐠🐳🚢🧭🗺'],
      [' quill marmot saffron ', 'quill marmot saffron', ' quill marmot saffron', ' Quill marmot saffron '],
      ['caf\u00e9 quill marmot', 'cafe quill marmot'],
      ['日本語のとても長い合言葉です', '日本語のとても長い合言葉で'],
    ];
    for (const [password, ...others] of kinds) {
      const made = await create(password);
      expect(made.status, password).toBe(201);
      const username = made.body['username'] as string;
      for (const other of others) expect(isIn(await guess(username, other)), other).toBe(false);
      expect(isIn(await guess(username, password)), password).toBe(true);
    }
    for (const password of [
      'with a \0 in the midst',
      'with a lone \ud800 in it',
      'x'.repeat(129),
      'too short',
      'y'.repeat(70_000),
    ])
      expect((await create(password)).status).toBe(password.length > 60_000 ? 413 : 400);

    const person = await service.createUser();
    const verify = vi.spyOn(argon2, 'verify');
    try {
      const agent = new UserAgent(service);
      const fields = new URLSearchParams({
        ...hiddenFields((await agent.get('/login')).body),
        username: person.username,
      });
      for (const [encoded, status] of [
        ['%00', 400],
        [`${encodeURIComponent(person.password)}%00`, 400],
        ['%ed%a0%80', 400],
        ['%ff', 400],
        ['x'.repeat(2048), 400],
        ['x'.repeat(1024 * 1024), 413],
      ] as const) {
        const page = await agent.fetch('/login', {
          method: 'POST',
          body: `${fields.toString()}&password=${encoded}`,
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            origin: service.issuer,
            'sec-fetch-site': 'same-origin',
          },
        });
        expect(page.status, encoded.slice(0, 60)).toBe(status);
      }
      expect(verify).not.toHaveBeenCalled();
    } finally {
      verify.mockRestore();
    }
    expect(isIn(await guess(person.username, person.password))).toBe(true);
  },
);
