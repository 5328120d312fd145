// Protects a site with real proxies by the files of deploy/forward-auth/: what the application gets, and that nothing gets past the check.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as requestPlain, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, call, withoutLimits } from '../helpers/grants.ts';
import { createSite, opensPage, SiteBrowser, type TestSite } from '../helpers/protected-sites.ts';
import { freePort } from '../helpers/server-process.ts';
import { startTestService, type TestService, type TestUser } from '../helpers/service.ts';
import { programs, type RunningProxy, startProxy } from './programs.ts';

type Header = readonly [string, string];
interface Answer {
  status: number;
  location: string | undefined;
  setCookie: string[];
  body: string;
}
/** What the application got. */
interface Got {
  method: string;
  url: string;
  headers: Record<string, string | string[]>;
  body: string;
}

/** nginx and Caddy take several hosts of a site. */
const second = 'second.example';
let service: TestService;
let token: string;
let site: TestSite;
let user: TestUser;
let application: Server;
let reached: Got[];
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  token = await adminToken(service);
  site = await createSite(service, token, 'app.example', {
    hosts: ['app.example', second],
    open_paths: ['/public/'],
    access: 'groups',
    access_groups: ['staff'],
  });
  user = await service.createUser({
    username: 'ada',
    email: 'ada@harbour.example',
    emailVerified: true,
    claims: { name: 'Ada' },
    groups: ['staff'],
  });
  application = createServer((incoming, outgoing) => {
    let body = '';
    incoming.on('data', (part: Buffer) => (body += part.toString()));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      reached.push({ method, url, headers: headers as Got['headers'], body });
      outgoing.end('the application');
    });
  });
  application.listen(await freePort(), '127.0.0.1');
  await once(application, 'listening');
});
afterAll(async () => {
  application?.close();
  await service?.stop();
});

// a test run leaves out only what could be installed
const tested = programs.filter(({ isFetched, path }) => !isFetched || path !== undefined);

