// Checks a page in a browser with axe-core, and for what that does not find: contrast, size of targets, sideways scrolling.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface AxeRules {
  type: 'tag' | 'rule';
  values: string[];
}
export const wcagRules: AxeRules = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};

/** Gives axe-core to every page of a browser, before the page: with each check it would be sent and compiled again. */
export const bringAxe = (context: BrowserContext): Promise<unknown> => context.addInitScript({ content: axe });

/** Runs in the browser: the rules that are broken, each with the elements that break it. The context has been given axe-core. */
export const runAxe = (runOnly: AxeRules): string => `(async () => {
  const options = { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'], preload: false };
  const { violations } = await axe.run(document, options);
  return violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | '));
})()`;

/** Everything that the checks find on the page that a browser shows. */
export async function faultsOf(page: Page): Promise<string[]> {
  return [...(await page.evaluate<string[]>(runAxe(wcagRules))), ...(await faultsWithoutAxe(page))];
}

/** The same without axe-core, for a browser without script. */
export async function faultsWithoutAxe(page: Page): Promise<string[]> {
  return [
    ...(await page.evaluate<{ faults: string[] }>(inspect)).faults,
    ...((await page.evaluate<number>(overflow)) > 0 ? ['it scrolls sideways'] : []),
  ];
}

/** The automatic checks. They run in the browser, and are text, because Node has no document to type them against. */
export const inspect = `(() => {
  const faults = [];
  const parse = (color) => {
    const parts = color.match(/[\\d.]+/g).map(Number);
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
  };
  // The page's background shades from one colour to another: text needs contrast with both.
  const grounds = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const { rgb, alpha } = parse(style.backgroundColor);
      if (alpha === 0 && style.backgroundImage === 'none') continue;
      const stops = style.backgroundImage.match(/rgba?\\([^)]*\\)/g) ?? [];
      return [rgb, ...stops.map(parse).filter((stop) => stop.alpha === 1).map((stop) => stop.rgb)];
    }
    return [[255, 255, 255]];
  };
  let least = 21;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const holders = new Set(document.querySelectorAll('input:not([type=hidden])'));
  while (texts.nextNode()) if (texts.currentNode.data.trim() !== '') holders.add(texts.currentNode.parentElement);
  for (const holder of holders) {
    if (!holder.checkVisibility() || ['SCRIPT', 'NOSCRIPT'].includes(holder.tagName)) continue;
    for (const ground of grounds(holder)) {
      const found = ratio(parse(getComputedStyle(holder).color).rgb, ground);
      least = Math.min(least, found);
      if (found < 7) faults.push('contrast ' + found.toFixed(2) + ' of "' + holder.textContent.slice(0, 30) + '"');
    }
  }
  for (const target of document.querySelectorAll('a, button, summary, input:not([type=hidden])')) {
    if (!target.checkVisibility()) continue;
    // a link within a sentence is as high as the sentence (WCAG 2.5.8); a label ticks its box too
    if (target.tagName === 'A' && [...target.parentElement.childNodes].some((node) => node.nodeType === 3 && /[\\p{L}\\p{N}]/u.test(node.data))) continue;
    const box = target.type === 'checkbox' || target.type === 'radio' ? target.labels[0] ?? target : target;
    const { width, height } = box.getBoundingClientRect();
    if (height < 44 || width < 44) faults.push('target of ' + Math.round(width) + ' x ' + Math.round(height) + ': "' + target.textContent.slice(0, 30) + '"');
  }
  // content that overflows its box covers its neighbours; some margins are negative by up to a rem
  for (const box of document.querySelectorAll('body *')) {
    const style = getComputedStyle(box);
    if (!box.checkVisibility() || style.display === 'inline' || style.overflow !== 'visible' || box.closest('svg')) continue;
    const name = box.tagName.toLowerCase() + ' "' + box.textContent.trim().slice(0, 30) + '"';
    if (box.clientHeight > 0 && box.scrollHeight > box.clientHeight + 20) faults.push('higher by ' + (box.scrollHeight - box.clientHeight) + ' than its box: ' + name);
    if (box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 4) faults.push('wider by ' + (box.scrollWidth - box.clientWidth) + ' than its box: ' + name);
  }
  if (document.querySelector('[style]')) faults.push('inline style');
  return { least, faults };
})()`;
/** How many pixels a page is wider than its window. */
export const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
