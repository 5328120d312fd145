// Photographs every page for the documentation and weighs it: node scripts/gallery.ts writes docs/pages.md and docs/images/pages/.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium, type Page } from 'playwright-core';
import { createPages } from '../src/pages/renderer.ts';
import type { PageName } from '../src/pages/views/index.ts';
import { examples } from '../templates/examples/index.ts';
import type { View } from '../test/pages/page-states/index.ts';
import { openRendered } from '../test/helpers/rendered-page.ts';

const docs = join(dirname(import.meta.dirname), 'docs');
const images = join(docs, 'images/pages');
const rounds = 5;
/** The members of errors, at any depth, and of other passing states, which the pictures omit. */
const faults = ['problem', 'fault', 'faults', 'nameFault', 'refused', 'error'];
const passing = ['pause', 'wait', 'reauthentication', 'reference', 'typed', 'changed', 'report'];
const pages = createPages({ basePath: '' });
// form-post submits itself before it can be photographed
const names = (Object.keys(examples) as PageName[]).filter((name) => name !== 'form-post');

function without(value: unknown, member: string, deep: boolean): unknown {
  if (Array.isArray(value)) return deep ? value.map((one) => without(one, member, deep)) : value;
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value;
  // a list of faults is always there
  const rest = Object.entries(value).flatMap(([name, one]): [string, unknown][] =>
    name !== member ? [[name, one]] : Array.isArray(one) ? [[name, []]] : [],
  );
  return Object.fromEntries(rest.map(([name, one]) => [name, deep ? without(one, member, deep) : one]));
}

function atRest(name: PageName): View {
  const omitted = [...faults, ...passing, ...(name === 'login' ? ['fields'] : [])];
  return omitted.reduce(
    (view, member) => {
      const calmer = { name, data: without(view.data, member, faults.includes(member)) } as View;
      try {
        pages.render(calmer.name, calmer.data, { locale: 'en' });
        return calmer;
      } catch {
        // a member of that name that always exists
        return view;
      }
    },
    { name, data: examples[name][1] } as View,
  );
}

/** In a window as high as the page, a bar that stays at an edge of the window covers nothing. */
async function photograph(page: Page, path: string): Promise<void> {
  const { width, height } = page.viewportSize()!;
  await page.setViewportSize({
    width,
    height: Math.max(height, await page.evaluate<number>('document.body.scrollHeight')),
  });
  await page.evaluate('scrollTo({ top: 0, behavior: "instant" })');
  await page.screenshot({ path, type: 'jpeg', quality: 72, fullPage: true, animations: 'disabled' });
  await page.setViewportSize({ width, height });
}

rmSync(images, { recursive: true, force: true });
mkdirSync(images, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--disable-gpu', '--hide-scrollbars', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
});
const wide = await openRendered(await browser.newContext({ viewport: { width: 1280, height: 720 } }), pages);
const narrow = await openRendered(
  await browser.newContext({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' }),
  pages,
);

/** An uploaded image of the examples. */
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="11" fill="#1d4e7a"/><path d="M12 4v11H6zm1 3v8h5z" fill="#fff"/></svg>';
for (const { page } of [wide, narrow])
  await page.route(/\/assets\/images\//, (route) => route.fulfill({ contentType: 'image/svg+xml', body: picture }));

/** Counted in Chromium. A change of these pages asks for a new count. */
const tasks = [
  ['Connect Google', 3, 2, 4],
  [
    'Connect an OpenLDAP directory with a certificate authority of its own, test it, and give one of its groups a client',
    8,
    11,
    12,
  ],
  ['Find out from the reference on a page why a user was refused', 1, 1, 0],
  ['Find out from the page of a user whether the user can use a client, and why', 3, 2, 2],
  ['Invite a user', 2, 2, 2],
  ['Accept an invitation with a name and a passkey, and save the recovery codes', 3, 1, 2],
] as const;
const rows: string[] = [];
const pictures: string[] = [];
for (const name of names) {
  const view = atRest(name);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await wide.show(view);
    times.push(
      await wide.page.evaluate<number>('performance.timing.domContentLoadedEventEnd - performance.timing.responseEnd'),
    );
  }
  await photograph(wide.page, join(images, `${name}.jpg`));
  await narrow.show(view);
  await photograph(narrow.page, join(images, `${name}-telephone.jpg`));
  const html = pages.render(view.name, view.data, { locale: 'en' });
  const parts = [html, ...[...pages.assets.values()].filter(({ path }) => html.includes(path)).map(({ body }) => body)];
  const weigh = (measure: (part: string) => number) => parts.reduce((sum, part) => sum + measure(part), 0);
  const median = times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)]!;
  rows.push(
    `| [${name}](#${name}) | ${weigh(Buffer.byteLength).toLocaleString('en')} | ${weigh((part) => gzipSync(part).length).toLocaleString('en')} | ${parts.length} | ${median} |`,
  );
  pictures.push(
    `### ${name}\n\n<img src="images/pages/${name}.jpg" width="640" alt="The page ${name} at 1280 pixels, light"> <img src="images/pages/${name}-telephone.jpg" width="200" alt="The page ${name} on a phone, dark">\n`,
  );
}
await browser.close();

writeFileSync(
  join(docs, 'pages.md'),
  `# The pages

This page shows every page of the service with example data. \`node scripts/gallery.ts\` takes the pictures: 1280 pixels wide in light mode, and 360 pixels wide, as on a phone, in dark mode. All
pages work without script. The pages for users come in [several languages](languages.md), and the console in English, German and Arabic.

## Common tasks

This table counts the pages that load in Chromium, the fields that a user fills in, and the clicks on links, buttons and choices. Each task begins on the list of the console that it belongs to, or with the link of the mail.

| Task | Pages | Fields | Clicks |
|---|---|---|---|
${tasks.map((task) => `| ${task.join(' | ')} |`).join('\n')}

## Size and time

The sizes contain everything that a page loads: its own HTML, stylesheets and scripts. Only the logo of a client comes from another server. The names of stylesheets and scripts contain a digest, so the browser
caches them, and the next page loads only its HTML. “Interactive” is the time in Chromium from the last byte of the HTML until the scripts have run: milliseconds, median of ${rounds}, with the files in memory.

| Page | bytes | gzipped | requests | interactive, ms |
|---|---|---|---|---|
${rows.join('\n')}

## Pictures

${pictures.join('\n')}`,
);
