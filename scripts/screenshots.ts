// Photographs every page in states that tend to break a layout, and checks contrast, sideways scrolling, size of targets and policy. Usage: node scripts/screenshots.ts OUTPUT-FOLDER [NAME-PART]
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { createPages } from '../src/pages/renderer.ts';
import { browserArguments } from '../test/helpers/browser-arguments.ts';
import { inspect, overflow } from '../test/helpers/page-inspection.ts';
import type { ClientView, PageName, Pages } from '../src/pages/views/index.ts';
import { examples } from '../templates/examples/index.ts';

const [folder, only = ''] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Usage: node scripts/screenshots.ts OUTPUT-FOLDER [NAME-PART]');
  process.exit(2);
}

const pages = createPages({ basePath: '' });

type Shot = { [N in PageName]: { name: string; page: N; data: Pages[N]; locale?: string; script?: boolean } }[PageName];

const most = <N extends PageName>(page: N): Pages[N] => examples[page][1];
const least = <N extends PageName>(page: N): Pages[N] => examples[page][0];
const client = most('continue').client;
const longName =
  'Königliche Donaudampfschifffahrtsgesellschaft für Frachtbeförderung und Fahrgastbetreuung mbH & Co. KGaA';
const longClient: ClientView = {
  ...client,
  name: longName,
  logoUri: 'https://harbour.example/missing.png',
  host: 'anmeldung.frachtbefoerderung.donaudampfschifffahrtsgesellschaft.example',
};
const longAccount = {
  username: 'maximiliane.freifrau-von-und-zu-hohenlohe-langenburg@donaudampfschifffahrt.example',
  name: longName,
};
const bareClient: ClientView = { clientId: 'c-4f81', name: '', host: 'localhost:8080', selfRegistered: false };
const signIn: Pages['login'] = {
  ...most('login'),
  username: '',
  problem: undefined,
  reauthentication: undefined,
  reference: undefined,
};
const consent: Pages['consent'] = { ...most('consent'), problem: undefined };

const secondFactor = most('login-second-factor');
const review = most('registration-review');
const methods = signIn.methods!.slice(0, 1);
const wrong = { ...signIn, username: 'ada', problem: 'credentials', fields: ['username', 'password'] };

