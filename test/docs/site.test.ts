// The site of the documents is built, its links and anchors lead somewhere, its search finds a setting and a symptom, and axe finds no fault. npm run walks -- docs-site
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserTest, launchBrowser } from '../helpers/browser.ts';
import { bringAxe, runAxe, wcagRules } from '../helpers/page-inspection.ts';

const root = join(import.meta.dirname, '../..');
const dist = join(root, 'docs/site/dist');
const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

let site: Server | undefined;
let address: string;
let browser: Browser | undefined;
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/site.ts'], { cwd: root });
  console.log(stdout.trim().split('\n').at(-1));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, 'http://site').pathname).replace(/\/$/, '/index.html');
    const file = join(dist, extname(path) === '' ? `${path}.html` : path);
    readFile(file).then(
      (content) => response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream').end(content),
      () => response.writeHead(404).end(),
    );
  });
  site = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (process.env.CHROMIUM !== undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  site?.closeAllConnections();
  site?.close();
});

const built = () => globSync('**/*.html', { cwd: dist }).filter((file) => file !== '404.html');
const html = (file: string) => readFileSync(join(dist, file), 'utf8');
const idsOf = (text: string) => new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => decodeEntities(id!)));
const decodeEntities = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

test('every document and every guide is a page of the site (decisions section 8)', () => {
  const pages = built();
  for (const file of globSync(['docs/*.md', 'docs/guides/*.md'], { cwd: root }))
    expect(pages).toContain(file.replace(/^docs\//, '').replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html'));
  expect(pages).toContain('api.html');
});

test('every link and every picture of the site leads to a page, and to a heading if it names one (decisions section 8)', () => {
  const ids = new Map(built().map((file) => [file, idsOf(html(file))]));
  const broken: string[] = [];
  let followed = 0;
  for (const file of ids.keys())
    for (const [, link] of html(file).matchAll(/(?:href|src)="([^"]+)"/g)) {
      if (/^[a-z]+:|^\/\//.test(link!)) continue;
      const [path = '', fragment] = decodeEntities(link!).split('#');
      const target = path === '' ? file : posix.join(path.startsWith('/') ? '' : dirname(file), path.replace(/\/$/, '/index.html'));
      const found = target.replace(/^\//, '') || 'index.html';
      const exists = existsSync(join(dist, found)) ? found : `${found}.html`;
      followed += 1;
      if (!existsSync(join(dist, exists))) broken.push(`${file}: ${link}`);
      else if (fragment && !ids.get(exists)?.has(decodeURIComponent(fragment))) broken.push(`${file}: ${link}`);
    }
  expect(broken).toEqual([]);
  expect(followed).toBeGreaterThan(1000);
  console.log(`Followed ${followed} links of ${ids.size} pages.`);
});

test('the site asks no other server (decisions section 8)', () => {
  for (const file of built()) {
    const loaded = [...html(file).matchAll(/<(?:script|link|img)\b[^>]*?(?:src|href)="(https?:[^"]+)"/g)];
    expect(loaded.map(([, url]) => url), file).toEqual([]);
  }
});

/** Types words into the search of the site, and returns the addresses that it offers. */
async function search(page: Page, words: string): Promise<string[]> {
  await page.goto(`${address}/`);
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.locator('#localsearch-input').fill(words);
  await page.locator('.results .result').first().waitFor();
  return page.locator('.results a.result').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
}

browserTest.each([
  ['a setting', 'REMEMBER_SECOND_FACTOR', /^\/reference\.html#/],
  ['a symptom', 'This application can’t sign you in', /^\/sign-in-fails\.html#this-application-cant-sign-you-in$/],
  ['a program', 'Nextcloud', /^\/guides\/nextcloud\.html/],
])('the search finds %s (decisions section 8)', async (_what, words, expected) => {
  const page = await browser!.newPage();
  const found = await search(page, words);
  expect(found.slice(0, 5), found.join('\n')).toEqual(expect.arrayContaining([expect.stringMatching(expected)]));
  await page.getByRole('option').first().or(page.locator('.results a.result').first()).first().click();
  await page.waitForURL((url) => url.pathname !== '/');
  await page.close();
});

browserTest.each(['light', 'dark'] as const)('axe finds no fault on pages of each kind in %s mode (decisions section 8)', async (colorScheme) => {
  for (const width of [390, 1280]) {
    const context = await browser!.newContext({ viewport: { width, height: 800 }, colorScheme });
    await bringAxe(context);
    const page = await context.newPage();
    for (const path of ['/', '/sign-in-fails.html', '/guides/nginx.html', '/api.html', '/compared.html', '/start-at-home.html', '/overview.html', '/install.html']) {
      await page.goto(address + path);
      await page.locator('main h1').waitFor();
      const faults = await page.evaluate<string[]>(runAxe(wcagRules));
      expect(faults, `${path} at ${width} pixels`).toEqual([]);
    }
    await context.close();
  }
});
