// Administrators choose the appearance in the console, by HTTP and by command; pages and mails of every instance show it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { runCommand } from '../helpers/command-line.ts';
import { formOf, openConsole } from '../helpers/console.ts';
import { adminToken, call, eventually, withoutLimits } from '../helpers/grants.ts';
import { notImages, png, pngOf, webp } from '../helpers/images.ts';
import { mailsIn } from '../helpers/mail-server.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { type Page, UserAgent } from '../helpers/user-agent.ts';

const path = '/admin/appearance';
let service: TestService;
let admin: Awaited<ReturnType<TestService['createUser']>>;
let agent: UserAgent;
let token: string;
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-images-'));
beforeAll(async () => {
  service = await startTestService({ instances: 2, environment: withoutLimits });
  admin = await service.createUser({ admin: true, username: 'ann' });
  ({ agent } = await openConsole(service, admin));
  token = await adminToken(service);
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true });
});

const nothing = {
  product_name: null,
  accent_color: null,
  support_url: null,
  logo: null,
  logo_dark: null,
  favicon: null,
};
const change = (body: Record<string, unknown>) =>
  call(`${service.issuer}/admin/api/appearance`, { method: 'PATCH', token, body });
afterEach(async () => {
  await change(nothing);
});

const loginOf = async (base: string): Promise<Page> => new UserAgent({ issuer: base }).get('/login');
const texts = (page: Page) => page.body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
/** Sends the form of the console. */
const send = async (fields: Record<string, string>, by = agent) =>
  by.post(path, { ...formOf(await by.get(path), path), act: 'save', ...fields });
const load = async (address: string) => {
  const response = await fetch(address);
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
};