const shots: Shot[] = [
  { name: 'login', page: 'login', data: signIn },
  { name: 'login-noscript', page: 'login', data: signIn, script: false },
  { name: 'login-own', page: 'login', data: { methods } },
  { name: 'login-wrong', page: 'login', data: wrong },
  { name: 'login-again', page: 'login', data: { ...signIn, reauthentication: most('consent').account } },
  { name: 'login-expired', page: 'login', data: { ...signIn, problem: 'expired', reference: '7F3K-9QXD' } },
  { name: 'login-client', page: 'login', data: { problem: 'client', reference: '7F3K-9QXD' } },
  {
    name: 'login-long',
    page: 'login',
    data: { ...most('login'), client: longClient, username: longAccount.username, reauthentication: longAccount },
  },
  { name: 'login-empty', page: 'login', data: { client: bareClient, methods } },
  { name: 'login-german', page: 'login', data: wrong, locale: 'de' },
  { name: 'login-arabic', page: 'login', data: signIn, locale: 'ar' },
  {
    name: 'login-arabic-wrong',
    page: 'login',
    data: wrong,
    locale: 'ar',
  },
  { name: 'second-factor', page: 'login-second-factor', data: { ...secondFactor, problem: undefined } },
  { name: 'second-factor-wrong', page: 'login-second-factor', data: secondFactor },
  {
    name: 'second-factor-german',
    page: 'login-second-factor',
    data: {
      ...secondFactor,
      client: longClient,
      account: longAccount,
      problem: { id: 'recovery-code', input: 'recovery' },
    },
    locale: 'de',
  },
  { name: 'second-factor-arabic', page: 'login-second-factor', data: secondFactor, locale: 'ar' },
  { name: 'consent', page: 'consent', data: { ...consent, client: { ...client, selfRegistered: false } } },
  { name: 'consent-self', page: 'consent', data: most('consent') },
  { name: 'consent-long', page: 'consent', data: { ...consent, client: longClient, account: longAccount } },
  { name: 'consent-empty', page: 'consent', data: least('consent') },
  { name: 'consent-german', page: 'consent', data: consent, locale: 'de' },
  { name: 'consent-arabic', page: 'consent', data: consent, locale: 'ar' },
  { name: 'continue', page: 'continue', data: most('continue') },
  {
    name: 'continue-long',
    page: 'continue',
    data: { ...most('continue'), client: longClient, account: longAccount },
    locale: 'de',
  },
  { name: 'logout', page: 'logout', data: { ...most('logout'), problem: undefined } },
  { name: 'logout-own', page: 'logout', data: least('logout') },
  {
    name: 'logout-german',
    page: 'logout',
    data: { ...most('logout'), problem: 'expired', client: longClient },
    locale: 'de',
  },
  { name: 'logout-arabic', page: 'logout', data: { ...most('logout'), problem: undefined }, locale: 'ar' },
  { name: 'signed-out', page: 'signed-out', data: least('signed-out') },
  {
    name: 'signed-out-back',
    page: 'signed-out',
    data: { ...most('signed-out'), frames: undefined, continueUri: undefined },
  },
  {
    name: 'signed-out-frames',
    page: 'signed-out',
    data: { ...most('signed-out'), problem: undefined, applications: undefined },
    // with script the page would continue
    script: false,
  },
  { name: 'signed-out-stayed', page: 'signed-out', data: { client, stayed: true, accountUri: '/account' } },
  { name: 'error', page: 'error', data: most('error') },
  { name: 'error-server', page: 'error', data: { kind: 'server', reference: '7F3K-9QXD' } },
  { name: 'error-german', page: 'error', data: { ...most('error'), client: longClient }, locale: 'de' },
  { name: 'error-arabic', page: 'error', data: most('error'), locale: 'ar' },
  { name: 'access-denied', page: 'access-denied', data: most('access-denied') },
  { name: 'form-post-noscript', page: 'form-post', data: most('form-post'), script: false },
  { name: 'account', page: 'account', data: most('account') },
  { name: 'account-empty', page: 'account', data: { ...least('account'), account: { username: 'ada' } } },
  ...(Object.keys(examples) as PageName[])
    .filter((page) => page.startsWith('account-') && page !== 'account-password')
    .flatMap((page) => [
      { name: page, page, data: most(page) } as Shot,
      { name: `${page}-empty`, page, data: { ...least(page), account: { username: 'ada' } } } as Shot,
      {
        name: `${page}-german`,
        page,
        data: { ...most(page), account: longAccount, done: undefined },
        locale: 'de',
      } as Shot,
      { name: `${page}-arabic`, page, data: most(page), locale: 'ar' } as Shot,
    ]),
  { name: 'account-german', page: 'account', data: { ...most('account'), account: longAccount }, locale: 'de' },
  { name: 'password', page: 'account-password', data: { ...most('account-password'), faults: undefined } },
  { name: 'password-wrong', page: 'account-password', data: most('account-password') },
  {
    name: 'password-german',
    page: 'account-password',
    data: { ...most('account-password'), account: longAccount },
    locale: 'de',
  },
  {
    name: 'password-arabic',
    page: 'account-password',
    data: { ...most('account-password'), faults: { password: 'length' } },
    locale: 'ar',
  },
  { name: 'login-registration', page: 'login', data: { methods, destination: 'registration' } },
  { name: 'device-code', page: 'device-code', data: least('device-code') },
  { name: 'device-code-wrong', page: 'device-code', data: most('device-code') },
  { name: 'device-review', page: 'device-review', data: most('device-review') },
  { name: 'device-review-de', page: 'device-review', data: most('device-review'), locale: 'de' },
  { name: 'device-review-ar', page: 'device-review', data: most('device-review'), locale: 'ar' },
  {
    name: 'device-review-long',
    page: 'device-review',
    data: { ...most('device-review'), client: { ...longClient, selfRegistered: false }, isSameNetwork: true },
  },
  { name: 'device-decided', page: 'device-decided', data: most('device-decided') },
  { name: 'registration-code', page: 'registration-code', data: least('registration-code') },
  { name: 'registration-code-wrong', page: 'registration-code', data: most('registration-code') },
  { name: 'registration-review', page: 'registration-review', data: { ...review, problem: undefined } },
  { name: 'registration-review-changed', page: 'registration-review', data: review },
  {
    name: 'registration-review-long',
    page: 'registration-review',
    data: {
      ...review,
      name: longName,
      hosts: [{ host: longClient.host, clients: 0, local: false, fresh: true }],
      account: longAccount,
      problem: undefined,
    },
  },
  { name: 'registration-review-empty', page: 'registration-review', data: least('registration-review') },
  {
    name: 'registration-review-arabic',
    page: 'registration-review',
    data: { ...review, problem: undefined },
    locale: 'ar',
  },
  {
    name: 'registration-decided',
    page: 'registration-decided',
    data: { ...most('registration-decided'), approved: true, reason: undefined },
  },
  { name: 'registration-decided-refused', page: 'registration-decided', data: most('registration-decided') },
  { name: 'error-administrators', page: 'error', data: { kind: 'administrators', reference: '' } },
  { name: 'account-arabic', page: 'account', data: { ...most('account'), done: undefined }, locale: 'ar' },
];

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><circle cx="24" cy="24" r="22" fill="#1b4f8f"/><path d="M10 29c5-4 9 4 14 0s9 4 14 0M24 10v16" stroke="#fff" stroke-width="4" fill="none" stroke-linecap="round"/></svg>';

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: browserArguments,
});