describe.each(tested)('$name', (program) => {
  const isMissing = program.path === undefined;
  const takesHosts = program.name === 'nginx' || program.name === 'Caddy';
  /** A test of certain programs: the others do not have it, so none counts as left out. */
  const where = (holds: boolean) => (holds ? test.skipIf(isMissing) : () => undefined);
  let proxy: RunningProxy | undefined;
  beforeAll(async () => {
    if (program.path === undefined) return;
    const { port } = application.address() as AddressInfo;
    const others = takesHosts ? [second] : [];
    proxy = await startProxy(program, { ...site, others, gatehouse: service.issuer, application: port });
  });
  afterAll(() => proxy?.stop());

  /** Sends a request to the proxy as a browser does. */
  function send(
    path: string,
    headers: readonly Header[],
    { method = 'GET', body = '', host = site.host } = {},
  ): Promise<Answer> {
    reached = [];
    const length = body === '' ? [] : [['content-length', String(body.length)] as const];
    const list = [['host', host] as const, ...headers, ...length].flatMap(([name, value]) => [name, value]);
    const target = { host: '127.0.0.1', port: proxy!.port, servername: host, rejectUnauthorized: false };
    return new Promise((resolve, reject) => {
      const sent = request({ ...target, path, method, headers: list, setHost: false, agent: false }, (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString())).on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            location: response.headers.location,
            setCookie: response.headers['set-cookie'] ?? [],
            body: text,
          }),
        );
      });
      sent.on('error', reject).end(body);
    });
  }
  const cookieOf = (browser: SiteBrowser): Header[] => {
    const cookie = browser.cookie(site.host);
    return cookie === undefined ? [] : [['cookie', cookie]];
  };
  async function signIn(path = '/page?a=1'): Promise<SiteBrowser> {
    const browser = new SiteBrowser(service);
    const asked = await send(path, opensPage);
    expect([asked.status, proxy!.output()]).toEqual([302, expect.anything()]);
    browser.keep(site.host, asked.setCookie);
    const back = await send(await browser.callback(asked.location!, user), [...opensPage, ...cookieOf(browser)]);
    expect(back).toMatchObject({ status: 303, location: `https://${site.host}${path}` });
    browser.keep(site.host, back.setCookie);
    return browser;
  }
  const forged: Header[] = [
    ['Remote-User', 'root'],
    ['Remote-Groups', 'admin'],
    ['Remote-Email', 'root@harbour.example'],
    ['Remote-Name', 'Root'],
    ['X-Gatehouse-Assertion', 'forged'],
    ['remote_user', 'root'],
    ['X_Gatehouse_Assertion', 'forged'],
    ['X-Original-URL', 'https://app.example/public/'],
    ['X-Forwarded-Uri', '/public/'],
    ['X-Forwarded-Host', 'other.example'],
    ['X-Forwarded-Method', 'HEAD'],
    ['X-Forwarded-Proto', 'http'],
  ];
  /** The identity that the application got, under any spelling that it could read. */
  const identityOf = ({ headers }: Got): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(headers).filter(([name, value]) => /^(remote|x.gatehouse)[-_]/.test(name) && value !== ''),
    );

  test.skipIf(isMissing)(
    'sends a visitor to the sign-in, and passes a user with the identity on to the application (federation 13)',
    async () => {
      const browser = await signIn();
      expect(await send('/page?a=1', [...opensPage, ...cookieOf(browser)])).toMatchObject({
        status: 200,
        body: 'the application',
      });
      const [got] = reached;
      expect(got).toMatchObject({
        method: 'GET',
        url: '/page?a=1',
        headers: {
          'remote-user': 'ada',
          'remote-groups': 'staff',
          'remote-email': 'ada@harbour.example',
          'remote-name': 'Ada',
        },
      });
      expect(got!.headers['x-gatehouse-assertion']).toMatch(/^ey/);
      expect(JSON.stringify(got!.headers)).not.toContain(site.secret);
      const post = { method: 'POST', body: 'a=b' };
      await send('/form', [['content-type', 'application/x-www-form-urlencoded'], ...cookieOf(browser)], post);
      expect(reached).toMatchObject([{ method: 'POST', url: '/form', body: 'a=b' }]);
    },
  );

  test.skipIf(isMissing)(
    'removes the identity that a visitor sends, on closed and open paths (federation F94)',
    async () => {
      const browser = await signIn();
      const answer = await send('/page', [...opensPage, ...forged, ...cookieOf(browser)]);
      // a proxy that does not remove the headers of another proxy is refused
      if (answer.status === 200) {
        expect(Object.keys(identityOf(reached[0]!)).sort()).toEqual([
          'remote-email',
          'remote-groups',
          'remote-name',
          'remote-user',
          'x-gatehouse-assertion',
        ]);
        expect(reached[0]!.headers).toMatchObject({ 'remote-user': 'ada', 'remote-groups': 'staff' });
        expect(reached[0]!.headers['x-gatehouse-assertion']).toMatch(/^ey/);
      } else expect(answer.status).toBe(403);
      for (const cookie of [[], cookieOf(browser)]) {
        const open = await send('/public/page', [...forged.slice(0, 7), ...cookie]);
        expect([open.status, identityOf(reached[0]!)]).toEqual([200, {}]);
      }
      expect((await send('/page', [...opensPage, ...forged])).status).not.toBe(200);
      expect(reached).toEqual([]);
    },
  );

  test.skipIf(isMissing)(
    'lets nothing past without a session, whatever the path, the method and the cookie are (federation F91, F93, F97)',
    async () => {
      const paths = [
        '/',
        '/public/../admin',
        '/public/%2e%2e/admin',
        '/public%2f..%2fadmin',
        '/public/..;/admin',
        '//public/',
        '/public//x',
        '/PUBLIC/',
        '/public',
        '/public/%00',
        '/public\\..\\admin',
        'https://app.example/public/../admin',
      ];
      for (const path of paths) {
        const { status } = await send(path, opensPage);
        // a proxy that cleans a path before the check passes on the clean one, which is open
        const isOpen = reached.length > 0 && reached.every(({ url }) => /^\/public\/\w*$/.test(url));
        expect([path, status >= 300 || isOpen]).toEqual([path, true]);
        expect(isOpen ? [] : reached).toEqual([]);
      }
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) {
        const { status, location } = await send('/page', [], { method });
        expect([method, status, location, reached]).toEqual([method, 401, undefined, []]);
      }
      for (const cookie of ['__Host-gatehouse=garbage', `__Host-gatehouse=${'a'.repeat(3000)}`]) {
        expect((await send('/page', [...opensPage, ['cookie', cookie]])).status).toBe(302);
        expect(reached).toEqual([]);
      }
      expect(
        await send('/page', [
          ['sec-fetch-mode', 'cors'],
          ['sec-fetch-dest', 'empty'],
        ]),
      ).toMatchObject({ status: 401, location: undefined });
    },
  );

  test.skipIf(isMissing)(
    'lets no user in at the request after the loss of access, nor after the sign-out of the site (federation F78)',
    async () => {
      const browser = await signIn();
      const open = () => send('/page', [...opensPage, ...cookieOf(browser)]);
      expect((await open()).status).toBe(200);
      await service.database.sql(`UPDATE users SET groups = '{}' WHERE sub = $1`, [user.sub]);
      expect((await open()).status).toBe(302);
      expect(reached).toEqual([]);
      await service.database.sql(`UPDATE users SET groups = '{staff}' WHERE sub = $1`, [user.sub]);
      const again = await signIn();
      const left = await send('/.gatehouse/sign-out', [...opensPage, ...cookieOf(again)]);
      expect(left).toMatchObject({ status: 303 });
      const cookie = cookieOf(again);
      again.keep(site.host, left.setCookie);
      expect(again.cookie(site.host)).toBeUndefined();
      expect((await send('/page', [...opensPage, ...cookie])).status).toBe(302);
    },
  );

  test.skipIf(isMissing)('passes an upload of several megabytes on to the application (delivery 4)', async () => {
    const browser = await signIn();
    const upload = { method: 'POST', body: 'x'.repeat(3_000_000) };
    const answer = await send('/upload', [['content-type', 'application/octet-stream'], ...cookieOf(browser)], upload);
    expect([answer.status, reached[0]?.body.length]).toEqual([200, upload.body.length]);
  });

  where(program.name === 'nginx')(
    'stores no long body of a visitor who is not signed in: nginx itself refuses it below /.gatehouse/ (delivery 4)',
    async () => {
      const long = await send('/.gatehouse/callback', opensPage, { method: 'POST', body: 'x'.repeat(200_000) });
      expect([long.status, long.body]).toEqual([413, expect.stringContaining('nginx')]);
      const short = await send('/.gatehouse/callback', opensPage, { method: 'POST', body: 'x'.repeat(1000) });
      // the service answers: the callback takes no form
      expect([short.status, short.body]).toEqual([405, expect.not.stringContaining('nginx')]);
    },
  );

  where(takesHosts)(
    'protects each host of a site with several, with a sign-in of its own (federation 13)',
    async () => {
      const asked = await send('/page', opensPage, { host: second });
      expect([asked.status, reached]).toEqual([302, []]);
      expect(new URL(asked.location!).searchParams.get('redirect_uri')).toBe(`https://${second}/.gatehouse/callback`);
    },
  );

  test.skipIf(isMissing)('writes no code of a callback into a log (delivery 4)', async () => {
    const browser = new SiteBrowser(service);
    const asked = await send('/page', opensPage);
    browser.keep(site.host, asked.setCookie);
    const callback = await browser.callback(asked.location!, user);
    const code = new URL(callback, 'https://app.example').searchParams.get('code')!;
    expect((await send(callback, [...opensPage, ...cookieOf(browser)])).status).toBe(303);
    // the address of the application that follows is in the log, if there is one
    await send('/page?seen=1', [...opensPage, ...cookieOf(browser)]);
    const logs = readdirSync(proxy!.folder).filter((name) => name.endsWith('.log'));
    const written = logs.map((name) => readFileSync(join(proxy!.folder, name), 'utf8')).join('') + proxy!.output();
    if (program.name === 'nginx') expect(written).toContain('/page?seen=1');
    expect(code).toMatch(/.{20}/);
    expect(written).not.toContain(code);
  });

  where(program.name === 'nginx')('leads http to the https address of each host of the site (delivery 4)', async () => {
    const socketPath = join(proxy!.folder, 'plain');
    for (const host of [site.host, second]) {
      const [status, location] = await new Promise<[number?, string?]>((resolve, reject) => {
        const sent = requestPlain({ socketPath, path: '/page?a=1', headers: { host } }, (response) => {
          response.resume();
          resolve([response.statusCode, response.headers.location]);
        });
        sent.on('error', reject).end();
      });
      expect([status, location]).toEqual([308, `https://${host}/page?a=1`]);
    }
  });

  test.skipIf(isMissing)('lets nobody in with a secret that was renewed (federation 13)', async () => {
    const browser = await signIn();
    await call(`${service.issuer}/admin/api/clients/${site.clientId}/secrets`, { token, method: 'POST' });
    const { status } = await send('/page', [...opensPage, ...cookieOf(browser)]);
    expect([status >= 400, reached]).toEqual([true, []]);
    // the next proxy gets a new one
    const renewed = await call(`${service.issuer}/admin/api/clients/${site.clientId}/secrets`, {
      token,
      method: 'POST',
    });
    site = { ...site, secret: renewed.body['proxy_secret'] as string };
  });
});

