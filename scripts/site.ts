// Builds the site of the documents into docs/site/dist: node scripts/site.ts, or npm run docs.
//
// SITE_REPOSITORY is the web address of the repository, to which links to files of code lead; without it they are plain text.
// SITE_BASE is the path below which the site is published; / unless given.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unplaced, writePages } from './site/pages.ts';

const folder = join(import.meta.dirname, '../docs/site');
const pages = await writePages(join(folder, '.pages'), process.env['SITE_REPOSITORY']);
const missing = unplaced(pages);
if (missing.length > 0) {
  console.error(`The menu has no place for ${missing.join(', ')}: add it to scripts/site/pages.ts.`);
  process.exit(1);
}
const run = (program: string, args: string[]) => {
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js');
// its packages are its own, so that npm ci of the service stays quick
if (!existsSync(vitepress)) run('npm', ['ci']);
run(process.execPath, [vitepress, 'build', '.']);
console.log(`Built ${pages.length} pages: docs/site/dist`);