let failures = 0;
const complain = (what: string): void => {
  failures++;
  console.error(what);
};

/** Answers every request from memory, under the policy that the service sends. */
async function serve(page: Page, shot: Shot): Promise<void> {
  const html = pages.render(shot.page, shot.data as never, { locale: shot.locale ?? 'en' });
  const policy = `default-src 'none'; style-src 'self'; script-src 'self' ${pages.formPostScriptHash}; img-src 'self' data: https://harbour.example; frame-src https://lighthouse.example; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
  await page.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    const asset = [...pages.assets.values()].find(({ path }) => path === url.pathname);
    if (asset) return route.fulfill({ contentType: asset.contentType, body: asset.body });
    if (url.pathname === '/logo.png') return route.fulfill({ contentType: 'image/svg+xml', body: logo });
    if (url.pathname === '/page') {
      return route.fulfill({ contentType: 'text/html', headers: { 'content-security-policy': policy }, body: html });
    }
    return route.fulfill({ status: 404, body: '' });
  });
  page.on('console', (message) => {
    // a missing logo is one of the states
    if (message.type() === 'error' && !message.text().includes('404')) complain(`${shot.name}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complain(`${shot.name}: ${error.message}`));
  await page.goto('https://gatehouse.example/page');
}

let contrast = 21;
for (const shot of shots.filter(({ name }) => name.includes(only))) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, javaScriptEnabled: shot.script ?? true });
    const page = await context.newPage();
    await serve(page, shot);
    if (shot.script !== false) {
      const { least: found, faults } = await page.evaluate<{ least: number; faults: string[] }>(inspect);
      contrast = Math.min(contrast, found);
      for (const fault of faults) complain(`${shot.name}, ${colorScheme}: ${fault}`);
    }
    for (const width of [360, 768, 1280]) {
      await page.setViewportSize({ width, height: width === 360 ? 720 : 800 });
      await page.screenshot({
        path: join(folder, `${shot.name}-${width}-${colorScheme}.png`),
        fullPage: true,
        animations: 'disabled',
      });
    }
    const opened = page.locator('details').first();
    if (colorScheme === 'light' && (await opened.count()) > 0) {
      await opened.locator('summary').click();
      await page.screenshot({ path: join(folder, `${shot.name}-open-1280-light.png`), fullPage: true });
    }
    if (shot.script !== false) {
      await page.setViewportSize({ width: 320, height: 640 });
      if ((await page.evaluate<number>(overflow)) > 0) complain(`${shot.name}: scrolls sideways at 320 px`);
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      if ((await page.evaluate<number>(overflow)) > 0)
        complain(`${shot.name}: scrolls sideways at 320 px and 200 % text`);
      if (colorScheme === 'light')
        await page.screenshot({ path: join(folder, `${shot.name}-320-large.png`), fullPage: true });
    }
    await context.close();
  }
  if (shot.script !== false) {
    const context = await browser.newContext({ forcedColors: 'active', reducedMotion: 'reduce' });
    const page = await context.newPage();
    await serve(page, shot);
    await page.screenshot({ path: join(folder, `${shot.name}-forced.png`), fullPage: true });
    await context.close();
  }
}
await browser.close();
console.log(
  `Lowest contrast of text: ${contrast.toFixed(2)}:1. ${failures === 0 ? 'No faults.' : `${failures} faults.`}`,
);
process.exitCode = failures === 0 ? 0 : 1;
