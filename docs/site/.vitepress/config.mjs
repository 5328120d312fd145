// Configures the site of the documents: its search, its menu, and anchors that equal those of the files.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { URL } from 'node:url';

/** What scripts/site/pages.ts found: the menu, and the pages that the search leaves out. */
const { nav, sidebar, unsearched } = JSON.parse(readFileSync(new URL('../.pages/site.json', import.meta.url), 'utf8'));

/** The anchor of a heading, as links in the files name it. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

export default {
  title: 'Gatehouse',
  description: 'An OpenID Provider and OAuth 2.0 authorization server that is safe by default and quick to run',
  lang: 'en',
  srcDir: '.pages',
  outDir: 'dist',
  base: process.env.SITE_BASE ?? '/',
  appearance: true,
  ignoreDeadLinks: 'localhostLinks',
  // addresses of pictures stay as the documents have them
  vue: { template: { transformAssetUrls: false } },
  vite: { esbuild: { tsconfigRaw: '{}' } },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    // {id} in a heading is a part of an address
    attrs: { disable: true },
    languageAlias: { caddyfile: 'nginx', haproxy: 'ini' },
    config(md) {
      // a wide table scrolls, and a keyboard must reach it
      md.renderer.rules.table_open = () => '<table tabindex="0">\n';
    },
  },
  themeConfig: {
    sidebar,
    nav,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        _render(source, env, md) {
          return unsearched.includes(env.relativePath) ? '' : md.render(source, env);
        },
      },
    },
    footer: { message: 'Apache License 2.0' },
  },
};
