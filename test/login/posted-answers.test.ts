// Tests answers that a page of the provider posts: they carry no cookie of ours, and still sign in only the browser that asked.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addConnection, changeConnection } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { answered, postFromElsewhere } from '../helpers/preset-connections.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    instances: 2,
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_ANSWERS: '0',
    },
  });
  const settings = { response_mode: 'form_post' };
  await addConnection(service, provider, 'posts', { provisioning: 'on', settings });
  await addConnection(service, provider, 'other', { provisioning: 'on', settings });
  await addConnection(service, provider, 'plain', { provisioning: 'on' });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
beforeEach(() => {
  provider.lie({});
  provider.be({ sub: `posted-${++number}`, preferred_username: `posted ${number}` });
});

let number = 0;
const expired = 'expired, was already used, or started in another browser';
const refused = (page: Page, words = expired, status = 400) =>
  expect(page).toMatchObject({ status, body: expect.stringContaining(words) });
/** The stand-in redirects with what a provider would post. */
async function start(agent = new UserAgent(service), id = 'posts') {
  const { address } = await answered(agent, id);
  const url = new URL(address);
  return { agent, address: `${url.origin}${url.pathname}`, form: Object.fromEntries(url.searchParams) };
}
const post = async (address: string, form: Record<string, string>) => {
  const response = await postFromElsewhere(address, form);
  expect(response.status).toBe(303);
  // no look at the browser, and nothing new in it
  expect(response.headers.getSetCookie()).toEqual([]);
  return new URL(response.headers.get('location')!, address).href;
};
const sessions = async () =>
  (await service.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM sessions'))[0]!.n;
const stored = async () =>
  (
    await service.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM connection_steps WHERE step = 'answer'`)
  )[0]!.n;

test('a posted answer signs in by the top-level GET that follows, and asks for it (federation 5, FR4)', async () => {
  const { agent, address, form } = await start();
  expect(provider.last('authorize')!.query).toMatchObject({ response_mode: 'form_post' });
  const next = await post(address, form);
  expect(next).toMatch(/\/connections\/posts\/continue\?answer=[\w-]{43}$/);
  for (const value of Object.values(form)) expect(next).not.toContain(value);
  expect((await agent.follow(await agent.get(next))).url).toBe(`${service.issuer}/account`);
  // neither the answer nor the request is left
  expect(await stored()).toBe(0);
  refused(await agent.get(next));
});

test('every cookie stays SameSite=Lax or stricter (federation 5)', async () => {
  const { agent, address, form } = await start();
  const page = await agent.get(await post(address, form));
  const set = page.headers.getSetCookie();
  expect(set.length).toBeGreaterThan(0);
  for (const cookie of set) expect(cookie).toMatch(/SameSite=(Lax|Strict)/i);
});

test('the other instance takes the second leg (federation FR4, F5)', async () => {
  const { agent, address, form } = await start();
  const next = await post(address, form);
  expect((await agent.fetch(next.replace(service.issuer, service.instances[1]!))).status).toBe(303);
});

describe('an answer', () => {
  test("of an attacker that is posted into a victim's browser signs in nobody, and is not used up (federation F18, FR4)", async () => {
    const attacker = await start();
    const victim = new UserAgent(service);
    await victim.get('/login');
    const next = await post(attacker.address, attacker.form);
    const before = await sessions();
    refused(await victim.get(next));
    // with a sign-in of its own on the way, too
    await start(victim);
    refused(await victim.get(next));
    expect(await sessions()).toBe(before);
    expect((await attacker.agent.follow(await attacker.agent.get(next))).url).toBe(`${service.issuer}/account`);
  });

  test('is not taken by HEAD, by prefetch, in a frame or as a subresource, and is then still there (federation F18)', async () => {
    const { agent, address, form } = await start();
    const next = await post(address, form);
    expect((await agent.fetch(next, { method: 'HEAD' })).status).toBeGreaterThanOrEqual(400);
    for (const headers of [
      { 'sec-purpose': 'prefetch' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-dest': 'empty' },
    ] as Record<string, string>[])
      expect((await agent.get(next, headers)).status).toBe(403);
    expect((await agent.follow(await agent.get(next))).url).toBe(`${service.issuer}/account`);
  });

  test('is taken once, of twenty requests at once (federation F18, FR4)', async () => {
    const { agent, address, form } = await start();
    const next = await post(address, form);
    const asked = provider.count('token');
    const pages = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        agent.fetch(index % 2 ? next : next.replace(service.issuer, service.instances[1]!)),
      ),
    );
    expect(pages.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(provider.count('token')).toBe(asked + 1);
  });

  test('that is posted twice signs in once (federation FR4)', async () => {
    const { agent, address, form } = await start();
    const [first, second] = [await post(address, form), await post(address, form)];
    expect((await agent.follow(await agent.get(first))).url).toBe(`${service.issuer}/account`);
    refused(await agent.get(second));
  });

  test('to no request, to that of another connection, to a used one, or of a connection that asks for none is not even stored (federation FR3, FR4)', async () => {
    const before = await stored();
    const { agent, address, form } = await start();
    const cases: [string, Record<string, string>][] = [
      [address, {}],
      [address, { ...form, state: 'x' }],
      [address, { ...form, state: 'a'.repeat(43) }],
      [address.replace('/posts/', '/other/'), form],
      [address.replace('/posts/', '/plain/'), form],
      [address.replace('/posts/', '/none/'), form],
    ];
    for (const [to, sent] of cases) {
      const next = await post(to, sent);
      expect(next).toMatch(/\/continue$/);
      refused(await agent.get(next));
    }
    await agent.get(await post(address, form));
    expect(await post(address, form)).toMatch(/\/continue$/);
    const plain = await start(new UserAgent(service), 'plain');
    expect(await post(plain.address, plain.form)).toMatch(/\/continue$/);
    expect(await stored()).toBe(before);
  });

  test('continues at its own connection only (federation FR3)', async () => {
    const { agent, address, form } = await start();
    const next = await post(address, form);
    refused(await agent.get(next.replace('/posts/', '/other/')));
    expect((await agent.follow(await agent.get(next))).url).toBe(`${service.issuer}/account`);
  });

  test('that is older than a minute is gone (federation FR4)', async () => {
    const { agent, address, form } = await start();
    const next = await post(address, form);
    const [row] = await service.database.sql<{ seconds: number }>(
      `SELECT extract(epoch FROM expires_at - now())::float AS seconds FROM connection_steps WHERE step = 'answer' ORDER BY created_at DESC LIMIT 1`,
    );
    expect(row!.seconds).toBeLessThanOrEqual(60);
    await service.database.sql(
      `UPDATE connection_steps SET expires_at = now() - interval '1 second' WHERE step = 'answer'`,
    );
    refused(await agent.get(next));
  });

  test('of a connection that was disabled meanwhile is refused (federation FR5)', async () => {
    const { agent, address, form } = await start();
    const next = await post(address, form);
    await changeConnection(service, 'posts', { status: 'disabled' });
    refused(await agent.get(next));
    await changeConnection(service, 'posts', { status: 'enabled' });
  });

  test('with iss of another issuer, and one of a user who went back, ends as one in the address does (federation FR3, F15)', async () => {
    const asked = provider.count('token');
    const wrong = await start();
    refused(
      await wrong.agent.get(await post(wrong.address, { ...wrong.form, iss: 'https://evil.example' })),
      'couldn’t verify the response',
    );
    const { agent, address, form } = await start();
    const { state, iss } = form as { state: string; iss: string };
    const page = await agent.get(
      await post(address, { state, iss, error: 'access_denied', error_description: '<b>evil</b>' }),
    );
    refused(page, 'You didn’t finish signing in');
    expect(page.body).not.toContain('evil');
    expect(provider.count('token')).toBe(asked);
  });

  test('that is too long, twice the same, or no form is refused and stored nowhere (federation FR13, F14)', async () => {
    const before = await stored();
    const { address, form } = await start();
    for (const body of [
      new URLSearchParams({ ...form, code: 'x'.repeat(5000) }),
      new URLSearchParams([...Object.entries(form), ['state', form['state']!]]),
      JSON.stringify(form),
    ]) {
      const type = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined;
      const response = await fetch(address, {
        method: 'POST',
        redirect: 'manual',
        body,
        ...(type && { headers: type }),
      });
      expect([400, 415]).toContain(response.status);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    expect(await stored()).toBe(before);
  });
});

test('too many answers that are posted to one request are 429, and those to no request count for no network (federation 2, security R160)', async () => {
  const { address, form } = await start();
  const statuses: number[] = [];
  for (let time = 0; time < 7; time++) statuses.push((await postFromElsewhere(address, form)).status);
  expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429]);
  for (let time = 0; time < 7; time++) expect((await postFromElsewhere(address, { state: 'x' })).status).toBe(303);
});

test('an answer is sealed where it is stored, and is in no log (federation FR17)', async () => {
  const { address, form } = await start();
  await post(address, form);
  const rows = await service.database.sql<{ row: string }>(`SELECT s::text AS row FROM connection_steps s`);
  expect(rows.length).toBeGreaterThan(0);
  for (const { row } of rows) for (const value of [form['code']!, form['state']!]) expect(row).not.toContain(value);
  expect(JSON.stringify(service.logs)).not.toContain(form['code']!);
});
