// A planted kind of second factor needs one value in the list, one part of a page and its words; all other code reads the list.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Authenticator } from '../../src/authenticators/authenticator.ts';
import { type AuthenticatorOptions, authenticators } from '../../src/authenticators/list.ts';
import { readCatalogues } from '../../src/pages/catalogue.ts';
import { builtInTemplates } from '../../src/pages/renderer.ts';
import { plant } from '../extension-points/planted.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, responseParameters, UserAgent } from '../helpers/user-agent.ts';

const listed = authenticators.map((create) => create({} as AuthenticatorOptions));
let service: TestService;
let templates: string;

/** Numbered cards in a separate table, as a folder of src/authenticators would define them. */
const keyCard: Authenticator = {
  id: 'key-card',
  factors: 1,
  enrolment: { path: '/account/key-card', max: 1 },
  second: {
    field: { name: 'card_number', max: 20 },
    async begin(_context, enrolled) {
      return enrolled.some(({ kind }) => kind === 'key-card') ? { input: 'card' } : undefined;
    },
    async finish({ user }, answer) {
      const found = await service.database.sql('SELECT 1 FROM key_cards WHERE sub = $1 AND card_number = $2', [
        user.sub,
        answer,
      ]);
      return found.length > 0
        ? { outcome: 'verified', amr: ['hwk', 'mfa'] }
        : { outcome: 'refused', detail: { card: true } };
    },
  },
};

const part = `<form method="post" action="<%= it.local(it.form.action) %>">
<%~ include('part-hidden') %>
<label for="card">Card</label><% if (it.fault) { %><p id="card-fault"><%= it.fault %></p><% } %>
<input id="card" name="card_number"><button type="submit">Go on</button>
</form>
`;
const words = {
  'second-factors.kind.key-card': 'Key card',
  'second-factors.add.key-card': 'Add a key card',
  'second-factors.login.field.card': 'This card is unknown.',
  'console.user.factor.key-card': 'Key card',
};

plant(authenticators, () => keyCard);
beforeAll(async () => {
  templates = mkdtempSync(join(tmpdir(), 'gatehouse-templates-'));
  mkdirSync(join(templates, 'messages'));
  writeFileSync(join(templates, 'part-second-factor-key-card.eta'), part);
  writeFileSync(join(templates, 'messages', 'en.key-card.json'), JSON.stringify(words));
  service = await startTestService({ environment: { TEMPLATES_DIR: templates } });
  await service.database.sql('CREATE TABLE key_cards (card_number text NOT NULL) INHERITS (second_factors)');
});
afterAll(async () => {
  await service?.stop();
  rmSync(templates, { recursive: true, force: true });
});

async function userWithCard() {
  const user = await service.createUser();
  const id = `card-${user.sub.slice(0, 8)}`;
  await service.database.sql(`INSERT INTO key_cards (id, sub, name, card_number) VALUES ($1, $2, 'Blue', '4711')`, [
    id,
    user.sub,
  ]);
  return { ...user, id };
}

const asksSecondFactor = (page: Page) => page.url.includes('/login/second-factor') && page.body.includes('id="card"');

/** Signs the user in with the password and the card. */
async function signIn(agent: UserAgent, user: Awaited<ReturnType<typeof userWithCard>>): Promise<void> {
  const step = await agent.signIn(user);
  expect(asksSecondFactor(step), step.url).toBe(true);
  expect((await agent.submit(step, { card_number: '4711' })).url).toContain('/account');
}

