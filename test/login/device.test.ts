// The page for devices: a signed-in user enters a code, compares it, sees who asks for what, and decides (RFC 8628 section 3.3).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askForCodes, decide, deviceCodes, type DeviceCodes, deviceMetadata, poll } from '../helpers/device.ts';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService, type TestUser } from '../helpers/service.ts';
import { hiddenFields, type Page, UserAgent } from '../helpers/user-agent.ts';
import { introspect } from '../spec/kit.ts';

const environment = { ...withoutLimits, DEVICE_GRANT: 'on', TRUST_PROXY: '127.0.0.1/32,::1/128' };
let service: TestService;
let client: TestClient;
let user: TestUser;
beforeAll(async () => {
  service = await startTestService({ environment: { ...environment, LIMIT_USER_CODES: '0' } });
  client = await service.createClient({ ...deviceMetadata, client_uri: 'https://tv.example.com/' });
  user = await service.createUser({ email: 'ada@example.org', claims: { name: 'Ada Lovelace' } });
});
afterAll(() => service?.stop());

async function signedIn(as: TestUser = user, of = service, headers: Record<string, string> = {}): Promise<UserAgent> {
  const agent = new UserAgent(of, headers);
  await agent.signIn(as);
  return agent;
}
const codes = (parameters: Record<string, string> = {}, of = client) => deviceCodes(service.issuer, of, parameters);
const title = (page: Page) => /<h1>(.*?)<\/h1>/s.exec(page.body)?.[1]?.replace(/<[^>]*>/g, '');
const enter = (agent: UserAgent, typed: string) => agent.get(`/device?${new URLSearchParams({ user_code: typed })}`);
const isPending = async (given: DeviceCodes, of = client) =>
  ['authorization_pending', 'slow_down'].includes(String((await poll(service.issuer, of, given)).body['error']));

