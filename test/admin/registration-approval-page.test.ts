// The approval page shows a registration to an administrator who signed in recently, and takes one decision.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';

type Person = Awaited<ReturnType<TestService['createUser']>>;

const withoutCodeLimit = { ...withoutLimits, LIMIT_VERIFICATION_CODES: '0' };
let service: TestService;
let ada: Person;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutCodeLimit });
  ada = await service.createUser({ username: 'ada', admin: true });
});
afterAll(() => service?.stop());

const sql = (text: string, values: unknown[] = []) => service.database.sql<Record<string, string>>(text, values);

interface Deferred {
  name: string;
  registrationCode: string;
  code: string;
  address: string;
}
async function defer(metadata: Record<string, unknown> = {}, of = service): Promise<Deferred> {
  const name = `Harbour ${randomUUID().slice(0, 8)}`;
  const body = {
    client_name: name,
    redirect_uris: ['https://rp.example.com/callback'],
    registration_mode: ['approval'],
    ...metadata,
  };
  const answer = (await call(`${of.issuer}/register`, { body })).body as Record<string, string>;
  return {
    name,
    registrationCode: answer['registration_code']!,
    code: answer['verification_code']!,
    address: answer['verification_uri_complete']!,
  };
}
const poll = ({ registrationCode }: Deferred, of = service) =>
  call(`${of.issuer}/register`, { body: { registration_code: registrationCode } });
const expectPending = async (deferred: Deferred) => {
  await sql(`UPDATE deferred_registrations SET next_poll_at = now()`);
  expect(await poll(deferred)).toMatchObject({ status: 202 });
};

async function signedIn(person: Person = ada): Promise<UserAgent> {
  const agent = new UserAgent(service);
  await agent.signIn(person);
  return agent;
}
const title = (page: Page) => /<h1>(.*?)<\/h1>/s.exec(page.body)?.[1]?.replace(/<[^>]*>/g, '');
const ageSignIn = (seconds: number, { sub }: Person) =>
  sql(`UPDATE sessions SET auth_time = auth_time - make_interval(secs => $1) WHERE sub = $2`, [seconds, sub]);

