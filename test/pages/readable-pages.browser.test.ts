// What a reader of the pages meets: words that stay whole while there is space, underscores that show, sections that say what a click does, and text that keeps its distance.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chart } from '../../src/admin/console/service/chart.ts';
import { createPages } from '../../src/pages/renderer.ts';
import type { PageName } from '../../src/pages/views/index.ts';
import { examples } from '../../templates/examples/index.ts';
import { launchBrowser } from '../helpers/browser.ts';
import { openRendered } from '../helpers/rendered-page.ts';
import type { View } from './page-states/index.ts';

const pages = createPages({ basePath: '' });
const most = (name: PageName, data: object = {}) =>
  ({ name, data: { ...examples[name][1], ...data } }) as unknown as View;

describe.skipIf(!process.env['CHROMIUM'])('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  const open = async (width: number) =>
    openRendered(await browser.newContext({ viewport: { width, height: 720 } }), pages);

  test('names and addresses of members of a group stay in one line while there is space (pages, every page)', async () => {
    const example = examples['console-group'][1];
    const people = ['ada_lovelace', 'carol'].map((username) => ({
      ...example.people[0]!,
      username,
      name: 'Ada Lovelace',
      email: `${username}@lighthouse.harbour.example`,
    }));
    const linesAt = async (width: number) => {
      const { page, show } = await open(width);
      await show(most('console-group', { people }));
      return page.$$eval('.members tbody bdi:is(.called, .address)', (all) =>
        all.map((one) => Math.round(one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight))),
      );
    };
    expect(await linesAt(1600)).toEqual([1, 1, 1, 1]);
    // beside the second column an address has no space for one line, and is whole in two
    expect(await linesAt(1280)).toEqual([1, 2, 1, 2]);
  });

  test('the list of users shows every name and email address whole, and stays in its column at each width (pages, every page)', async () => {
    const line = examples['console-users'][1].users[0]!;
    const months = new Date(Date.now() - 320 * 86_400_000);
    const emails = [
      'ada@example.com',
      'layla.almansouri@example.org',
      'bartholomew.featherstonehaugh-cholmondeley@lighthouse.harbour-administration.example',
      `${'a'.repeat(64)}@${'b'.repeat(63)}.example`,
    ];
    const users = emails.map((email, at) => ({
      ...line,
      username: at === 1 ? 'layla' : email,
      name: ['Ada Lovelace', 'ليلى عبد الرحمن المنصوري', 'Bartholomew Featherstonehaugh-Cholmondeley', 'W'.repeat(80)][
        at
      ]!,
      email,
      disabled: true,
      groups: ['keepers-of-the-northern-lighthouses', 'staff'],
      createdAt: months,
      usedAt: months,
    }));
    for (const width of [1440, 1280, 1024, 390]) {
      const { page, show } = await open(width);
      for (const locale of ['en', 'de', 'ar']) {
        await show(most('console-users', { users }), locale);
        const shown = await page.$$eval('.users tbody', ([rows]) => ({
          names: [...rows!.querySelectorAll('.called, td > .address')].map((one) => one.textContent),
          cut: [...rows!.querySelectorAll('.called, small bdi, td > .address')]
            .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2)
            .map((one) => one.textContent),
          within:
            rows!.getBoundingClientRect().width <=
              document.querySelector('form.filter')!.getBoundingClientRect().width &&
            document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        }));
        const names = users.flatMap(({ username, email }) => [username, email]);
        expect({ width, locale, ...shown }).toEqual({ width, locale, names, cut: [], within: true });
      }
      await page.close();
    }
  });

  test('an address breaks after a separator before it breaks inside a word (pages, every page)', async () => {
    const example = examples['console-client'][1];
    const uri = 'https://grafana.lighthouse.harbour.example/login/generic_oauth';
    const { page, show } = await open(360);
    await show(
      most('console-client', { connect: { ...example.connect, saml: undefined, redirectUris: [uri], startUri: uri } }),
    );
    const addresses = await page.$$eval('dd bdi:has(wbr)', (all) =>
      all.map((one) => ({
        text: one.textContent,
        lines: Math.max(
          ...[...one.childNodes].map((word) => {
            const range = document.createRange();
            range.selectNode(word);
            return new Set([...range.getClientRects()].map(({ top }) => top)).size;
          }),
        ),
      })),
    );
    expect(addresses.filter(({ text }) => text === uri)).toEqual([
      { text: uri, lines: 1 },
      { text: uri, lines: 1 },
    ]);
  });

  test('a long name has the line to itself, and the actions follow below it (pages, every page)', async () => {
    const { page, show } = await open(1280);
    await show(
      most('console-client', { name: 'Royal Freight Forwarding and Passenger Transport Administration of Harbour' }),
    );
    const [name, actions] = await page.$$eval('.thing-head h1, .thing-head .toolbar', (all) =>
      all.map((one) => one.getBoundingClientRect().toJSON() as { top: number; bottom: number }),
    );
    expect(actions!.top).toBeGreaterThan(name!.bottom);
  });

  test('the whole card of a kind of client leads to its form, also where its text names a setting (pages, every page)', async () => {
    const { page, show } = await open(1280);
    await show(most('console-client-kinds'));
    const targets = await page.$$eval('.kinds .card', (all) =>
      all
        .map((card) => {
          card.scrollIntoView();
          const { left, bottom } = card.getBoundingClientRect();
          return [card.querySelector('h2 a'), document.elementFromPoint(left + 8, bottom - 8)!.closest('a')];
        })
        .map(([own, found]) => [own!.getAttribute('href'), found!.getAttribute('href')]),
    );
    expect(targets.length).toBeGreaterThan(3);
    for (const [own, found] of targets) expect(found).toBe(own);
    const setting = page.locator('.kinds p a').first();
    await setting.click({ trial: true });
  });

  test('the line under a link is below the underscores of a name (pages, every page)', async () => {
    const { page, show } = await open(1280);
    await show(most('console-group'));
    const offset = await page.$eval('.members tbody a', (link) => {
      const style = getComputedStyle(link);
      return parseFloat(style.textUnderlineOffset) / parseFloat(style.fontSize);
    });
    // the underscore of common fonts ends 0.29 em below the baseline
    expect(offset).toBeGreaterThan(0.29);
  });

  test('an open section offers to hide itself, and a closed one to show itself (pages, every page)', async () => {
    const { page, show } = await open(360);
    for (const name of ['console-client-created', 'console-client-edit', 'consent'] as const) {
      await show(most(name));
      const sections = await page.$$eval('details:has(> summary > small)', (all) =>
        all.map((one) => ({ open: (one as HTMLDetailsElement).open, words: one.querySelector('summary')!.innerText })),
      );
      expect(sections.length, name).toBeGreaterThan(0);
      for (const { open: isOpen, words } of sections)
        expect(/Hide$/.test(words.trim()), `${name}: ${words}`).toBe(isOpen);
    }
  });

  test('text keeps its distance from the border of a notice, also with a link and on a phone (pages, every page)', async () => {
    const { page, show } = await open(360);
    for (const name of ['console-clients', 'console-registrations', 'console-overview', 'console-group'] as const) {
      await show(most(name));
      const paddings = await page.$$eval('.notice', (all) =>
        all.map((one) => {
          const { paddingTop, paddingBottom, paddingLeft, paddingRight } = getComputedStyle(one);
          return Math.min(...[paddingTop, paddingBottom, paddingLeft, paddingRight].map(parseFloat));
        }),
      );
      expect(paddings.length, name).toBeGreaterThan(0);
      for (const padding of paddings) expect(padding, name).toBeGreaterThanOrEqual(6);
    }
  });
});

