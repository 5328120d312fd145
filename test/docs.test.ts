// Checks that the reference page matches the code, and that every link of the documentation leads to a file and a heading.
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describedRoutes, reference } from '../scripts/reference.ts';
import { unplaced } from '../scripts/site/pages.ts';
import { settings } from '../src/config.ts';
import { call, obtainTokens } from './helpers/grants.ts';
import { routesOf } from './helpers/route-map.ts';
import { fetchedParties } from './relying-parties/fetched-parties.ts';
import { parties } from './relying-parties/parties.ts';
import { startTestService, type TestService } from './helpers/service.ts';
import { UserAgent } from './helpers/user-agent.ts';
import { introspect } from './spec/kit.ts';

const root = join(import.meta.dirname, '..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'))].map((file) =>
  file === 'README.md' ? file : `docs/${file}`,
);
const guides = readdirSync(join(root, 'docs/guides')).map((file) => `docs/guides/${file}`);
/** The recipes, each beside its list. */
const recipes = globSync(['src/**/README.md', 'test/README.md', 'bench/README.md'], { cwd: root });
const read = (file: string) => readFileSync(join(root, file), 'utf8');

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

test('docs/reference.md equals what scripts/reference.ts makes of the code (decisions section 8)', async () => {
  expect(read('docs/reference.md')).toBe(await reference());
});

test('the reference lists every setting and every address of the service (decisions sections 1 and 8)', async () => {
  const page = await reference();
  for (const name of Object.keys(settings)) expect(page).toContain(`\`${name}\``);
  const real = routesOf(service.apps[0]!).filter(
    (route) => !/ \*$| \/assets\/|^HEAD |^(?!GET).* \/forward-auth\/| \/forward-auth\/envoy\/$/.test(route),
  );
  expect([...describedRoutes].sort()).toEqual(real);
});

