// Tests that other sites use up no limit which sign-ins by connections need, and what beginning one may cost the other side.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addConnection, answerOf, leave, signInBy, signInPage } from '../helpers/connections.ts';
import { withoutLimits } from '../helpers/grants.ts';
import { type Provider, startProvider } from '../helpers/provider.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider();
  service = await startTestService({
    environment: {
      ...withoutLimits,
      OUTBOUND_ALLOW: provider.host,
      LIMIT_PENDING_SIGN_INS: '0',
      LIMIT_CONNECTION_BEGINS: '6',
      LIMIT_CONNECTION_ANSWERS: '5',
    },
  });
  await addConnection(service, provider, 'silent', { provisioning: 'on' });
  await addConnection(service, provider, 'posts', { provisioning: 'on', settings: { response_mode: 'form_post' } });
});
afterAll(async () => {
  await service?.stop();
  await provider?.stop();
});
let number = 0;
beforeEach(async () => {
  provider.lie({});
  provider.be({ sub: `limit-${++number}`, preferred_username: `limit ${number}` });
  await service.database.sql('DELETE FROM rate_limits');
});
const path = (id: string, rest: string) => `${service.issuer}/connections/${id}/${rest}`;
const arrives = async () => (await signInBy(new UserAgent(service), 'silent')).url === `${service.issuer}/account`;

describe('no limit of sign-ins counts a request that another site can make a browser send:', () => {
  test('an image of the front-channel logout, and a frame of one (security R160)', async () => {
    const known = new URLSearchParams({ iss: provider.issuer, sid: 'none' });
    for (let time = 0; time < 12; time++) {
      const image = await fetch(path('silent', `frontchannel-logout?${known}`), {
        headers: { 'sec-fetch-dest': 'image' },
      });
      expect(image.status).toBe(400);
      await fetch(path('silent', `frontchannel-logout?iss=https://else.example&sid=none`));
    }
    // neither of them counted
    const frame = () =>
      fetch(path('silent', `frontchannel-logout?${known}`), { headers: { 'sec-fetch-dest': 'iframe' } });
    const statuses = [];
    for (let time = 0; time < 7; time++) statuses.push((await frame()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await arrives()).toBe(true);
  });

  test('a forged back-channel logout (security R160)', async () => {
    for (let time = 0; time < 12; time++)
      await fetch(path('silent', 'backchannel-logout'), {
        method: 'POST',
        body: new URLSearchParams({ logout_token: 'forged' }),
      });
    expect(await arrives()).toBe(true);
  });

  test('answers to no request of this browser, got or posted (security R160)', async () => {
    const agent = new UserAgent(service);
    await agent.get('/login');
    const attacker = new UserAgent(service);
    const left = await leave(attacker, await signInPage(attacker, 'posts'), 'posts');
    const { state } = Object.fromEntries(new URL(await answerOf(left)).searchParams);
    for (let time = 0; time < 12; time++) {
      expect((await agent.get(`/connections/silent/callback?code=x&state=${'A'.repeat(43)}`)).status).toBe(400);
      await fetch(path('posts', 'callback'), {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ code: 'x', state: state! }),
      });
    }
    expect(await arrives()).toBe(true);
  });

  test('while answers to requests of this browser are counted (federation 2)', async () => {
    const statuses = [];
    for (let time = 0; time < 6; time++) {
      const agent = new UserAgent(service);
      const left = await leave(agent, await signInPage(agent, 'silent'), 'silent');
      statuses.push((await agent.get(await answerOf(left))).status);
    }
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
  });
});

describe('beginning a sign-in', () => {
  /** The provider takes pushed requests, and answers them with an error. */
  const push = async (status: number) => {
    await service.database.sql(
      `UPDATE connections SET discovery = discovery || jsonb_build_object('pushed_authorization_request_endpoint', $1::text) WHERE id = 'silent'`,
      [`${provider.issuer}/par`],
    );
    provider.lie({ write: { par: (response) => void response.writeHead(status).end() } });
  };

  test('without a session is counted for its network before the service sends any request (security R161)', async () => {
    const pages = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const agent = new UserAgent(service);
        return { agent, page: await signInPage(agent, 'silent') };
      }),
    );
    await push(201);
    const before = provider.count('par');
    const statuses = [];
    for (const { agent, page } of pages) statuses.push((await leaveOf(agent, page.body)).status);
    expect(statuses.slice(6)).toEqual([429, 429]);
    expect(provider.count('par') - before).toBeLessThanOrEqual(6);
  });

  test('after a failure reaches the provider once a second for all users together, with one event a minute and no stack trace (security R161)', async () => {
    const events = () => service.database.sql(`SELECT FROM audit_events WHERE type = 'identity.refused'`);
    const recorded = (await events()).length;
    const logged = service.logs.length;
    const pages = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const agent = new UserAgent(service);
        return { agent, page: await signInPage(agent, 'silent') };
      }),
    );
    await push(500);
    const [before, began] = [provider.count('par'), performance.now()];
    for (const { agent, page } of pages) expect((await leaveOf(agent, page.body)).status).toBe(503);
    const seconds = Math.ceil((performance.now() - began) / 1000);
    expect(provider.count('par') - before).toBeLessThanOrEqual(2 + seconds);
    expect((await events()).length - recorded).toBe(1);
    const lines = service.logs
      .slice(logged)
      .filter((line) => JSON.stringify(line).includes('a sign-in by a connection ended'));
    expect(lines.length).toBeGreaterThanOrEqual(6);
    expect(JSON.stringify(lines)).not.toMatch(/stack|\.ts:\d+/);
    expect(JSON.stringify(lines)).toContain('answered 500');
    // once the provider answers again, so do we
    provider.lie({});
    const again = async () => {
      await service.database.sql('DELETE FROM rate_limits');
      return arrives().catch(() => false);
    };
    await expect.poll(again).toBe(true);
  });

  const leaveOf = (agent: UserAgent, body: string) =>
    agent.post('/connections/silent', hiddenFields(body.slice(body.indexOf('action="/connections/silent"'))));
});

test.each([
  ['a missing', (fields: Record<string, string>) => ({ ...fields, csrf: '' }), 'couldn’t verify where this form'],
  ['a stale', (fields: Record<string, string>) => ({ ...fields, csrf: 'x'.repeat(43) }), 'couldn’t verify where this'],
  ['another', (fields: Record<string, string>) => ({ ...fields, transaction: 'x'.repeat(43) }), 'this form came from'],
])(
  'the button of a connection with %s form token says what is wrong (decisions 3, reports F2)',
  async (_what, change, words) => {
    const agent = new UserAgent(service);
    const { body } = await signInPage(agent, 'silent');
    const fields = hiddenFields(body.slice(body.indexOf('action="/connections/silent"')));
    const page = await agent.post('/connections/silent', change(fields));
    expect(page.status).toBe(400);
    expect(page.body).toContain(words);
    const bare = await new UserAgent(service).post('/connections/silent', fields);
    expect([bare.status, bare.body.includes('Sign-in needs cookies')]).toEqual([400, true]);
  },
);
