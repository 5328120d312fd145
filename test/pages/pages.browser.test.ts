// Every page is checked by axe-core and measured in a real browser, light and dark, in both directions; with WALKS=all also with the longest words.
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createPages } from '../../src/pages/renderer.ts';
import type { PageName } from '../../src/pages/views/index.ts';
import { examples } from '../../templates/examples/index.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { bringAxe, inspect, overflow, runAxe, wcagRules } from '../helpers/page-inspection.ts';
import { openRendered } from '../helpers/rendered-page.ts';
import type { View } from './page-states/index.ts';

/** The rules that another colour scheme or direction can break; the first kind checks the others. */
const colours = ['color-contrast', 'link-in-text-block', 'target-size', 'html-has-lang', 'valid-lang'];
const pages = createPages({ basePath: '' });
const names = Object.keys(examples) as PageName[];
const longestWords = [
  // on the narrowest screen; axe-core has checked the same elements in the other kinds
  { colorScheme: 'light', locale: 'de', width: 320, all: false },
  // the console's tables have the least room here
  { colorScheme: 'light', locale: 'de', width: 1024, all: false, only: /^console-/ },
];
const kinds = [
  { colorScheme: 'light', locale: 'en', width: 1280, all: true },
  { colorScheme: 'dark', locale: 'ar', width: 360, all: true },
  ...(process.env.WALKS === 'all' ? longestWords : []),
] as { colorScheme: 'light' | 'dark'; locale: string; width: number; all: boolean; only?: RegExp }[];

let browser: Browser | undefined;
type Tab = Awaited<ReturnType<typeof openRendered>>;
const tabs: { kind: (typeof kinds)[number]; tab: Tab }[] = [];
beforeAll(async () => {
  if (process.env.CHROMIUM === undefined) return;
  browser = await launchBrowser();
  for (const kind of kinds) {
    const { colorScheme, width } = kind;
    const context: BrowserContext = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    await bringAxe(context);
    tabs.push({ kind, tab: await openRendered(context, pages) });
  }
});
afterAll(() => browser?.close());

describe('every page, with the least and the most data', () => {
  // the page that posts itself is gone before it could be checked
  browserTest.each(names.filter((name) => name !== 'form-post'))(
    'the page %s passes axe-core, has a contrast of 7:1 and targets of 44 px, keeps everything in its box, and never scrolls sideways (WCAG 2.2 AA; pages, every page)',
    async (name) => {
      await Promise.all(tabs.map(({ kind, tab }) => check(name, kind, tab)));
    },
  );
});

/** Checks what a page shows in one tab. */
async function check(name: PageName, kind: (typeof kinds)[number], tab: Tab): Promise<void> {
  if (kind.only?.test(name) === false) return;
  const [least, most] = examples[name];
  for (const data of kind === kinds[0] ? [least, most] : [most]) {
    await tab.show({ name, data } as View, kind.locale);
    const faults = [
      ...(kind.all && data === most
        ? await tab.page.evaluate<string[]>(runAxe(kind === kinds[0] ? wcagRules : { type: 'rule', values: colours }))
        : []),
      ...(await tab.page.evaluate<{ faults: string[] }>(inspect)).faults,
    ];
    if ((await tab.page.evaluate<number>(overflow)) > 0) faults.push('it scrolls sideways');
    expect({ ...kind, faults: [...faults, ...tab.complaints] }).toEqual({ ...kind, faults: [] });
  }
}