describe('the page', () => {
  test('a signed-out user signs in first, and returns to the page with the code (draft-dellaert-oauth-approval-based-dcr 4)', async () => {
    const deferred = await defer();
    const agent = new UserAgent(service);
    const login = await agent.follow(await agent.get(deferred.address));
    expect(login.url).toBe(`${service.issuer}/login?destination=registration.${deferred.code}`);
    expect(login.body).toContain('to review a new application');
    const wrong = await agent.submit(login, { username: 'ada', password: 'not the password' });
    const page = await agent.submit(wrong, { username: 'ada', password: ada.password });
    expect(page.url).toBe(deferred.address);
    expect(title(page)).toBe(`Approve ${deferred.name}?`);
    const empty = new UserAgent(service);
    const asked = await empty.signIn(ada, await empty.follow(await empty.get('/admin/registration')));
    expect(asked.url).toBe(`${service.issuer}/admin/registration`);
    expect(title(asked)).toBe('Review a new application');
  });

  test.each([
    'https://evil.example',
    '//evil.example',
    'registration.https',
    'registration.BCDF-GHJK&x',
    'account',
    '',
  ])('the sign-in form ignores the destination %j (security R55)', async (destination) => {
    const agent = new UserAgent(service);
    const login = await agent.get(`/login?destination=${encodeURIComponent(destination)}`);
    expect(hiddenFields(login.body)).not.toHaveProperty('destination');
    const page = await agent.submit(login, { username: 'ada', password: ada.password, destination });
    expect(page.url).toBe(`${service.issuer}/account`);
  });

  test('the sign-in refuses a destination that its form did not hold (security R55)', async () => {
    const agent = new UserAgent(service);
    const page = await agent.submit(await agent.get('/login'), {
      username: 'ada',
      password: ada.password,
      destination: 'registration',
    });
    expect(page).toMatchObject({ status: 400, url: `${service.issuer}/login` });
  });

  test('the page is closed to a user who is not an administrator, or no longer one (security R89)', async () => {
    const deferred = await defer();
    const person = await service.createUser({ admin: true });
    const agent = await signedIn(person);
    const form = hiddenFields((await agent.get(deferred.address)).body);
    await sql('UPDATE users SET admin = false WHERE sub = $1', [person.sub]);
    // losing the admin flag ended the session
    expect((await agent.get('/admin/registration')).location).toContain('/login');
    await agent.signIn(person);
    for (const page of [
      await agent.get('/admin/registration'),
      await agent.get(deferred.address),
      await agent.post('/admin/registration', { ...form, decision: 'approve' }),
    ]) {
      expect(page.status).toBe(403);
      expect(title(page)).toBe('Administrators only');
      expect(page.body).not.toContain(deferred.name);
    }
    await expectPending(deferred);
  });

  test('the page needs a sign-in within 15 minutes, to show a registration and to decide (security R91, A112)', async () => {
    const deferred = await defer();
    const person = await service.createUser({ admin: true });
    const agent = await signedIn(person);
    await ageSignIn(14 * 60, person);
    const shown = await agent.get(deferred.address);
    expect(shown.status).toBe(200);
    await ageSignIn(2 * 60, person);
    for (const page of [
      await agent.get(deferred.address),
      await agent.post('/admin/registration', { ...hiddenFields(shown.body), decision: 'approve' }),
    ])
      expect(page).toMatchObject({
        status: 303,
        location: `${service.issuer}/login?destination=registration.${deferred.code}`,
      });
    await expectPending(deferred);
    const login = await agent.follow(await agent.get(deferred.address));
    expect(login.body).toContain('Confirm it’s you');
    const back = await agent.signIn(person, login);
    expect(title(back)).toBe(`Approve ${deferred.name}?`);
    // the form from before the new sign-in is no longer valid
    const old = await agent.post('/admin/registration', { ...hiddenFields(shown.body), decision: 'approve' });
    expect(old.status).toBe(403);
    await expectPending(deferred);
    await agent.submit(back, { decision: 'approve' });
    expect(await poll(deferred)).toMatchObject({ status: 201 });
  });

  test('the page cannot be framed or prefetched, has no script, and sends its form only to this service (security R8, R96)', async () => {
    const agent = await signedIn();
    const { address } = await defer();
    const page = await agent.get(address);
    expect(page.headers.get('content-security-policy')).toContain(`default-src 'none'`);
    expect(page.headers.get('content-security-policy')).toContain(`form-action 'self';`);
    expect(page.headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.body).not.toContain('<script');
    expect((await agent.get(address, { 'sec-fetch-dest': 'iframe' })).status).toBe(403);
    expect((await agent.get(address, { 'sec-purpose': 'prefetch' })).status).toBe(403);
  });
});

