// Plays a user without a mouse: moves through pages in a browser by Tab, Enter, Space and typing.
import type { Page } from 'playwright-core';

/** More steps than from the start of a page to any control. */
const mostSteps = 150;

interface Dom {
  document: { activeElement: { matches(selector: string): boolean } | null };
}

export function keyboard(page: Page) {
  /** Whether the control has the focus. */
  const isAt = (selector: string): Promise<boolean> =>
    page.evaluate<boolean, string>(
      (wanted) => (globalThis as unknown as Dom).document.activeElement?.matches(wanted) ?? false,
      selector,
    );
  /** Presses Tab until the control has the focus. */
  async function goTo(selector: string): Promise<void> {
    for (let step = 0; step < mostSteps; step++) {
      if (await isAt(selector)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not lead to ${selector} on ${page.url()}`);
  }
  return {
    isAt,
    goTo,
    async type(selector: string, text: string): Promise<void> {
      await goTo(selector);
      await page.keyboard.press('ControlOrMeta+a');
      // at once, as an input method or a password manager enters it
      await page.keyboard.insertText(text);
    },
    /** Presses Enter on a link or a button that opens another page. */
    async follow(selector: string, key = 'Enter'): Promise<void> {
      await goTo(selector);
      await Promise.all([page.waitForEvent('load'), page.keyboard.press(key)]);
    },
    /** Presses Enter on a button that sends a file; returns the file's name. */
    async download(selector: string): Promise<string> {
      await goTo(selector);
      const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
      return file.suggestedFilename();
    },
    async tick(selector: string): Promise<void> {
      await goTo(selector);
      await page.keyboard.press('Space');
    },
  };
}

const desktop = 1280; // pixels
const telephone = 360;

/** The walks of a test run: two that differ in everything, and with WALKS=all each language at each size, in light and in dark. */
export const walks =
  process.env.WALKS === 'all'
    ? ([
        { locale: 'en', width: desktop, colorScheme: 'light' },
        { locale: 'en', width: telephone, colorScheme: 'dark' },
        { locale: 'de', width: desktop, colorScheme: 'light' },
        { locale: 'de', width: telephone, colorScheme: 'dark' },
        { locale: 'ar', width: desktop, colorScheme: 'dark' },
        { locale: 'ar', width: telephone, colorScheme: 'light' },
      ] as const)
    : ([
        { locale: 'en', width: desktop, colorScheme: 'light' },
        { locale: 'ar', width: telephone, colorScheme: 'light' },
      ] as const);
