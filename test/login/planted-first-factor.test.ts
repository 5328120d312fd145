// A planted first factor takes one value in the list, one part of a page and its words; everything else reads the list.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Authenticator, FirstFactorRefused } from '../../src/authenticators/authenticator.ts';
import { type AuthenticatorOptions, authenticators } from '../../src/authenticators/list.ts';
import { plant } from '../extension-points/planted.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { hiddenFields, type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
let templates: string;

/** One word that all users know: what a folder of src/authenticators would hold. */
const magicWord = ({ store, countTry }: AuthenticatorOptions): Authenticator => {
  const refused = (sub: string | undefined): FirstFactorRefused => ({
    outcome: 'refused',
    problem: 'magic-word',
    fields: ['word'],
    event: { sub, detail: { word: true } },
  });
  return {
    id: 'magic-word',
    factors: 1,
    first: {
      path: '/login/magic-word',
      fields: { username: 320, word: 20 },
      async begin() {
        return {};
      },
      async finish({ request }, { username = '', word }) {
        const user = await store.users.findByLogin(username);
        const { wait } = await countTry(request, user?.sub);
        if (wait > 0) return { outcome: 'refused', problem: 'throttled', wait };
        if (!user || word !== 'sesame') return refused(user?.sub);
        const { sub } = user;
        return { outcome: 'verified', user: { sub, passwordHash: undefined, amr: ['kba'] }, late: refused(sub) };
      },
    },
  };
};

const part = `<form method="post" action="<%= it.local(it.form.action) %>">
<%~ include('part-hidden') %>
<input name="username" value="<%= it.username %>">
<label for="word">Word</label><% if (it.fault('word')) { %><p id="word-fault"><%= it.fault('word') %></p><% } %>
<input id="word" name="word"><button type="submit">Say it</button>
</form>
`;
const words = {
  'login.problem.magic-word': 'Nothing opened',
  'login.field.word': 'This is not the word.',
};

plant(authenticators, magicWord);
beforeAll(async () => {
  templates = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  mkdirSync(join(templates, 'messages'));
  writeFileSync(join(templates, 'part-first-factor-magic-word.eta'), part);
  writeFileSync(join(templates, 'messages', 'en.magic-word.json'), JSON.stringify(words));
  service = await startTestService({
    environment: { TEMPLATES_DIR: templates, LIMIT_SIGN_IN_PER_NETWORK: '8', TRUST_PROXY: '127.0.0.0/8,::1' },
  });
});
afterAll(async () => {
  await service?.stop();
  rmSync(templates, { recursive: true, force: true });
});

const path = '/login/magic-word';

/** A browser in a network of its own: the limit counts networks. */
let networks = 0;
const newBrowser = () => new UserAgent(service, { 'x-forwarded-for': `203.0.${++networks}.1` });

/** Submits the planted form of a sign-in page. */
const say = async (agent: UserAgent, page: Page, username: string, word: string): Promise<Page> => {
  const form = page.body.slice(page.body.indexOf(`action="${path}"`));
  return agent.follow(await agent.post(path, { ...hiddenFields(form), username, word }));
};
const addAuthenticator = (sub: string) =>
  service.database.sql(
    `INSERT INTO authenticators (id, sub, name, secret_encrypted, last_step) VALUES ($1, $1, 'Phone', decode(repeat('03', 16), 'hex'), 1)`,
    [sub],
  );
const sessionsOf = (sub: string) =>
  service.database.sql<{ amr: string[] }>('SELECT amr FROM sessions WHERE sub = $1', [sub]);

describe('a planted first factor', () => {
  test('is offered on the sign-in page beside the others, and signs a user in with its own amr (architecture, extension points)', async () => {
    const user = await service.createUser();
    const client = await service.createClient({}, { firstParty: true });
    const agent = newBrowser();
    const page = await agent.authorize(client, undefined);
    expect(page.body).toContain('id="word"');
    expect(page.body).toContain('id="password"');
    expect(responseParameters(await say(agent, page, user.username, 'sesame'))).toHaveProperty('code');
    expect(await sessionsOf(user.sub)).toEqual([{ amr: ['kba'] }]);
  });

  test('refuses with its own words, keeps the typed name, and records the failure (security R60, R101)', async () => {
    const user = await service.createUser();
    const agent = newBrowser();
    const page = await say(agent, await agent.get('/login'), user.username, 'open');
    expect(page.status).toBe(400);
    for (const shown of ['Nothing opened', 'This is not the word.', `value="${user.username}"`])
      expect(page.body).toContain(shown);
    expect(await sessionsOf(user.sub)).toEqual([]);
    expect(
      await service.database.sql(`SELECT type, detail FROM audit_events WHERE sub = $1 AND outcome = 'failure'`, [
        user.sub,
      ]),
    ).toEqual([{ type: 'user.sign_in_failed', detail: { word: true, reference: page.reference } }]);
  });

  test('counts its failures with those of the other first factors of the network (security R62)', async () => {
    const user = await service.createUser();
    const agent = newBrowser();
    let page = await agent.get('/login');
    for (let tries = 0; tries < 4; tries++) {
      page = await say(agent, page, user.username, 'open');
      page = await agent.signIn({ username: user.username, password: 'wrong' }, page);
      expect(page.status).toBe(400);
    }
    const refused = await say(agent, page, user.username, 'sesame');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await agent.signIn(user, refused)).status).toBe(429);
    expect(await sessionsOf(user.sub)).toEqual([]);
  });

  test('does not sign in a user who has a second factor, or is disabled (security R127, R54)', async () => {
    const user = await service.createUser();
    await addAuthenticator(user.sub);
    const agent = newBrowser();
    const step = await say(agent, await agent.get('/login'), user.username, 'sesame');
    expect(step).toMatchObject({ status: 200, url: expect.stringContaining('/login/second-factor') });
    expect((await agent.get('/account')).status).toBe(303);
    expect(await sessionsOf(user.sub)).toEqual([]);
    const disabled = await service.createUser();
    await service.database.sql(`UPDATE users SET status = 'disabled' WHERE sub = $1`, [disabled.sub]);
    const other = newBrowser();
    const refused = await say(other, await other.get('/login'), disabled.username, 'sesame');
    expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('Nothing opened') });
    expect(await sessionsOf(disabled.sub)).toEqual([]);
  });

  test('is asked for again before the second factor of a session that lacks it (security R91, R127)', async () => {
    const user = await service.createUser();
    const agent = newBrowser();
    await say(agent, await agent.get('/login'), user.username, 'sesame');
    await addAuthenticator(user.sub);
    const page = await agent.follow(await agent.get('/login/second-factor?destination=passkeys'));
    expect(page.body).toContain('id="word"');
    expect((await say(agent, page, user.username, 'sesame')).url).toContain('/login/second-factor');
  });

  test('takes a form of its own page only: with its token, at its address (security R55)', async () => {
    const user = await service.createUser();
    const agent = newBrowser();
    const fields = { username: user.username, word: 'sesame' };
    // the first form of the page is the password's
    const forms = hiddenFields((await agent.get('/login')).body);
    for (const form of [{}, forms])
      expect(await agent.post(path, { ...form, ...fields })).toMatchObject({
        status: 400,
        body: expect.stringContaining('We couldn’t verify where this form came from'),
      });
    const repeated = new URLSearchParams([...Object.entries(fields), ['word', 'sesame']]).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await agent.fetch(path, { method: 'POST', body: repeated, headers })).status).toBe(400);
    expect(await sessionsOf(user.sub)).toEqual([]);
  });
});
