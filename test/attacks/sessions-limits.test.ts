// Attacks the limits of one browser session and the rights of an administrator whose sign-in is old.
import { afterAll, beforeAll, expect } from 'vitest';
import { call, obtainCode, redeem, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { authorizationUrl, hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';
import { isSignedIn } from '../spec/kit.ts';
import { attack } from './attack.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: { ...withoutLimits, LIMIT_CODES_PER_SESSION: '20' } });
});
afterAll(() => service?.stop());

attack(
  {
    id: 'A110',
    name: 'Request loop',
    request: 'One browser asks /authenticate 100 times in a minute and its client redeems nothing.',
    answer: 'Twenty codes of which only the newest is valid, then 429 with Retry-After and never the sign-in page.',
    source: 'the short form renews a client session at every call',
    requirements: ['R19'],
  },
  async () => {
    const client = await service.createClient({}, { firstParty: true });
    const user = await service.createUser();
    const [agent, other] = [new UserAgent(service), new UserAgent(service)];
    for (const browser of [agent, other]) await browser.signIn(user);
    const sent = new URLSearchParams({ client_id: client.clientId, redirect_uri: client.redirectUri });
    const ask = (call: number) => agent.get(`${service.instances[call % 2]}/authenticate?${sent.toString()}`);
    const answered: Page[] = [];
    for (let call = 0; call < 20; call++) answered.push(await ask(call));
    const refused = await Promise.all(Array.from({ length: 80 }, (_, call) => ask(call)));

    const statuses = [];
    for (const page of answered) {
      const { code } = responseParameters(page);
      statuses.push((await redeem(service.issuer, client, code!)).status);
    }
    expect(statuses).toEqual([...Array<number>(19).fill(400), 200]);
    for (const page of refused) {
      expect([page.status, page.location]).toEqual([429, undefined]);
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(page.headers.get('retry-after'))).toBeLessThanOrEqual(60);
      expect(page.body).not.toContain('id="password"');
    }
    expect(await isSignedIn(agent, service.issuer)).toBe(true);
    expect(await obtainCode(service, client, undefined, {}, other)).toBeDefined();
  },
);

attack(
  {
    id: 'A112',
    name: 'Forged approval',
    request:
      'An approval sent from another site, one with the form token of another administrator, and one a quarter of an hour after the password was checked, by page and by access token.',
    answer: '403 for the first two; the page leads to the sign-in and the admin route answers 401 for the last.',
    source: 'OWASP ASVS 5.0 7.5.3, RFC 9470',
    requirements: ['R55', 'R91'],
  },
  async () => {
    const ada = await service.createUser({ admin: true });
    const bob = await service.createUser({ admin: true });
    const [agent, another] = [new UserAgent(service), new UserAgent(service)];
    await agent.signIn(ada);
    await another.signIn(bob);
    const { body: waiting } = await call(`${service.issuer}/register`, {
      body: { redirect_uris: ['https://rp.example.com/callback'], registration_mode: ['approval'] },
    });
    const address = waiting['verification_uri_complete'] as string;
    const form = { ...hiddenFields((await agent.get(address)).body), decision: 'approve' };
    const foreign = hiddenFields((await another.get(address)).body)['csrf']!;
    const approve = (fields: Record<string, string>, headers = {}) =>
      agent.post('/admin/registration', { ...form, ...fields }, headers);
    expect((await approve({}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await approve({}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await approve({ csrf: foreign })).status).toBe(403);

    const console = await service.createClient({ scope: 'openid admin' }, { firstParty: true });
    const code = await obtainCode(service, console, undefined, { scope: 'openid admin' }, agent);
    const token = (await redeem(service.issuer, console, code)).body['access_token'] as string;
    for (const table of ['sessions', 'client_sessions'])
      await service.database.sql(
        `UPDATE ${table} SET auth_time = auth_time - interval '16 minutes' WHERE sub = '${ada.sub}'`,
      );
    expect((await approve({})).location).toMatch(/\/login\?destination=registration\./);
    const [client] = await service.database.sql<{ client_id: string; version: number }>(
      'SELECT client_id, version FROM clients WHERE uncollected',
    );
    const path = `${service.issuer}/admin/api/clients/${client!.client_id}/approve`;
    const answer = await call(path, { token, body: { version: client!.version } });
    expect(answer).toMatchObject({ status: 401, body: { error: 'insufficient_user_authentication', max_age: 900 } });
    expect(answer.headers.get('www-authenticate')).toMatch(/error="insufficient_user_authentication".*max_age="900"/);
    expect(await service.database.sql(`SELECT 1 FROM clients WHERE uncollected AND approved_by IS NULL`)).toHaveLength(
      1,
    );

    // a new sign-in, and a token of it, are accepted
    const page = await agent.get(authorizationUrl(service.issuer, console, { scope: 'openid admin', max_age: '900' }));
    const fresh = responseParameters(await agent.signIn(ada, await agent.follow(page)))['code']!;
    const next = (await redeem(service.issuer, console, fresh)).body['access_token'] as string;
    expect(await call(path, { token: next, body: { version: client!.version } })).toMatchObject({ status: 200 });
  },
);