const deploy = new URL('../../deploy/', import.meta.url);
const proxyFiles = readdirSync(deploy, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /^(nginx|caddy|traefik|haproxy|forward-auth)\/./.test(file),
);
const textOf = (file: string) => readFileSync(new URL(file, deploy), 'utf8');

test('the files of nginx listen on both families of addresses, so that no other site answers on one of them (delivery 4)', () => {
  const files = proxyFiles.filter((file) => file.endsWith('.conf'));
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const all = [...textOf(file).matchAll(/^ *listen (.*);$/gm)].map(([, address]) => address!);
    const four = all.filter((address) => !address.startsWith('['));
    expect(
      all.filter((address) => address.startsWith('[')),
      file,
    ).toEqual(four.map((address) => `[::]:${address}`));
  }
});

test('no placeholder of a proxy begins with another one, so that a plain replacement is right (delivery 4)', () => {
  for (const file of proxyFiles) {
    const words = new Set(textOf(file).match(/\b[A-Z]+(?:_[A-Z]+)*\b/g));
    const placeholders = [...words].filter((word) =>
      /^(SITE|GATEHOUSE|MTLS|PROXY|APPLICATION|CERTIFICATE|KEY|CLIENT)(_[A-Z]+)?$/.test(word),
    );
    expect(placeholders.length, file).toBeGreaterThan(0);
    const prefixes = placeholders.filter((word) =>
      placeholders.some((other) => other !== word && other.startsWith(word)),
    );
    expect(prefixes, file).toEqual([]);
  }
});
