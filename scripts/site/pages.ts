// Copies the documents into the folder that VitePress reads, with links that lead to pages of the site, and makes the menu.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { apiPage } from './api-page.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Documents at the root of the repository that are pages, by their names in the site. */
const ofRoot: Readonly<Record<string, string>> = {
  'README.md': 'overview.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'report-a-vulnerability.md',
};

/** The pages that readers read, in groups; each page is in one group or in the list below. */
const menu: Readonly<Record<string, readonly string[]>> = {
  Start: ['index', 'start-at-home', 'start-in-a-company', 'dev', 'overview', 'compared'],
  'Install and run': [
    'install',
    'behind-a-proxy',
    'operator',
    'upgrade',
    'releases',
    'scaling',
    'observability',
    'configuration',
    'move',
    'move-keycloak',
    'move-authelia',
    'move-authentik',
    'move-auth0',
    'move-pocket-id',
  ],
  'Users and administrators': [
    'sign-in-fails',
    'administrator',
    'claims',
    'connections',
    'scim',
    'languages',
    'webhooks',
    'changelog',
  ],
  'Connect applications': [
    'guides/index',
    'protected-sites',
    'relying-party',
    'relying-parties',
    'application-server',
    'saml',
    'device',
    'mcp',
    'client-id-metadata',
  ],
  'APIs and tokens': ['apis', 'api', 'token-exchange', 'assertions', 'dpop', 'mtls', 'authorization-details', 'ciba'],
  'How it is built': ['architecture', 'decisions', 'specification', 'contributing', 'report-a-vulnerability'],
};
/** The links at the top of each page. */
const shortcuts = { Install: 'install', Settings: 'reference', 'When sign-in fails': 'sign-in-fails' };
/** What programs write: it stands apart, and only the reference is searched. */
const generated = [
  'reference',
  'security',
  'conformance',
  'licences',
  'pages',
  'benchmark',
  'growth',
  'console',
  'soak',
];
const searched = ['reference'];

/** Text without its blocks of code is changed by `change`; code is not. */
const outsideCode = (text: string, change: (part: string) => string) =>
  text
    .split(/(^ *```.*?^ *```$)/ms)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');

/** The place in the site of a file of the repository; undefined for a file that is no page. */
function placeOf(file: string): string | undefined {
  if (Object.hasOwn(ofRoot, file)) return ofRoot[file];
  if (!file.startsWith('docs/')) return undefined;
  const page = file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md');
  return /\.md$|^images\//.test(page) ? page : undefined;
}

/** A page with links that lead to pages, to `repository`, or nowhere. */
function linked(file: string, repository: string | undefined): string {
  const from = dirname(placeOf(file)!);
  return outsideCode(read(file), (part) =>
    part
      .replaceAll(
        /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
        (whole, mark: string, text: string, link: string) => {
          if (/^[a-z]+:|^#/.test(link)) return whole;
          const [path = '', fragment] = link.split('#');
          const target = posix.join(dirname(file), path).replace(/\/$/, '/README.md');
          const place = placeOf(/\.\w+$/.test(target) ? target : `${target}/README.md`);
          const anchor = fragment === undefined ? '' : `#${fragment}`;
          if (place) return `${mark}[${text}](${posix.relative(from, place)}${anchor})`;
          return repository ? `[${text}](${repository}/blob/main/${posix.join(dirname(file), path)}${anchor})` : text;
        },
      )
      .replaceAll('src="docs/images/', 'src="images/'),
  );
}

/** The page as VitePress takes it: nothing in it is a component. */
const verbatim = (text: string) => `::::::: v-pre\n${text}\n:::::::\n`;
const titleOf = (text: string) => /^# (.*)$/m.exec(text)![1]!.replaceAll('`', '');

/** Writes the pages, the menu and the OpenAPI document into `folder`. @returns the pages, without their endings */
export async function writePages(folder: string, repository?: string): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'guides'), { recursive: true });
  const listed = (of: string) =>
    readdirSync(join(root, of)).flatMap((name) => (name.endsWith('.md') ? [`${of}/${name}`] : []));
  const titles = new Map<string, string>();
  const write = (page: string, text: string) => {
    titles.set(page.replace(/\.md$/, ''), titleOf(text));
    writeFileSync(join(folder, page), verbatim(text));
  };
  for (const file of [...listed('docs'), ...listed('docs/guides'), ...Object.keys(ofRoot)])
    write(placeOf(file)!, linked(file, repository));
  const { document, page } = await apiPage();
  write('api.md', page);
  mkdirSync(join(folder, 'public'));
  cpSync(join(root, 'docs/images'), join(folder, 'public/images'), { recursive: true });
  writeFileSync(join(folder, 'public/openapi.json'), JSON.stringify(document));
  const pages = [...titles.keys()];
  const entry = (name: string) => ({ text: titles.get(name) ?? name, link: `/${name.replace(/index$/, '')}` });
  const group = (text: string, names: readonly string[]) => ({
    text,
    items: names.filter((name) => titles.has(name)).map(entry),
  });
  const guides = pages.filter((name) => name.startsWith('guides/') && name !== 'guides/index').sort();
  const sidebar = {
    '/guides/': [group('All documents', ['index', 'guides/index']), group('Guides', guides)],
    '/': [...Object.entries(menu).map(([text, names]) => group(text, names)), group('Made from the code', generated)],
  };
  const nav = Object.entries(shortcuts).flatMap(([text, name]) =>
    titles.has(name) ? [{ text, link: `/${name}` }] : [],
  );
  const unsearched = generated.filter((name) => !searched.includes(name)).map((name) => `${name}.md`);
  writeFileSync(join(folder, 'site.json'), JSON.stringify({ nav, sidebar, unsearched }));
  return pages;
}

/** The pages that the menu has no place for: a new page gets one. */
export function unplaced(pages: readonly string[]): string[] {
  const placed = new Set([...Object.values(menu).flat(), ...generated]);
  return pages.filter((page) => !placed.has(page) && !page.startsWith('guides/'));
}
