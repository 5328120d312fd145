// Finds Debian's Chromium for tests that need a real browser, and skips them where it is not installed.
import { type Browser, chromium } from 'playwright-core';
import { test } from 'vitest';
import { browserArguments } from './browser-arguments.ts';

/** No Chromium is installed: test/run.ts reports at its end that these tests were skipped. */
export const browserTest = test.skipIf(!process.env.CHROMIUM);

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM!, args: browserArguments });
}