describe('a verification code', () => {
  test.each<[string, (code: string) => string]>([
    ['in lower case', (code) => code.toLowerCase()],
    ['without its hyphen', (code) => code.replace('-', '')],
    ['with spaces and other punctuation', (code) => ` ${code.replace('-', ' – ')}. `],
  ])('a code is accepted %s (RFC 8628 6.1)', async (_how, typed) => {
    const deferred = await defer();
    const agent = await signedIn();
    const asked = await agent.get('/admin/registration');
    expect(asked.body).toContain('<form method="get" action="/admin/registration">');
    const page = await agent.get(
      `/admin/registration?${new URLSearchParams({ verification_code: typed(deferred.code) })}`,
    );
    expect(title(page)).toBe(`Approve ${deferred.name}?`);
    expect(page.body).toContain(`dir="ltr">${deferred.code}</p>`);
  });

  test('a code that is wrong, expired, decided or cancelled shows nothing, with the same page for each (draft-dellaert-oauth-approval-based-dcr 6.3)', async () => {
    const agent = await signedIn();
    const [over, approved, refused, cancelled, collected] = await Promise.all(Array.from({ length: 5 }, () => defer()));
    const idOf = async ({ name }: Deferred) =>
      (await sql(`SELECT client_id FROM clients WHERE metadata ->> 'client_name' = $1`, [name]))[0]!['client_id'];
    await sql(`UPDATE deferred_registrations SET expires_at = now() WHERE client_id = $1`, [await idOf(over!)]);
    for (const one of [approved, collected])
      await sql(`UPDATE clients SET status = 'enabled' WHERE client_id = $1`, [await idOf(one!)]);
    await agent.submit(await agent.get(refused!.address), { decision: 'refuse' });
    await call(`${service.issuer}/register`, {
      body: { registration_code: cancelled!.registrationCode, cancel_registration: true },
    });
    await poll(collected!);
    const codes = [over, approved, refused, cancelled, collected].map((one) => one!.code);
    const bodies = new Set<string>();
    for (const code of [...codes, 'BCDF-GHJK', 'AEIO-UUUU', 'x', '"><script>alert(1)</script>']) {
      const page = await agent.get(`/admin/registration?${new URLSearchParams({ verification_code: code })}`);
      expect(page.status).toBe(400);
      expect(page.body).toContain('No application found for this code');
      // the field holds the code of this request, and so do the links to other languages if it is one word
      bodies.add(page.body.replace(/value="[^"]*"/, '').replace(/<footer class="foot">\s*<details[^]*?<\/footer>/, ''));
    }
    expect(bodies.size).toBe(1);
  });

  test('wrong codes are limited by administrator and by network, and beyond the limit the right code is refused, too (draft-dellaert-oauth-approval-based-dcr 6.3)', async () => {
    const strict = await startTestService({
      basePath: '/idp',
      environment: { LIMIT_VERIFICATION_CODES: '2', TRUST_PROXY: '127.0.0.0/8,::1' },
    });
    try {
      const people = await Promise.all([1, 2, 3].map(() => strict.createUser({ admin: true })));
      const agents = people.map(() => new UserAgent(strict));
      for (const [n, agent] of agents.entries()) await agent.signIn(people[n]!);
      const deferred = await defer({}, strict);
      expect(deferred.address).toBe(`${strict.issuer}/admin/registration?verification_code=${deferred.code}`);
      const look = (agent: UserAgent, code: string, address: string) =>
        agent.get(`/admin/registration?verification_code=${code}`, { 'x-forwarded-for': address });
      // a right code does not count
      for (let n = 0; n < 4; n++) expect((await look(agents[0]!, deferred.code, '192.0.2.1')).status).toBe(200);
      for (let n = 0; n < 2; n++) expect((await look(agents[0]!, 'BCDF-GHJK', `192.0.2.${n}`)).status).toBe(400);
      const refused = await look(agents[0]!, deferred.code, '198.51.100.1');
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
      expect(refused.body).toMatch(/Please try again in 1[45] minutes\./);
      expect(refused.body).not.toContain(deferred.name);
      expect((await look(agents[1]!, deferred.code, '192.0.2.9')).status).toBe(429);
      expect((await look(agents[2]!, deferred.code, '203.0.113.1')).status).toBe(200);
    } finally {
      await strict.stop();
    }
  });

  test('a link with a code approves nothing by itself (draft-dellaert-oauth-approval-based-dcr 6.2, 6.3)', async () => {
    const deferred = await defer();
    const agent = await signedIn();
    for (const query of ['', '&decision=approve', '&decision=approve&version=1'])
      expect((await agent.get(deferred.address + query)).status).toBe(200);
    await expectPending(deferred);
  });
});

test('the page shows since when the hosts are known, and which client has a similar name (security R48)', async () => {
  const agent = await signedIn();
  const known = await service.createClient({ client_name: 'Paymaster', redirect_uris: ['https://pay.example.com/cb'] });
  const { address } = await defer({
    client_name: 'Payrnaster',
    redirect_uris: ['https://pay.example.com/other', 'https://never-seen.example/cb'],
  });
  const { body } = await agent.get(address);
  expect(body).toMatch(/pay\.example\.com<\/bdi><p class="small">Known since .* 1 enabled client uses this host\./);
  expect(body).toMatch(/never-seen\.example<\/bdi> Not used by any client before/);
  expect(body).toContain(`<a href="/admin/clients/${known.clientId}"><bdi>Paymaster</bdi></a> looks the same`);
});

test('the page shows the whole registration: its type, its addresses, its rights and its origin (draft-dellaert-oauth-approval-based-dcr 4)', async () => {
  const agent = await signedIn();
  const metadata = {
    redirect_uris: ['https://rp.example.com/callback', 'https://other.example.net:8443/cb'],
    post_logout_redirect_uris: ['https://rp.example.com/bye'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: {
      keys: [
        { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', kid: 'k-1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      ],
    },
    scope: 'openid email scope offline_access',
    uma_profile: true,
    require_pkce: true,
    contacts: ['ops@rp.example.com'],
    client_uri: 'https://rp.example.com/',
    policy_uri: 'https://rp.example.com/privacy',
    tos_uri: 'https://rp.example.com/terms',
    resource_uris: ['https://api.rp.example.com/'],
    unknown_member: 'dropped',
  };
  const deferred = await defer(metadata);
  const { body } = await agent.get(deferred.address);
  for (const text of [
    ...metadata.redirect_uris,
    '<bdi dir="ltr">rp.example.com</bdi>',
    '<bdi dir="ltr">other.example.net:8443</bdi>',
    'Authorization code (users sign in)',
    'Refresh token (renews access)',
    'JWT signed with the client’s private key',
    'OKP EdDSA k-1',
    'See your email address',
    'See your user name and groups',
    'Stay connected when you’re not using it',
    'UMA: uses authorization codes to read user data',
    'ops@rp.example.com',
    '<a href="https://rp.example.com/" rel="noopener noreferrer">',
    '<a href="https://rp.example.com/privacy" rel="noopener noreferrer">',
    '<a href="https://rp.example.com/terms" rel="noopener noreferrer">',
    'post_logout_redirect_uris',
    'https://rp.example.com/bye',
    'require_pkce',
    'https://api.rp.example.com/',
    '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    '<time datetime="20',
  ])
    expect(body).toContain(text);
  expect(body).toMatch(/<dt>From<\/dt><dd><bdi dir="ltr">(127\.0\.0\.1|::1)<\/bdi>/);
  expect(body).not.toContain('unknown_member');
  expect(body).not.toContain('<img');
  const buttons = [...body.matchAll(/<button type="submit" form="(\w+)" class="([^"]*)" id="(\w+)"/g)];
  expect(buttons.map(([, form, look, id]) => ({ form, look, id }))).toEqual([
    { form: 'approval', look: 'button', id: 'approve' },
    { form: 'refusal', look: 'button', id: 'refuse' },
  ]);
});

describe('a decision', () => {
  test('an approval enables the client at its next poll, and records the administrator (draft-dellaert-oauth-approval-based-dcr 4.1, security R91)', async () => {
    const deferred = await defer();
    const agent = await signedIn();
    const page = await agent.submit(await agent.get(deferred.address), { decision: 'approve' });
    expect(page.status).toBe(200);
    expect(title(page)).toBe(`${deferred.name} was approved`);
    expect(page.body).toContain('receives its credentials the next time it checks');
    const collected = await call(`${service.instances[1]}/register`, {
      body: { registration_code: deferred.registrationCode },
    });
    expect(collected).toMatchObject({ status: 201, body: { status: 'enabled' } });
    const events = await sql(
      `SELECT type, actor, outcome, host(address) AS address FROM audit_events WHERE client_id = $1 ORDER BY id`,
      [collected.body['client_id']],
    );
    expect(events).toMatchObject([
      { type: 'client.registered', actor: collected.body['client_id'] },
      { type: 'client.approved', actor: ada.sub, outcome: 'success', address: expect.any(String) },
      { type: 'client.collected', actor: collected.body['client_id'] },
    ]);
    const line = service.logs.find((log) => log['event'] === 'client.approved' && log['actor'] === ada.sub);
    expect(line).toBeDefined();
  });

  test.each([
    ['with a reason', 'Nobody here knows it.', 'Nobody here knows it.'],
    ['with a reason that only a page can show', 'Кто это?', 'an administrator did not approve this registration'],
    ['without one', ' ', 'An administrator did not approve this registration.'],
  ])(
    'a refusal %s is reported to the registrant and recorded (draft-dellaert-oauth-approval-based-dcr 3.3.5)',
    async (_how, reason, description) => {
      const deferred = await defer();
      const agent = await signedIn();
      const page = await agent.submit(await agent.get(deferred.address), { decision: 'refuse', reason });
      expect(title(page)).toBe(`${deferred.name} was not approved`);
      if (reason.trim() !== '') expect(page.body).toContain(reason);
      expect(await poll(deferred)).toMatchObject({
        status: 400,
        body: { error: 'access_denied', error_description: description },
      });
      const events = await sql(`SELECT type FROM audit_events WHERE actor = $1 AND type = 'client.refused'`, [ada.sub]);
      expect(events.length).toBeGreaterThan(0);
    },
  );

  test('a decision names the version that its page showed: after a change it gets 409 and the current registration (security R90)', async () => {
    const deferred = await defer();
    const agent = await signedIn();
    const shown = await agent.get(deferred.address);
    const token = await adminToken(service);
    const id = hiddenFields(shown.body)['client_id']!;
    const changed = await call(`${service.issuer}/admin/api/clients/${id}`, {
      method: 'PATCH',
      token,
      body: { client_name: 'Mooring' },
    });
    expect(changed.status).toBe(200);
    for (const decision of ['approve', 'refuse']) {
      const page = await agent.submit(shown, { decision });
      expect(page.status).toBe(409);
      expect(page.body).toContain('The application changed while you reviewed it');
      expect(title(page)).toBe('Approve Mooring?');
      await expectPending(deferred);
    }
    // nor is a version accepted that no page showed
    const forged = await agent.submit(shown, { decision: 'approve', version: '2' });
    expect(forged.status).toBe(403);
    await expectPending(deferred);
    const page = await agent.submit(await agent.get(deferred.address), { decision: 'approve' });
    expect(title(page)).toBe('Mooring was approved');
  });

  test('a decision is accepted only from its page in its browser (security R55, A112)', async () => {
    const deferred = await defer();
    const other = await defer();
    const bob = await service.createUser({ admin: true });
    const [agent, another] = [await signedIn(), await signedIn(bob)];
    const form = hiddenFields((await agent.get(deferred.address)).body);
    const approve: Record<string, string> = { ...form, decision: 'approve' };
    const post = (fields: Record<string, string | undefined>, headers = {}, by = agent) =>
      by.post('/admin/registration', fields as Record<string, string>, headers);
    const { csrf, ...without } = approve;
    expect(csrf).toBeDefined();
    expect((await post(without)).status).toBe(403);
    expect((await post(approve, {}, another)).status).toBe(403);
    const foreign = hiddenFields((await agent.get(other.address)).body);
    expect((await post({ ...approve, csrf: foreign['csrf']! })).status).toBe(403);
    expect((await post({ ...approve, client_id: foreign['client_id']! })).status).toBe(403);
    expect((await post({ ...approve, verification_code: other.code })).status).toBe(403);
    expect((await post(approve, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await post(approve, { origin: 'https://evil.example' })).status).toBe(403);
    for (const wrong of [{ decision: 'maybe' }, { version: 'x' }, { version: '99999999999' }, { client_id: 'a\0' }])
      expect((await post({ ...approve, ...wrong })).status).toBe(400);
    expect(
      (
        await agent.fetch('/admin/registration', {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(415);
    const signedOut = await new UserAgent(service).post('/admin/registration', approve);
    expect(signedOut.location).toContain('/login?destination=registration.');
    await expectPending(deferred);
    await expectPending(other);
    expect((await post(approve)).status).toBe(200);
  });

  test('only one of ten concurrent decisions by two administrators takes effect (security R90)', async () => {
    const deferred = await defer();
    const bob = await service.createUser({ admin: true });
    const agents = [await signedIn(), await signedIn(bob)];
    const forms = await Promise.all(
      agents.map(async (agent) => hiddenFields((await agent.get(deferred.address)).body)),
    );
    const pages = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        agents[n % 2]!.post(`${service.instances[n % 2]}/admin/registration`, {
          ...forms[n % 2]!,
          decision: n % 4 < 2 ? 'approve' : 'refuse',
        }),
      ),
    );
    expect(pages.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(pages.filter(({ status }) => status === 409)).toHaveLength(9);
    const events = await sql(
      `SELECT type FROM audit_events WHERE client_id = $1 AND type IN ('client.approved', 'client.refused')`,
      [forms[0]!['client_id']],
    );
    expect(events).toHaveLength(1);
  });

  test('a decision on a registration that was cancelled or expired meanwhile changes nothing (draft-dellaert-oauth-approval-based-dcr 6.3)', async () => {
    const agent = await signedIn();
    const [over, cancelled] = [await defer(), await defer()];
    const shown = [await agent.get(over.address), await agent.get(cancelled.address)];
    await sql(`UPDATE deferred_registrations SET expires_at = now() WHERE client_id = $1`, [
      hiddenFields(shown[0]!.body)['client_id'],
    ]);
    await call(`${service.issuer}/register`, {
      body: { registration_code: cancelled.registrationCode, cancel_registration: true },
    });
    for (const page of shown) {
      const answer = await agent.submit(page, { decision: 'approve' });
      expect(answer.status).toBe(409);
      expect(answer.body).toContain('No application found for this code');
    }
  });
});
