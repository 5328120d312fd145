// Plays the proxies and the browsers of protected sites: a proxy asks about each request, and a browser has cookies of its own for each host.
import { request as send } from 'node:http';
import type { ProxyKind } from '../../src/rules/sites/original-request.ts';
import { call } from './grants.ts';
import type { TestService } from './service.ts';
import { UserAgent } from './user-agent.ts';

export interface ProxyAnswer {
  status: number;
  headers: Record<string, string | undefined>;
  setCookie: string[];
  body: string;
}

type Header = readonly [name: string, value: string];

/** Sends a request with exactly these headers, some of them more than once. @param options.from the address from which it comes */
export function raw(
  base: string,
  path: string,
  headers: readonly Header[],
  { method = 'GET', body, from }: { method?: string; body?: string; from?: string | undefined } = {},
): Promise<ProxyAnswer> {
  const { hostname, port } = new URL(base);
  const list = headers.flatMap(([name, value]) => [name, value]);
  return new Promise((resolve, reject) => {
    const where = { hostname, port, ...(from !== undefined && { localAddress: from, family: 4 }) };
    const sent = send({ ...where, path, method, headers: list, setHost: false }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (part: string) => (text += part));
      response.on('error', reject).on('end', () => {
        const { 'set-cookie': setCookie = [], ...others } = response.headers;
        const single = Object.entries(others).map(([name, value]) => [name, value?.toString()]);
        resolve({ status: response.statusCode!, headers: Object.fromEntries(single), setCookie, body: text });
      });
    });
    sent.on('error', reject).end(body);
  });
}

export interface TestSite {
  clientId: string;
  host: string;
  secret: string;
}

/** The headers that a browser sends when it opens a page. */
export const opensPage: readonly Header[] = [
  ['accept', 'text/html'],
  ['sec-fetch-mode', 'navigate'],
  ['sec-fetch-dest', 'document'],
];

export async function createSite(
  service: TestService,
  token: string,
  host: string,
  members: Record<string, unknown> = {},
): Promise<TestSite> {
  const body = { kind: 'proxy', client_name: `Site ${host}`, hosts: [host], ...members };
  const made = await call(`${service.issuer}/admin/api/clients`, { token, body });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { clientId: made.body['client_id'] as string, host, secret: made.body['proxy_secret'] as string };
}

export interface Question {
  kind?: ProxyKind;
  path?: string;
  method?: string;
  /** Further headers, as the browser sent them. */
  headers?: readonly Header[];
  cookie?: string;
  /** Instead of that of the site; undefined for none. */
  secret?: string | undefined;
  base?: string;
  /** The address of the proxy, if it is not that of the service. */
  from?: string;
}

/** Asks as the site's proxy does. */
export function ask(
  service: Pick<TestService, 'issuer'>,
  site: TestSite,
  question: Question = {},
): Promise<ProxyAnswer> {
  const {
    kind = 'nginx',
    path = '/',
    method = 'GET',
    headers = opensPage,
    cookie,
    base = service.issuer,
    from,
  } = question;
  const secret = 'secret' in question ? question.secret : site.secret;
  const common: Header[] = [
    ...headers,
    ...(cookie === undefined ? [] : [['cookie', cookie] as const]),
    ...(secret === undefined ? [] : [['x-gatehouse-proxy-secret', secret] as const]),
  ];
  if (kind === 'envoy')
    return raw(base, `/forward-auth/envoy${path}`, [['host', site.host], ...common], { method, from });
  const own: Header[] =
    kind === 'nginx'
      ? [
          ['x-original-url', `https://${site.host}${path}`],
          ['x-original-method', method],
        ]
      : [
          ['x-forwarded-method', method],
          ['x-forwarded-proto', 'https'],
          ['x-forwarded-host', site.host],
          ['x-forwarded-uri', path],
        ];
  return raw(base, `/forward-auth/${kind}`, [['host', new URL(base).host], ...common, ...own], { from });
}

/** A browser that opens protected sites, with cookies for each of their hosts. */
export class SiteBrowser {
  readonly agent: UserAgent;
  readonly jars = new Map<string, Map<string, string>>();
  private readonly service: TestService;

  constructor(service: TestService) {
    this.service = service;
    this.agent = new UserAgent(service);
  }

  jar(host: string): Map<string, string> {
    const jar = this.jars.get(host) ?? new Map<string, string>();
    this.jars.set(host, jar);
    return jar;
  }

  cookie(host: string): string | undefined {
    const pairs = [...this.jar(host)].map(([name, value]) => `${name}=${value}`);
    return pairs.length > 0 ? pairs.join('; ') : undefined;
  }

  keep(host: string, lines: readonly string[]): void {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.jar(host).delete(name);
      else this.jar(host).set(name, value);
    }
  }

  /** Opens a page of the site by its proxy, and does not follow a redirect. */
  async ask(site: TestSite, question: Question = {}): Promise<ProxyAnswer> {
    const cookie = this.cookie(site.host);
    const answer = await ask(this.service, site, { ...(cookie !== undefined && { cookie }), ...question });
    this.keep(site.host, answer.setCookie);
    return answer;
  }

  /** Requests an address at the host of the site, as its proxy passes it on. */
  async at(site: TestSite, path: string, headers: readonly Header[] = opensPage): Promise<ProxyAnswer> {
    const cookie = this.cookie(site.host);
    const answer = await raw(this.service.issuer, path, [
      ['host', site.host],
      ['x-gatehouse-proxy-secret', site.secret],
      ...headers,
      ...(cookie === undefined ? [] : [['cookie', cookie] as const]),
    ]);
    this.keep(site.host, answer.setCookie);
    return answer;
  }

  /** Opens a page, and signs in where the service asks. @returns the last answer of the callback */
  async signIn(site: TestSite, user: { username: string; password: string }, path = '/'): Promise<ProxyAnswer> {
    const asked = await this.ask(site, { path });
    const location = redirectOf(asked);
    if (location === undefined) throw new Error(`no redirect: ${asked.status}`);
    return this.at(site, await this.callback(location, user));
  }

  /** Walks from the sign-in address to that of the callback. @returns its path */
  async callback(location: string, user: { username: string; password: string }): Promise<string> {
    let page = await this.agent.follow(await this.agent.get(location));
    if (page.body.includes('id="password"')) page = await this.agent.signIn(user, page);
    if (page.location === undefined) throw new Error(`no redirect: ${page.status} ${page.body.slice(0, 2000)}`);
    const { pathname, search } = new URL(page.location);
    return pathname + search;
  }
}

/** Where an answer sends the browser. */
export const redirectOf = ({ headers }: ProxyAnswer): string | undefined =>
  headers['location'] ?? headers['x-gatehouse-redirect'];

export const siteCookieOf = (browser: SiteBrowser, site: TestSite): string =>
  `__Host-gatehouse=${browser.jar(site.host).get('__Host-gatehouse')!}`;