describe('the code', () => {
  test('a signed-out user signs in first, and returns to the page with the code; the code is not tried before (RFC 8628 5.1)', async () => {
    const given = await codes();
    const agent = new UserAgent(service);
    for (const code of [given.user_code, 'BCDF-GHJK']) {
      const asked = await agent.get(`/device?user_code=${code}`);
      expect(asked).toMatchObject({ status: 303, location: `${service.issuer}/login?destination=device.${code}` });
    }
    const login = await agent.follow(await agent.get(given.verification_uri_complete));
    expect(login.body).toContain('to connect a device');
    const page = await agent.signIn(user, login);
    expect(page.url).toBe(given.verification_uri_complete);
    expect(title(page)).toBe('Allow Living Room TV to use your account?');
    const empty = new UserAgent(service);
    const form = await empty.signIn(user, await empty.follow(await empty.get(given.verification_uri)));
    expect(form.url).toBe(given.verification_uri);
    expect(title(form)).toBe('Connect a device');
    expect(await isPending(given)).toBe(true);
  });

  test.each<[string, (code: string) => string]>([
    ['in lower case', (code) => code.toLowerCase()],
    ['without its hyphen', (code) => code.replace('-', '')],
    ['with spaces', (code) => ` ${code.replace('-', ' ')} `],
  ])('it is read %s (RFC 8628 6.1)', async (_how, typed) => {
    const given = await codes();
    const page = await enter(await signedIn(), typed(given.user_code));
    expect(page.body).toContain(`dir="ltr">${given.user_code}</bdi></p>`);
  });

  test('a wrong, a used, a refused and an expired code get the same page (RFC 8628 5.1, protocols 6.1)', async () => {
    const agent = await signedIn();
    const [used, refused, expired] = [await codes(), await codes(), await codes()];
    await decide(agent, used);
    await decide(agent, refused, 'deny');
    await service.database.sql(
      'UPDATE device_authorizations SET expires_at = now() WHERE client_id = $1 AND decision IS NULL',
      [client.clientId],
    );
    const bodies = new Set<string>();
    for (const code of [...[used, refused, expired].map((one) => one.user_code), 'BCDF-GHJK', 'AEIO-UUUU', '"><b>']) {
      const page = await enter(agent, code);
      expect(page.status).toBe(400);
      expect(page.body).toContain('No device found for this code');
      bodies.add(page.body.replace(/value="[^"]*"/, ''));
    }
    expect(bodies.size).toBe(1);
  });

  test('ten wrong codes of a user in 15 minutes are the last, and right codes between them reset nothing (RFC 8628 5.1)', async () => {
    const limited = await startTestService({ environment });
    try {
      const of = await limited.createClient(deviceMetadata);
      const given = await deviceCodes(limited.issuer, of);
      const mallory = await limited.createUser();
      const from = (network: number) => ({ 'x-forwarded-for': `203.0.${network}.1` });
      const agent = await signedIn(mallory, limited, from(0));
      for (let times = 0; times < 10; times++) {
        expect((await agent.get(given.verification_uri_complete)).status).toBe(200);
        expect((await enter(agent, 'BCDF-GHJK')).status).toBe(400);
      }
      // of the user everywhere, and of the network for everyone
      const elsewhere = await signedIn(mallory, limited, from(1));
      const neighbour = await signedIn(await limited.createUser(), limited, from(0));
      for (const browser of [agent, elsewhere, neighbour]) {
        const page = await browser.get(given.verification_uri_complete);
        expect(page.status).toBe(429);
        expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(page.body).toContain('Too many wrong codes');
      }
      const other = await signedIn(await limited.createUser(), limited, from(2));
      expect((await other.get(given.verification_uri_complete)).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });
});

describe('the review', () => {
  test('it shows the code, the client with its host, the user, the scopes with their values, and when and from where the device asked (protocols 6.1)', async () => {
    const { body } = await askForCodes(service.issuer, client, {}, { 'x-forwarded-for': '203.0.113.7' });
    const page = await (await signedIn()).get(String(body['verification_uri_complete']));
    expect(page.status).toBe(200);
    for (const text of [
      String(body['user_code']),
      'Living Room TV',
      'tv.example.com',
      'Ada Lovelace',
      'ada@example.org',
      'See your email address',
      '203.0.113.0/24',
      'Only continue if you started this yourself',
      'The request came from a different network',
    ])
      expect(page.body).toContain(text);
    expect(page.body).toMatch(/<time datetime="20/);
    const same = await codes();
    const near = await (await signedIn()).get(same.verification_uri_complete);
    expect(near.body).not.toContain('The request came from a different network');
    expect(near.body).toContain('Same as this browser');
  });

  test('both buttons look alike, and neither is the default: no field of the form has the focus (protocols 6.1)', async () => {
    const page = await (await signedIn()).get((await codes()).verification_uri_complete);
    expect([...page.body.matchAll(/<button[^>]*class="([^"]*)"[^>]*value="(\w+)"/g)].map(([, ...of]) => of)).toEqual([
      ['button', 'allow'],
      ['button', 'deny'],
    ]);
    expect(page.body).not.toContain('autofocus');
  });

  test('another account continues with the same code (RFC 8628 3.3)', async () => {
    const given = await codes();
    const agent = await signedIn();
    const page = await agent.get(given.verification_uri_complete);
    const chooser = /href="([^"]*)" id="switch-account"/.exec(page.body)![1]!;
    expect(chooser).toBe(`/login/accounts?destination=device.${given.user_code}`);
    const other = await service.createUser();
    const login = /href="([^"]*account=other[^"]*)"/.exec((await agent.get(chooser)).body)![1]!;
    await agent.submit(await agent.signIn(other, await agent.get(login.replaceAll('&amp;', '&'))), {
      decision: 'allow',
    });
    const { body } = await poll(service.issuer, client, given);
    expect(body['access_token']).toBeDefined();
    expect(JSON.parse(Buffer.from(String(body['id_token']).split('.')[1]!, 'base64url').toString())).toMatchObject({
      sub: other.sub,
    });
  });

  test('the form decides once, in its own session, for its own code, and for ten seconds says so again (security R55, reports A4)', async () => {
    const [given, other] = [await codes(), await codes()];
    const [agent, stranger] = [await signedIn(), await signedIn(await service.createUser())];
    const form = { ...hiddenFields((await agent.get(given.verification_uri_complete)).body), decision: 'allow' };
    expect((await agent.post('/device', { ...form, user_code: other.user_code })).status).toBe(403);
    expect((await agent.post('/device', { ...form, csrf: 'x' })).status).toBe(403);
    expect((await stranger.post('/device', form)).status).toBe(403);
    expect((await new UserAgent(service).post('/device', form)).location).toContain('/login?destination=device.');
    expect(await isPending(given)).toBe(true);
    expect(await isPending(other)).toBe(true);
    expect((await agent.post('/device', form)).status).toBe(200);
    expect((await agent.post('/device', form)).status).toBe(200);
    expect((await agent.post('/device', { ...form, decision: 'deny' })).status).toBe(409);
    const approvals = () =>
      service.database.sql(`SELECT FROM audit_events WHERE client_id = $1 AND type = 'device.approved' AND sub = $2`, [
        client.clientId,
        user.sub,
      ]);
    const before = await approvals();
    await service.database.sql('UPDATE used_challenges SET expires_at = now()');
    expect((await agent.post('/device', form)).status).toBe(409);
    expect(await approvals()).toEqual(before);
  });

  test('the user hears what was decided (protocols 6.1)', async () => {
    const agent = await signedIn();
    expect(title(await decide(agent, await codes()))).toBe('Living Room TV is connected');
    expect(title(await decide(agent, await codes(), 'deny'))).toBe('Living Room TV was not connected');
  });

  test('a client that registered itself without a review is named so (security R11)', async () => {
    const automatic = await service.createClient(deviceMetadata);
    await service.database.sql(
      `UPDATE clients SET approved_by = 'automatic', self_registered = true WHERE client_id = $1`,
      [automatic.clientId],
    );
    const page = await (await signedIn()).get((await codes({}, automatic)).verification_uri_complete);
    expect(page.body).toContain('This application is not verified');
  });
});

describe('the sign-in', () => {
  test('a client that demands a second factor gets no tokens before the user showed one (protocols 6.1, RFC 9470)', async () => {
    const strict = await service.createClient(deviceMetadata);
    await service.database.sql(`UPDATE clients SET required_acr = 'urn:gatehouse:acr:mfa' WHERE client_id = $1`, [
      strict.clientId,
    ]);
    const given = await codes({}, strict);
    const agent = await signedIn();
    const page = await agent.get(given.verification_uri_complete);
    const second = `${service.issuer}/login/second-factor?destination=device.${given.user_code}`;
    expect(page).toMatchObject({ status: 303, location: second });
    // the sign-in keeps the code, while the user sets the factor up
    expect(hiddenFields((await agent.follow(page)).body)).toMatchObject({ destination: `device.${given.user_code}` });
    expect(await isPending(given, strict)).toBe(true);
    await service.database.sql(`UPDATE sessions SET amr = '{pwd,otp,mfa}' WHERE sub = $1`, [user.sub]);
    await decide(agent, given);
    expect((await poll(service.issuer, strict, given)).status).toBe(200);
  });

  test('a form that was open when the client began to demand a second factor gives nothing, and still refuses (protocols 6.1)', async () => {
    const strict = await service.createClient(deviceMetadata);
    const agent = await signedIn(await service.createUser());
    const [allowed, denied] = [await codes({}, strict), await codes({}, strict)];
    const formOf = async (given: DeviceCodes) => hiddenFields((await agent.get(given.verification_uri_complete)).body);
    const forms = [await formOf(allowed), await formOf(denied)];
    await service.database.sql(`UPDATE clients SET required_acr = 'urn:gatehouse:acr:mfa' WHERE client_id = $1`, [
      strict.clientId,
    ]);
    const page = await agent.post('/device', { ...forms[0], decision: 'allow' });
    expect(page.location).toContain('/login/second-factor?destination=device.');
    expect(await isPending(allowed, strict)).toBe(true);
    expect((await agent.post('/device', { ...forms[1], decision: 'deny' })).status).toBe(200);
    expect((await poll(service.issuer, strict, denied)).body['error']).toBe('access_denied');
  });

  test('a session that is older than the client’s default_max_age signs in again (OpenID Connect Registration 2)', async () => {
    const fresh = await service.createClient({ ...deviceMetadata, default_max_age: 60 });
    const person = await service.createUser();
    const agent = await signedIn(person);
    await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '2 minutes' WHERE sub = $1`, [
      person.sub,
    ]);
    const given = await codes({}, fresh);
    const login = await agent.follow(await agent.get(given.verification_uri_complete));
    expect(login.url).toBe(`${service.issuer}/login?destination=device.${given.user_code}`);
    expect(title(await agent.signIn(person, login))).toBe('Allow Living Room TV to use your account?');
  });
});

test('a device gets tokens for an API whose name, host and scopes the page showed, and for nothing more (RFC 8707 2, protocols 1.1)', async () => {
  const token = await adminToken(service);
  const api = 'https://notes.example/v1';
  const server = await service.createClient();
  await call(`${service.issuer}/admin/api/resources`, {
    token,
    body: {
      resource: api,
      name: 'Notebook',
      client_id: server.clientId,
      scopes: [{ value: 'notes.read', description: { en: 'Read your notes' } }, { value: 'notes.write' }],
    },
  });
  const tv = await service.createClient({ ...deviceMetadata, scope: 'openid notes.read offline_access' });
  const agent = await signedIn();
  for (const parameters of [{ resource: api, scope: 'notes.read notes.write' }, { scope: 'notes.read' }] as Record<
    string,
    string
  >[]) {
    const given = await codes(parameters, tv);
    const page = await enter(agent, given.user_code);
    expect(page.body).toContain('Notebook');
    expect(page.body).toContain('notes.example');
    expect(page.body).toContain('Read your notes');
    expect(page.body).not.toContain('notes.write');
    await decide(agent, given);
    const { status, body } = await poll(service.issuer, tv, given);
    expect(status).toBe(200);
    expect(body).toMatchObject({ scope: 'notes.read' });
    const access = body['access_token'] as string;
    expect((await introspect(service.issuer, server, access)).body).toMatchObject({
      active: true,
      scope: 'notes.read',
      aud: [api, server.clientId],
    });
    expect(await call(`${service.issuer}/user/info`, { token: access })).toMatchObject({ status: 401 });
  }
  const foreign = await askForCodes(service.issuer, tv, { resource: 'https://other.example' });
  expect(foreign).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
});