const render = (view: View, locale = 'en') => pages.render(view.name, view.data, { locale });

test('the preview of claims keeps the lines of its JSON, and no invisible characters (pages, every page)', () => {
  const idToken = JSON.stringify({ sub: '1', name: 'Ada\u202e' }, null, 2);
  const preview = { ...examples['console-client-claims'][1].preview!, idToken };
  const page = render(most('console-client-claims', { preview }));
  expect(page).toContain('<code>{\n  &quot;sub&quot;: &quot;1&quot;,\n  &quot;name&quot;: &quot;Ada&quot;\n}</code>');
});

test('the button back from the secrets of a client says where it leads (pages, every page)', () => {
  const view = { name: 'console-client-secrets', data: examples['console-client-secrets'][0] } as View;
  expect(render(view)).toMatch(/<a class="button"[^>]*>Back to [^<]+<\/a>/);
});

test.each([0, 1, 2, 3, 5, 7, 10, 11, 50, 99, 101, 4_999, 5_001])(
  'the axis of a chart with %d sign-ins in an hour has whole numbers (pages, every page)',
  (number) => {
    const now = new Date('2026-11-26T10:30:00Z');
    const counts = [{ hour: new Date('2026-11-26T09:00:00Z'), kind: 'sign_in' as const, count: number }];
    const { most: top } = chart('day', counts, now);
    expect(Number.isInteger(top / 2)).toBe(true);
    expect(top).toBeGreaterThanOrEqual(number);
  },
);

test.each([
  ['en', /\bat (?:[A-Z][a-z]{2}|\d)|\bon \d+ browsers?/],
  ['de', /\bum \d{1,2}\.|auf \d+ Browser/],
  ['ar', /على (?:متصفح|\d+ متصفح)/],
])(
  'a date follows no word for a time of day, and browsers are no places, in %s (pages, every page)',
  (locale, wrong) => {
    const sessions = [...examples['account-sessions'][1].sessions, ...examples['account-sessions'][1].sessions];
    for (const view of [most('account-sessions', { sessions }), most('console-user-link')]) {
      const page = render(view, locale);
      expect(page.replaceAll(/<[^>]+>/g, ' ')).not.toMatch(wrong);
    }
  },
);
