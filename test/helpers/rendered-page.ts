// Shows pages in a real browser, answered from memory under the policy that the service sends: any state of any page, without a service.
import type { BrowserContext, Page } from 'playwright-core';
import type { PageRenderer } from '../../src/pages/renderer.ts';
import type { View } from '../pages/page-states/index.ts';

const origin = 'https://gatehouse.example';

/** A tab that shows states of pages one after another; `complaints` collects the errors in the browser's console. */
export async function openRendered(context: BrowserContext, pages: PageRenderer) {
  const page: Page = await context.newPage();
  const complaints: string[] = [];
  let html = '';
  const policy = [
    `default-src 'none'`,
    `style-src 'self'`,
    `script-src 'self' ${pages.formPostScriptHash}`,
    `img-src 'self' data: https:`,
    'frame-src https:',
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
  const assets = new Map([...pages.assets.values()].map((asset) => [asset.path, asset]));
  await page.route('**/*', (route) => {
    const url = new URL(route.request().url());
    const asset = assets.get(url.pathname);
    if (asset) return route.fulfill({ contentType: asset.contentType, body: asset.body });
    if (url.href.startsWith(`${origin}/page`))
      return route.fulfill({ contentType: 'text/html', headers: { 'content-security-policy': policy }, body: html });
    // the tab never leaves the page; a logo, or the frame of an application, does not load
    return route.fulfill({ status: route.request().isNavigationRequest() ? 204 : 404, body: '' });
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('404')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return {
    page,
    complaints,
    async show(view: View, locale = 'en'): Promise<void> {
      html = pages.render(view.name, view.data, { locale });
      await page.goto(`${origin}/page`);
    },
  };
}
