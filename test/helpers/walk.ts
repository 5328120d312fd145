// Walks a user through the pages of several servers in one browser, by keyboard, and checks each page on the way.
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import { keyboard } from './keyboard.ts';
import { bringAxe, faultsOf, faultsWithoutAxe } from './page-inspection.ts';

/** A folder for a picture of each page on the way. */
const pictures = process.env.WALK_PICTURES;

const mostChoices = 10;

export interface Walker {
  locale: string;
  width: number;
  colorScheme?: 'light' | 'dark';
  javaScriptEnabled?: boolean;
}

const one = {
  desktop: { locale: 'en', width: 1280, javaScriptEnabled: true, colorScheme: 'light' },
  telephone: { locale: 'ar', width: 360, javaScriptEnabled: false, colorScheme: 'dark' },
} as const;

/** Who walks: one user, on a desktop with script or on a telephone without; with WALKS=all both in each language. */
export const walkersBy = (device: keyof typeof one) =>
  (process.env.WALKS === 'all'
    ? ['en', 'de', 'ar'].flatMap((locale) => Object.values(one).map((walker) => ({ ...walker, locale })))
    : [one[device]]
  ).map((walker) => ({ ...walker, script: walker.javaScriptEnabled ? 'with script' : 'without script' }));

export type Application = Awaited<ReturnType<typeof startApplication>>;

/** The client's own server: it answers every address with an empty page, and keeps the addresses to which users returned. */
export async function startApplication() {
  const returned: URL[] = [];
  const server = createServer((request, response) => {
    returned.push(new URL(request.url!, origin));
    response
      .setHeader('content-type', 'text/html')
      .end('<!doctype html><html lang="en"><title>Harbour</title><link rel="icon" href="data:,">');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    redirectUri: `${origin}/callback`,
    signedOutUri: `${origin}/bye`,
    returned,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A browser of its own for one user. */
export async function openWalk(
  browser: Browser,
  walk: string,
  { locale, width, colorScheme, javaScriptEnabled }: Walker,
) {
  const context = await browser.newContext({
    locale,
    viewport: { width, height: 740 },
    ...(colorScheme && { colorScheme }),
    ...(javaScriptEnabled !== undefined && { javaScriptEnabled }),
  });
  await bringAxe(context);
  const page = await context.newPage();
  const keys = keyboard(page);
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => complaints.push(error.message));
  let taken = 0;
  return {
    context,
    page,
    /** The errors in the browser's console. */
    complaints,
    /** Checks the page that the browser shows. */
    async checked(name: string): Promise<void> {
      // axe-core waits for timers, which do not run where a page may run no script
      const faults = javaScriptEnabled === false ? await faultsWithoutAxe(page) : await faultsOf(page);
      expect({ url: page.url(), faults }).toMatchObject({ faults: [] });
      if (pictures !== undefined) {
        mkdirSync(pictures, { recursive: true });
        const file = `${walk}-${locale}-${width}-${++taken}-${name}.png`;
        await page.screenshot({ path: join(pictures, file), fullPage: true, animations: 'disabled' });
      }
    },
    /** Presses Enter, and waits for the page at an address. */
    async enter(address: string): Promise<void> {
      await Promise.all([page.waitForURL(address), page.keyboard.press('Enter')]);
    },
    /** Chooses one of several radio buttons. */
    async choose(name: string, value: string): Promise<void> {
      await keys.goTo(`input[name="${name}"]`);
      for (let press = 0; press < mostChoices; press++) {
        if (await keys.isAt(`input[name="${name}"][value="${value}"]`)) return;
        await page.keyboard.press('ArrowDown');
      }
      throw new Error(`the arrows do not lead to ${name} ${value}`);
    },
    ...keys,
  };
}
