// Every page for users fits a telephone and a desktop in each language. A test run looks at three pages in the longest one; WALKS=all, or LANGUAGE_CHECKED with a language, at all.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { isForAdministrators, isOfConsole } from '../../src/pages/messages.ts';
import { createPages } from '../../src/pages/renderer.ts';
import type { PageName } from '../../src/pages/views/index.ts';
import { examples } from '../../templates/examples/index.ts';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { inspect, overflow } from '../helpers/page-inspection.ts';
import { openRendered } from '../helpers/rendered-page.ts';
import { translation, type View } from './page-states/index.ts';
import { languages } from './words/index.ts';

const pages = createPages({ basePath: '' });
// the page that posts itself is gone before it could be checked
const names = (Object.keys(examples) as PageName[]).filter(
  (name) => !isForAdministrators(name) && name !== 'form-post',
);

const lengthOf = (language: string) =>
  Object.entries(translation(language)).reduce((sum, [key, text]) => sum + (isOfConsole(key) ? 0 : text.length), 0);
const longest = [...languages].sort((a, b) => lengthOf(b) - lengthOf(a))[0]!;
const chosen = process.env['LANGUAGE_CHECKED'];
const all = process.env['WALKS'] === 'all' ? languages : chosen ? [chosen] : undefined;
/** Those with the most buttons and the most values. */
const few: PageName[] = ['login', 'consent', 'account'];

let browser: Browser | undefined;
beforeAll(async () => {
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(() => browser?.close());

describe.each(all ?? [longest])('in %s', (locale) => {
  browserTest.each([320, 1280])(
    'no page for users scrolls sideways or overflows a box at %i pixels, with the most data (pages, languages)',
    async (width) => {
      const context = await browser!.newContext({ viewport: { width, height: 800 } });
      const { page, show, complaints } = await openRendered(context, pages);
      const faults: string[] = [];
      for (const name of all ? names : few) {
        const data = { ...examples[name][1], languages: pages.languages(name, '/login') };
        await show({ name, data } as unknown as View, locale);
        await page.$$eval('details', (sections) => sections.forEach((section) => section.setAttribute('open', '')));
        // colours do not depend on the language
        const found = (await page.evaluate<{ faults: string[] }>(inspect)).faults.filter(
          (fault) => !/^contrast/.test(fault),
        );
        const sideways = (await page.evaluate<number>(overflow)) > 0 ? ['it scrolls sideways'] : [];
        faults.push(...[...found, ...sideways].map((fault) => `${name}: ${fault}`));
      }
      expect([...faults, ...complaints]).toEqual([]);
      await context.close();
    },
  );
});
