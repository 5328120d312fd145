// Debian's Chromium for tests that need a real browser, and what leaves them out where there is none.
import { type Browser, chromium } from 'playwright-core';
import { test } from 'vitest';
import { browserArguments } from './browser-arguments.ts';

/** No Chromium is installed: test/run.ts says at its end that these were left out. */
export const browserTest = test.skipIf(!process.env.CHROMIUM);

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM!, args: browserArguments });
}