test('what an administrator saves is on the pages of every instance within a second (pages, appearance)', async () => {
  const saved = await send({
    product_name: 'Harbour <ID>',
    accent_color: '#0B57D0',
    support_url: 'https://help.example/?a=1&b=2',
    logo: png.toString('base64'),
    logo_dark: webp.toString('base64'),
    favicon: png.toString('base64'),
  });
  expect(saved.location).toBe(`${service.issuer}${path}?done=appearance-saved`);
  for (const base of service.instances) {
    const page = await eventually(
      () => loginOf(base),
      ({ body }) => body.includes('Harbour'),
    );
    expect(page.body).toContain('<title>Sign in - Harbour &lt;ID&gt;</title>');
    expect(page.body).toContain('href="https://help.example/?a=1&amp;b=2"');
    const logo =
      /<source srcset="([^"]*)" media="\(prefers-color-scheme: dark\)"><img src="([^"]*)" alt="Harbour &lt;ID&gt;">/;
    const [, dark, light] = logo.exec(page.body)!;
    const icon = /<link rel="icon" href="([^"]*)">/.exec(page.body)![1]!;
    const style = /<link rel="stylesheet" href="([^"]*colors[^"]*)">/.exec(page.body)![1]!;
    for (const [address, type, body] of [
      [light!, 'image/png', png],
      [dark!, 'image/webp', webp],
      [icon, 'image/png', png],
    ] as const) {
      const file = await load(base + address);
      expect(address).toMatch(/^\/assets\/brand\/[a-z-]+\.[0-9a-f]{16}\.(png|webp)$/);
      expect(file).toMatchObject({ status: 200, body });
      expect(file.headers.get('content-type')).toBe(type);
      expect(file.headers.get('x-content-type-options')).toBe('nosniff');
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
    const css = await load(base + style);
    expect(css.headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(css.body.toString()).toMatch(
      /^:root\{--accent:#0b57d0;.*@media \(prefers-color-scheme:dark\)\{:root\{--accent:#/,
    );
    // the policy stays as it was: nothing inline, nothing from elsewhere
    expect(page.headers.get('content-security-policy')).toContain(
      `style-src 'self'; script-src 'self'; img-src 'self' data:;`,
    );
  }
});

test('a page reads the appearance from memory, an older page still loads its files, and unknown files cost one statement a second at most (pages, appearance)', async () => {
  const own = await startTestService({ environment: withoutLimits });
  const reads = () => own.statements.filter((name) => name === 'appearance.read').length;
  /**
   * Runs it until it causes at most that many reads. A listening connection that a busy machine loses causes reads too, but not each time.
   */
  const causesAtMost = (most: (seconds: number) => number, run: () => Promise<unknown>) =>
    vi.waitFor(async () => {
      const [before, began] = [reads(), performance.now()];
      await run();
      expect(reads() - before).toBeLessThanOrEqual(most((performance.now() - began) / 1_000));
    });
  try {
    const ownToken = await adminToken(own);
    const api = `${own.issuer}/admin/api/appearance`;
    /** Saves a logo, and waits for the read of the change and for that of its notification. */
    const set = async (logo: Buffer) => {
      const before = reads();
      await call(api, { method: 'PATCH', token: ownToken, body: { logo: logo.toString('base64') } });
      await vi.waitUntil(() => reads() >= before + 2, { interval: 5 });
    };
    // at the start, and once the service listens for notifications
    await vi.waitUntil(() => reads() >= 2, { interval: 5 });
    await set(png);
    const { uri } = (await call(api, { token: ownToken })).body['logo'] as { uri: string };
    await set(webp);
    expect(await load(uri)).toMatchObject({ status: 200, body: png });
    await causesAtMost(
      () => 0,
      () => loginOf(own.issuer),
    );
    await causesAtMost(
      (seconds) => 1 + Math.floor(seconds),
      async () => {
        for (let n = 0; n < 20; n++)
          expect((await load(`${own.issuer}/assets/brand/logo.${String(n).padStart(16, '0')}.png`)).status).toBe(404);
      },
    );
  } finally {
    await own.stop();
  }
});

test.each<[what: string, body: Record<string, unknown>, sentence: RegExp]>([
  [
    'an accent that is too light',
    { accent_color: '#ffcc00' },
    /accent_color must have a contrast of at least 4\.5:1 .* has 1\.3:1: choose a darker one/,
  ],
  ['an accent just below the limit', { accent_color: '#767676' }, /has 4\.0:1/],
  ['an accent that is no color', { accent_color: 'red' }, /accent_color must be a color such as #0c4a43/],
  ['an accent with more after it', { accent_color: '#0c4a43;}' }, /accent_color must be a color/],
  ['a support link by http', { support_url: 'http://help.example/' }, /support_url must be an https URL, or mailto:/],
  ['a support link that is a script', { support_url: 'javascript:alert(1)' }, /support_url must be an https URL/],
  ['a support link in capitals', { support_url: 'HTTPS://help.example/' }, /support_url must be an https URL/],
  ['a support link with a line break', { support_url: 'https://help.example/\n' }, /support_url must be an https URL/],
  ['a support link with a password', { support_url: 'https://a:b@help.example/' }, /support_url must be an https URL/],
  ['a support link without an address', { support_url: 'mailto:' }, /support_url must be an https URL/],
  ['an empty name', { product_name: '' }, /product_name must be a name of 1 to 60 characters/],
  ['a name on two lines', { product_name: 'Harbour\nID' }, /product_name must be a name/],
  ['a name that changes its direction', { product_name: 'Harbour\u202eDI' }, /product_name must be a name/],
  ['a name of 61 characters', { product_name: 'a'.repeat(61) }, /product_name must be a name/],
  [
    'an image that is too large',
    { logo: pngOf(256 * 1024 + 1).toString('base64') },
    /logo must be an image of at most 256 KiB/,
  ],
  [
    'an image that is much too large',
    { logo: pngOf(512 * 1024).toString('base64') },
    /logo must be an image of at most 256 KiB/,
  ],
  ['text that is no base64', { logo: 'not base64!' }, /logo must be a PNG or WebP image, in base64/],
  ...Object.entries(notImages).map(([what, content]): [string, Record<string, unknown>, RegExp] => [
    `${what} as an image`,
    { favicon: content.toString('base64') },
    /favicon must be a PNG or WebP image/,
  ]),
])('%s is refused with a sentence that helps (pages, appearance)', async (_what, body, sentence) => {
  const answer = await change({ ...body, product_name: body['product_name'] ?? 'Kept' });
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(answer.body['error_description']).toMatch(sentence);
  expect((await call(`${service.issuer}/admin/api/appearance`, { token })).body).toEqual({ fixed: [] });
});

test('an image of exactly 256 KiB is accepted (pages, appearance)', async () => {
  expect((await change({ logo: pngOf(256 * 1024).toString('base64') })).body).toMatchObject({
    logo: { type: 'image/png', size: 256 * 1024 },
  });
});

test('the form says at each field what is wrong, keeps what was typed, and stores nothing (pages, appearance)', async () => {
  const page = await send({
    product_name: 'Kept name',
    accent_color: '#ffcc00',
    support_url: 'http://help.example/',
    logo: notImages['a JPEG']!.toString('base64'),
  });
  expect(page.status).toBe(400);
  expect(page.body).toContain('<title>Error: Appearance');
  expect(texts(page)).toContain('This color has a contrast of only 1.3:1 with the page.');
  expect(texts(page)).toContain('Enter an https address, or mailto: and an email address.');
  expect(texts(page)).toContain('Choose a PNG or WebP image.');
  for (const value of ['Kept name', '#ffcc00', 'http://help.example/']) expect(page.body).toContain(`value="${value}"`);
  expect((await loginOf(service.issuer)).body).toContain('Gatehouse</title>');
});

test('without script a button shows the preview, and nothing is stored (pages, appearance)', async () => {
  const page = await send({
    act: 'preview',
    product_name: 'Harbour ID',
    accent_color: '#0b57d0',
    logo: png.toString('base64'),
  });
  expect(page.status).toBe(200);
  expect(texts(page)).toContain('This preview isn’t saved yet.');
  const [, sheet] = /<link rel="stylesheet" id="preview-colors" href="([^"]*)">/.exec(page.body)!;
  expect(sheet).toBe('/assets/brand/preview.0b57d0.css');
  const css = (await load(service.issuer + sheet!)).body.toString();
  expect(css).toMatch(/^\.preview\.light\{.*--accent:#0b57d0;.*\}\.preview\.dark\{.*--surface:#191e1d.*--accent:#/s);
  const preview = page.body.slice(page.body.indexOf('class="preview light"'));
  expect(preview).toContain(`<img src="data:image/png;base64,${png.toString('base64')}"`);
  // the image goes with the form, so that it is saved next
  expect(page.body).toContain(`<textarea name="logo" hidden>${png.toString('base64')}</textarea>`);
  expect((await loginOf(service.issuer)).body).toContain('Gatehouse</title>');
});

test('an image is kept until it is replaced or removed (pages, appearance)', async () => {
  await send({ logo: png.toString('base64') });
  await send({ product_name: 'Harbour ID' });
  expect((await loginOf(service.issuer)).body).toContain('alt="Harbour ID"');
  await send({ product_name: 'Harbour ID', remove_logo: 'true' });
  expect((await loginOf(service.issuer)).body).not.toContain('alt="Harbour ID"');
});

test('a change is in the audit trail with its members and its actor, and a repetition is no change (security R101)', async () => {
  const events = () =>
    service.database.sql<{ actor: string; detail: Record<string, unknown> }>(
      `SELECT actor, detail FROM audit_events WHERE type = 'appearance.changed' AND actor = $1 ORDER BY id`,
      [admin.sub],
    );
  const before = (await events()).length;
  for (let n = 0; n < 2; n++)
    await send({ product_name: 'Harbour ID', accent_color: '#0b57d0', logo: png.toString('base64') });
  expect((await events()).slice(before)).toEqual([
    {
      actor: admin.sub,
      detail: {
        product_name: 'Harbour ID',
        accent_color: '#0b57d0',
        members: ['product_name', 'accent_color', 'logo'],
      },
    },
  ]);
});

test('only an administrator with a recent sign-in changes the appearance (security R91)', async () => {
  const user = await service.createUser();
  const stranger = new UserAgent(service);
  await stranger.signIn(user);
  expect((await stranger.get(path)).status).toBe(403);
  expect((await stranger.post(path, { csrf: 'x', product_name: 'Mine' })).status).toBeGreaterThanOrEqual(300);
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time - interval '1 hour' WHERE sub = $1`, [
    admin.sub,
  ]);
  expect((await agent.get(path)).location).toContain('max_age=');
  await service.database.sql(`UPDATE sessions SET auth_time = auth_time + interval '1 hour' WHERE sub = $1`, [
    admin.sub,
  ]);
  expect((await agent.get(path)).status).toBe(200);
});

test('mails show the name, the accent and the support link, come from the product, and load nothing (pages, appearance)', async () => {
  await change({ product_name: 'Harbour ID', accent_color: '#0b57d0', support_url: 'mailto:help@example.com' });
  const [user, both] = [
    await service.createUser({ email: 'zoe@example.com', emailVerified: true }),
    service.instances[1]!,
  ];
  await eventually(
    () => loginOf(both),
    ({ body }) => body.includes('Harbour ID'),
  );
  const browser = new UserAgent(service);
  const form = formOf(await browser.get('/password/forgotten'), '/password/forgotten');
  await browser.post('/password/forgotten', { ...form, login: user.username });
  const mail = await vi.waitUntil(async () => (await mailsIn(service.dataDir))[0], { timeout: 10_000, interval: 20 });
  expect(mail.parsed.from?.value).toEqual([{ name: 'Harbour ID', address: 'no-reply@localhost' }]);
  expect(mail.html).toContain('background: #0b57d0; color: #ffffff');
  expect(mail.html).toContain('<a href="mailto:help@example.com">Get help</a>');
  expect(mail.html).not.toMatch(/<img|url\(|#0c4a43/);
  expect(mail.text).toContain('Get help: help@example.com');
  expect(mail.text).toContain('Harbour ID');
});

test('a mail contains the logo as its own part if it is a PNG, and otherwise shows the name (pages, appearance)', async () => {
  const [, other] = service.instances;
  const mailWith = async (logo: Buffer, type: string) => {
    await change({ product_name: 'Harbour ID', logo: logo.toString('base64') });
    for (const base of [service.issuer, other!])
      await eventually(
        () => loginOf(base),
        ({ body }) => body.includes(`.${type}" alt="Harbour ID"`),
      );
    const user = await service.createUser({ email: `${type}@example.com`, emailVerified: true });
    const browser = new UserAgent(service);
    const form = formOf(await browser.get('/password/forgotten'), '/password/forgotten');
    await browser.post('/password/forgotten', { ...form, login: user.username });
    return vi.waitUntil(
      async () =>
        (await mailsIn(service.dataDir)).find(
          ({ parsed }) => parsed.html && [parsed.to].flat()[0]?.text.includes(type),
        ),
      { timeout: 10_000, interval: 20 },
    );
  };
  const mail = await mailWith(png, 'png');
  expect(mail.parsed.attachments).toHaveLength(1);
  expect(mail.parsed.attachments[0]).toMatchObject({
    cid: 'logo',
    contentType: 'image/png',
    contentDisposition: 'inline',
    related: true,
    content: png,
  });
  // the parser puts the part in the place of its address
  expect(mail.html).toContain(`<img src="data:image/png;base64,${png.toString('base64')}" alt="Harbour ID"`);
  expect(mail.html.match(/<img/g)).toHaveLength(1);
  const plain = await mailWith(webp, 'webp');
  expect(plain.parsed.attachments).toEqual([]);
  expect(plain.html).toContain('<p class="brand">Harbour ID</p>');
});

