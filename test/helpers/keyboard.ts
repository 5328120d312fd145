// Plays a user without a mouse: moves through pages in a browser by Tab, Enter, Space and typing.
import type { Page } from 'playwright-core';

/** More steps than from the start of a page to any control. */
const mostSteps = 150;

interface Focusable {
  matches(selector: string): boolean;
  tabIndex: number;
  disabled?: boolean;
  checkVisibility(): boolean;
  compareDocumentPosition(other: Focusable): number;
}
interface Dom {
  document: { activeElement: Focusable; querySelectorAll(selector: string): Iterable<Focusable> };
}

/** How many elements from the one with the focus to the wanted one Tab probably visits: a guess, for a browser knows more rules. */
function likelySteps(wanted: string): number {
  const { document } = globalThis as unknown as Dom;
  const from = document.activeElement;
  const FOLLOWING = 4;
  const ahead = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(
    (element) =>
      element.tabIndex >= 0 &&
      element.disabled !== true &&
      element.checkVisibility() &&
      (from.compareDocumentPosition(element) & FOLLOWING) !== 0,
  );
  return ahead.findIndex((element) => element.matches(wanted)) + 1;
}

export function keyboard(page: Page) {
  /** Whether the control has the focus. */
  const isAt = (selector: string): Promise<boolean> =>
    page.evaluate<boolean, string>(
      (wanted) => (globalThis as unknown as Dom).document.activeElement?.matches(wanted) ?? false,
      selector,
    );
  /** Presses Tab until the control has the focus. To ask after each press would take most of a walk's time, so the likely presses come at once. */
  async function goTo(selector: string): Promise<void> {
    if (await isAt(selector)) return;
    const likely = await page.evaluate<number, string>(likelySteps, selector);
    await Promise.all(Array.from({ length: Math.min(likely, mostSteps) }, () => page.keyboard.press('Tab')));
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

const widths = { desktop: 1280, telephone: 360 }; // pixels

/** The walks of a test run: one user at one device. With WALKS=all users in each language walk at each size, in light and in dark. */
export const walksAt = (device: keyof typeof widths) =>
  process.env.WALKS === 'all'
    ? ['en', 'de', 'ar'].flatMap((locale) => [
        { locale, width: widths.desktop, colorScheme: locale === 'ar' ? 'dark' : 'light' } as const,
        { locale, width: widths.telephone, colorScheme: locale === 'ar' ? 'light' : 'dark' } as const,
      ])
    : [{ locale: device === 'desktop' ? 'en' : 'ar', width: widths[device], colorScheme: 'light' } as const];