describe('a planted kind of second factor', () => {
  test('is required after the password, and verified by its own part of the page (security R127)', async () => {
    const user = await userWithCard();
    const client = await service.createClient({}, { firstParty: true });
    const agent = new UserAgent(service);
    const step = await agent.authorize(client, user);
    expect(asksSecondFactor(step), step.url).toBe(true);
    expect((await agent.get('/account')).status).toBe(303);
    const wrong = await agent.submit(step, { card_number: '42' });
    expect(wrong).toMatchObject({ status: 400, body: expect.stringContaining('This card is unknown.') });
    expect(await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [user.sub])).toEqual([]);
    expect(responseParameters(await agent.submit(wrong, { card_number: '4711' }))).toHaveProperty('code');
    const [session] = await service.database.sql<{ amr: string[] }>('SELECT amr FROM sessions WHERE sub = $1', [
      user.sub,
    ]);
    expect(session!.amr).toEqual(['pwd', 'hwk', 'mfa']);
    const [failed] = await service.database.sql<{ detail: object }>(
      `SELECT detail FROM audit_events WHERE sub = $1 AND type = 'user.sign_in_failed'`,
      [user.sub],
    );
    expect(failed!.detail).toEqual({ second_factor: true, card: true, reference: wrong.reference });
  });

  test('does not accept the answer of another kind (security R127)', async () => {
    const user = await userWithCard();
    const agent = new UserAgent(service);
    const step = await agent.signIn(user);
    const forms: Record<string, string>[] = [{}, { code: '123456' }, { recovery_code: '4711' }, { credential: '{}' }];
    for (const form of forms) expect(await agent.submit(step, form)).toMatchObject({ status: 400 });
    expect(await service.database.sql('SELECT 1 FROM sessions WHERE sub = $1', [user.sub])).toEqual([]);
  });

  test('is listed on the account page, which offers to add another and removes it (security R127, R91)', async () => {
    const user = await userWithCard();
    const agent = new UserAgent(service);
    await signIn(agent, user);
    const page = await agent.get('/account/second-factors');
    expect(page.body).toContain('Blue');
    expect(page.body).toContain('Key card');
    expect(page.body).not.toContain('Add a key card');
    const removed = await agent.submit(page, { remove: user.id });
    expect(removed).toMatchObject({ status: 200, body: expect.stringContaining('Add a key card') });
    expect(asksSecondFactor(await new UserAgent(service).signIn(user))).toBe(false);
  });

  test('is listed and removed in the console and by the admin API under its name (security R127)', async () => {
    const user = await userWithCard();
    const { agent } = await openConsole(service, await service.createUser({ admin: true }));
    const page = await agent.get(`/admin/users/${user.sub}`);
    for (const word of ['Blue', 'Key card']) expect(page.body).toContain(word);
    const token = await adminToken(service);
    const path = `${service.issuer}/admin/api/users/${user.sub}/second-factors`;
    expect((await call(path, { token })).body).toMatchObject({ second_factors: [{ kind: 'key-card', name: 'Blue' }] });
    const removal = `/admin/users/${user.sub}/second-factors/remove`;
    const remove = await agent.get(`${removal}?id=${user.id}`);
    expect(remove.body).toContain('Key card');
    await agent.post(removal, formOf(remove, removal));
    expect((await call(path, { token })).body).toMatchObject({ second_factors: [] });
  });
});

test('every listed kind has its part of the page, and its words in every language (architecture, extension points)', () => {
  const messages = readCatalogues(join(builtInTemplates, 'messages'));
  const wanted = listed.flatMap(({ id, enrolment }) => {
    if (!enrolment) return [];
    const page = `second-factors.page.${id}`;
    const keys = enrolment.separate
      ? [page, `${page}.none`]
      : [`second-factors.kind.${id}`, `second-factors.add.${id}`];
    return [...keys, `console.user.factor.${id}`];
  });
  expect(wanted.length).toBeGreaterThan(0);
  for (const { id, first, second } of listed) {
    if (first) expect(readdirSync(builtInTemplates)).toContain(`part-first-factor-${id}.eta`);
    if (second) expect(readdirSync(builtInTemplates)).toContain(`part-second-factor-${id}.eta`);
  }
  for (const locale of new Set(messages.map(({ language }) => language))) {
    const words = messages
      .filter(({ language }) => language === locale)
      .flatMap(({ catalogue }) => Object.keys(catalogue));
    const ofConsole = words.some((key) => key.startsWith('console.'));
    expect(words, locale).toEqual(
      expect.arrayContaining(wanted.filter((key) => ofConsole || !key.startsWith('console.'))),
    );
  }
});
