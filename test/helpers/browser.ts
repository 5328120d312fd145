// Debian's Chromium for tests that need a real browser, and what leaves them out where there is none.
import { type Browser, chromium } from 'playwright-core';
import { test } from 'vitest';

const browserArguments = [
  '--headless=new',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // the browser's own sandbox cannot be set up by root; it visits the tests' own pages only
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
];

/** No Chromium is installed: test/run.ts says at its end that these were left out. */
export const browserTest = test.skipIf(!process.env.CHROMIUM);

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM!, args: browserArguments });
}