test('settings take precedence over the console, which shows them as fixed (pages, appearance)', async () => {
  const file = join(folder, 'logo.svg');
  writeFileSync(file, png);
  const own = await startTestService({
    environment: { ...withoutLimits, PRODUCT_NAME: 'Pier', LOGO_FILE: file, ACCENT_COLOR: '#6D28D9' },
  });
  try {
    await own.database.sql(`UPDATE appearance SET product_name = 'Stored', support_url = 'https://help.example/'`);
    await own.database.sql(`NOTIFY gatehouse, 'appearance'`);
    const login = await eventually(
      () => loginOf(own.issuer),
      ({ body }) => body.includes('help.example'),
    );
    expect(login.body).toContain('<title>Sign in - Pier</title>');
    expect(login.body).toMatch(/<img src="\/assets\/brand\/logo\.[0-9a-f]{16}\.png" alt="Pier">/);
    const { page, agent: browser } = await openConsole(own, await own.createUser({ admin: true }), path);
    expect(page.body).toMatch(/name="product_name"[^>]*value="Pier"[^>]* readonly/);
    expect(page.body).not.toContain('<textarea name="logo"');
    expect(texts(page)).toContain('Set by LOGO_FILE in the environment. Change it there.');
    // a form changes the rest, whatever it sends for these
    expect((await send({ product_name: 'Mine', support_url: '' }, browser)).location).toContain('done=');
    expect((await loginOf(own.issuer)).body).toContain('<title>Sign in - Pier</title>');
    const ownToken = await adminToken(own);
    const refused = await call(`${own.issuer}/admin/api/appearance`, {
      method: 'PATCH',
      token: ownToken,
      body: { accent_color: null },
    });
    expect(refused).toMatchObject({ status: 409, body: { error: 'conflict' } });
    expect(refused.body['error_description']).toContain('ACCENT_COLOR of the environment takes precedence');
    const shown = (await call(`${own.issuer}/admin/api/appearance`, { token: ownToken })).body;
    expect(shown).toMatchObject({ product_name: 'Pier', fixed: ['product_name', 'accent_color', 'logo'] });
  } finally {
    await own.stop();
  }
});

