// Signs the browsers of the load in to a protected site, and makes the requests by which its proxy asks about them.
import { ask, raw, redirectOf, type TestSite } from '../test/helpers/protected-sites.ts';
import { command } from './children.ts';
import type { Request } from './wire.ts';

/** @param headers of the identity that the application gets */
export async function createSite(settings: Record<string, string>, host: string, headers: string[]): Promise<TestSite> {
  const made = await command(['client', 'create', '--kind', 'proxy', '--name', host, '--host', host], settings);
  const wanted = headers.flatMap((header) => ['--header', header]);
  await command(['client', 'site', made['client_id']!, ...wanted], settings);
  return { clientId: made['client_id']!, host, secret: made['proxy_secret']! };
}

/** The request about a page, as the nginx of the site sends it for a browser that is signed in to the service. */
export async function siteRequest(
  base: string,
  site: TestSite,
  cookies: ReadonlyMap<string, string>,
): Promise<Request> {
  const first = await ask({ issuer: base }, site);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const navigation = { cookie, accept: 'text/html', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
  const authorized = await fetch(redirectOf(first)!, { redirect: 'manual', headers: navigation });
  const { pathname, search } = new URL(authorized.headers.get('location')!);
  const kept = first.setCookie.map((line) => line.split(';')[0]!).join('; ');
  const back = await raw(base, pathname + search, [
    ['host', site.host],
    ['x-gatehouse-proxy-secret', site.secret],
    ['cookie', kept],
  ]);
  const own = back.setCookie.map((line) => line.split(';')[0]!).join('; ');
  if (own === '') throw new Error(`the site signs nobody in: ${back.status}`);
  const headers = {
    cookie: own,
    'x-original-url': `https://${site.host}/page`,
    'x-original-method': 'GET',
    'x-gatehouse-proxy-secret': site.secret,
  };
  return { method: 'GET', path: '/forward-auth/nginx', headers };
}