test.each([...pages, ...guides, ...recipes, 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'])(
  'every relative link and picture in %s leads to a file, and to a heading if it names one',
  (page) => {
    const links = [...read(page).matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map((match) => (match[1] ?? match[2])!);
    for (const link of links.filter((link) => !/^[a-z]+:/.test(link))) {
      const [path, fragment] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path!);
      expect(existsSync(join(root, target)), link).toBe(true);
      if (fragment !== undefined) expect(headings(read(target)), link).toContain(fragment);
    }
  },
);

// the links of the page of security are checked above; its texts are shortened names
const naming = [...pages.filter((page) => page !== 'docs/security.md'), ...guides, ...recipes, 'CONTRIBUTING.md'];
test.each(naming)('every file, folder and npm script that %s names exists', (page) => {
  // vitest takes the beginning of a file's name
  const text = read(page).replaceAll(/npm test -- [^\n`]*/g, '');
  const named = text.matchAll(
    /(?<![\w./-])(?:src|test|bench|scripts|demo|deploy|migrations|templates|bin|docs)\/[\w./-]*[\w/](?![\w…*-])/g,
  );
  for (const [path] of named) expect(existsSync(join(root, path)), path).toBe(true);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const [, script] of text.matchAll(/\bnpm run (?:-s )?([\w-]+)/g))
    expect(scripts, script).toHaveProperty([script!]);
});

test.each([
  ['docs/architecture.md', 20],
  ['src/sender-constraint/README.md', 5],
])('every question of %s is answered by files that exist, and by functions that are in them', (page, least) => {
  const rows = [...read(page).matchAll(/^\| [^|]*\? \| (.*) \|$/gm)].map(([, answer]) => answer!);
  expect(rows.length).toBeGreaterThanOrEqual(least);
  for (const answer of rows) {
    const files = [...answer.matchAll(/`([\w./-]+\.(?:ts|sql|eta))`/g)].map(([, file]) => file!);
    expect(files, answer).not.toEqual([]);
    const text = files.map(read).join('\n');
    for (const [, name] of answer.matchAll(/functions? `(\w+)`/g)) expect(text, answer).toContain(name);
  }
});

test('the index of the test helpers lists every file, and every function in it exists (architecture, modules)', () => {
  const folder = join(root, 'test/helpers');
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  const index = readFileSync(join(folder, 'README.md'), 'utf8');
  const listed = [...index.matchAll(/^\| (\S+\.ts) +\|/gm)].map(([, file]) => file);
  expect(listed.sort()).toEqual(files.sort());
  const exported = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  for (const [, name] of index.matchAll(/`(?:new )?(\w+)\(/g))
    expect(exported, name).toMatch(new RegExp(`export .*\\b${name}\\b`));
});

test('the page for contributors is short, and links to every recipe (decisions section 8)', () => {
  const page = read('CONTRIBUTING.md');
  for (const recipe of recipes) expect(page).toContain(`](${recipe}`);
  expect(page.split(/\s+/).length).toBeLessThan(800);
});

test('the README links to every page of the documentation', () => {
  for (const page of pages.slice(1)) expect(read('README.md')).toContain(`](${page})`);
});

test('every page has a place in the menu of the site (decisions section 8)', () => {
  const names = pages.slice(1).map((page) => page.replace(/^docs\/|\.md$/g, ''));
  // scripts/site/pages.ts has the menu
  expect(unplaced(names)).toEqual([]);
  expect(unplaced(['nowhere'])).toEqual(['nowhere']);
});

test('the README links to the guides, their index links to each, and each names its source, whether it was tested, how soon a disabled user loses access, and what a lost group does', () => {
  expect(read('README.md')).toContain('](docs/guides/README.md)');
  for (const guide of guides.filter((file) => file !== 'docs/guides/README.md')) {
    expect(read('docs/guides/README.md')).toContain(`](${basename(guide)})`);
    expect(read(guide), guide).toMatch(
      /^(?:Written from the documentation, not yet tested|Tested with .+)\. Source: \[/m,
    );
    expect(read(guide), guide).toMatch(/^(?:- )?\*\*Disabled users\*\* (?:lose|stay)/m);
    expect(read(guide), guide).toMatch(/^(?:- )?\*\*A lost group\*\*(?:: a user| takes effect| changes)/m);
  }
});

test('the proxies of the guides ask oauth2-proxy for new tokens, and pass its new cookie on to the browser', () => {
  expect(read('docs/guides/README.md')).toMatch(/^cookie_refresh = "[1-9]m"$/m);
  expect(read('docs/guides/nginx.md')).toMatch(
    /auth_request_set (\$\w+) \$upstream_http_set_cookie;\n +add_header Set-Cookie \1;/,
  );
  expect(read('docs/guides/traefik.md')).toContain('addAuthCookiesToResponse: [_oauth2_proxy]');
  // forward_auth drops the cookie
  expect(read('docs/guides/caddy.md')).not.toMatch(/^ *forward_auth /m);
});

test('the functions for application servers do what their page says (decisions sections 5 and 6)', async () => {
  const { groupsOf, saveSettings, endSessionAddress } = await functionsOf('docs/application-server.md');
  const afterwards = 'https://ledger.example.com/signed-out';
  const client = await service.createClient({
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code id_token', 'id_token token', 'code'],
    post_logout_redirect_uris: [afterwards],
    uma_profile: true,
    scope: 'openid profile address scope',
  });
  const user = await service.createUser({ groups: ['clerks'] });
  const agent = new UserAgent(service);
  const page = await agent.authorize(client, user, {
    response_type: 'code id_token',
    scope: 'openid scope',
    nonce: 'n',
  });
  const code = new URLSearchParams(new URL(page.location!).hash.slice(1)).get('code');
  expect(await groupsOf!(service.issuer, code)).toEqual(['clerks']);
  const basic = `${client.clientId}:${client.clientSecret}`;
  await saveSettings!(service.issuer, basic, user.sub, { theme: 'dark' });
  const stored = await fetch(`${service.issuer}/user/${user.sub}/settings`, {
    headers: { authorization: client.basic },
  });
  expect(await stored.json()).toMatchObject({ settings: { theme: 'dark' } });
  const address = await endSessionAddress!(service.issuer, client.clientId, client.sharedSecret, afterwards, 'bye');
  const ended = await agent.get(address as string);
  expect(ended).toMatchObject({ status: 302, location: `${afterwards}?state=bye` });
  await expect(groupsOf!(service.issuer, code)).rejects.toThrow(/^401 /);
});

test('the page of application servers says for each scope where the groups are (decisions section 5)', async () => {
  const table = read('docs/application-server.md').split(/^\| Where \|.*\n.*\n/m)[1]!;
  const rows = [...table.matchAll(/^\| (.*?) \| (.*?) \| (.*?) \|$/gm)].slice(0, 4);
  const user = await service.createUser({ groups: ['clerks'] });
  for (const [column, scope] of [
    [2, 'scope'],
    [3, 'groups'],
  ] as const) {
    const client = await service.createClient({ scope: `openid ${scope}`, id_token_claims: true });
    const { access_token: token, id_token } = await obtainTokens(service, client, user, { scope: `openid ${scope}` });
    const query = await call(`${service.issuer}/user/me/scope`, { token });
    const info = await call(`${service.issuer}/user/me/info`, { token });
    expect((await call(`${service.issuer}/user/info`, { token })).body).toEqual(info.body);
    const introspected = (await introspect(service.issuer, client, token)).body['extended_claims'];
    const held = [info.body, introspected as object, decodeJwt(id_token)];
    // in the order of the rows
    expect(rows[0]![column]).toMatch(
      query.status === 200 ? 'the user name and the groups' : '403 `insufficient_scope`',
    );
    for (const [index, claims] of held.entries()) {
      const said = rows[index + 1]!;
      for (const name of ['groups', 'preferred_username'])
        expect(said[column]!.includes(`\`${name}\``), `${said[1]}: ${name}`).toBe(name in claims);
    }
  }
});

test('the page of relying parties shows the configuration and the versions that the tests run with (decisions section 8)', () => {
  const page = read('docs/relying-parties.md');
  const shown = [...page.matchAll(/\bfrom \[[^\]]*\]\(\.\.\/([^)]+\.\w+)\)/gi)];
  expect(shown.length).toBeGreaterThan(5);
  for (const { index, 1: file = '' } of shown) {
    const snippet = /^```\w+\n(.*?)^```$/ms.exec(page.slice(index))![1]!;
    expect(read(file), file).toContain(snippet);
  }
  // the version of Apache is Debian's, and differs between machines
  for (const party of [...parties, ...fetchedParties].filter(({ folder }) => folder !== 'apache')) {
    for (const version of (party.version() as string).split(', ')) expect(page).toContain(version);
  }
});

/** The JavaScript of a page as a module. */
async function functionsOf(page: string): Promise<Record<string, (...values: unknown[]) => Promise<unknown>>> {
  const code = [...read(page).matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]).join('\n');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-docs-'));
  const file = join(folder, 'page.mjs');
  // a module outside the tree cannot find packages by name
  writeFileSync(file, code.replace(`'jose'`, `'${import.meta.resolve('jose')}'`));
  try {
    return (await import(pathToFileURL(file).href)) as Awaited<ReturnType<typeof functionsOf>>;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The names of a page's headings, as links use them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