test('a setting that names no suitable image ends the start with one sentence (pages, appearance)', () => {
  const at = (name: string, content: Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const start = (environment: Record<string, string>) => () => loadConfig(environment);
  expect(start({ LOGO_FILE: join(folder, 'none.png') })).toThrow(
    /^The setting LOGO_FILE must name a PNG or WebP image of up to 256 KiB, and the service cannot read this file\.$/,
  );
  expect(start({ FAVICON_FILE: at('jpeg.png', notImages['a JPEG']!) })).toThrow(
    /FAVICON_FILE .*, and this file is none\.$/,
  );
  expect(start({ LOGO_DARK_FILE: at('large.png', pngOf(256 * 1024 + 1)) })).toThrow(
    /LOGO_DARK_FILE .*, and this file has 257 KiB\.$/,
  );
  expect(start({ ACCENT_COLOR: '#ffcc00' })).toThrow(
    /^The setting ACCENT_COLOR must .* has 1\.3:1: choose a darker one\.$/,
  );
});

test('the command line shows, changes and removes the appearance, and reads images from files (decisions section 8)', async () => {
  const file = join(folder, 'logo.png');
  writeFileSync(file, png);
  const run = (...args: string[]) => runCommand(service, ['appearance', ...args]);
  expect(await run('set', '--product-name', 'Harbour ID', '--accent-color', '#0b57d0', '--logo', file)).toMatchObject({
    code: 0,
    stderr: '',
  });
  await eventually(
    () => loginOf(service.issuer),
    ({ body }) => body.includes('alt="Harbour ID"'),
  );
  const { stdout } = await run('show', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ product_name: 'Harbour ID', logo: { type: 'image/png' }, fixed: [] });
  expect((await run('show')).stdout).toMatch(/product_name +Harbour ID\naccent_color +#0b57d0\n/);
  expect(await run('set', '--accent-color', '#ffcc00')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('1.3:1') as string,
  });
  expect((await run('set', '--logo', join(folder, 'nowhere.png'))).stderr).toContain('does not exist');
  const removed = await run('set', '--unset', 'logo', '--unset', 'product-name', '--unset', 'accent-color');
  expect(removed).toMatchObject({ code: 0, stderr: '' });
  expect((await run('show')).stdout).toContain('the look of the service itself');
});
