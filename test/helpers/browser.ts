// Finds Debian's Chromium for tests that need a real browser, and skips them where it is not installed.
import { type Browser, chromium } from 'playwright-core';
import { test } from 'vitest';
import { browserArguments } from './browser-arguments.ts';
import { patience } from './limits.ts';

/** No Chromium is installed: test/run.ts reports at its end that these tests were skipped. */
export const browserTest = test.skipIf(!process.env.CHROMIUM);

/** A browser that waits as long as a busy machine needs. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM!,
    args: browserArguments,
    timeout: patience,
  });
  browser.on('context', (context) => context.setDefaultTimeout(patience));
  return browser;
}
