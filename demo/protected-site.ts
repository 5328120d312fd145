// Runs a sample wiki without a sign-in of its own, and the proxy in front of it that asks the service about each request, as Traefik does.
import { request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { makeKeyWithCertificate } from '../src/saml/certificates.ts';
import { type ListedClient, runCommand } from './commands.ts';
import { frame, html, problemPage } from './views.ts';
import { assets } from './web.ts';

/** The site, as the demonstration stores it. */
export interface SiteRegistration {
  clientId: string;
  secret: string;
}

export interface ProtectedSite {
  url: string;
  registration: SiteRegistration;
  stop(): Promise<void>;
}

const name = 'Harbour Wiki';
/** Browsers find names below localhost on this computer. */
const host = 'wiki.localhost';
/** The hosts of protected sites have no port. */
const port = 443;

/** Creates the site by the command that an administrator uses. One that exists gets another secret, unless its secret is known. */
async function register(environment: NodeJS.ProcessEnv, known?: SiteRegistration): Promise<SiteRegistration> {
  const all = await runCommand<ListedClient[]>(environment, 'client', 'list', '--search', host);
  const existing = all.find(({ hosts }) => hosts?.includes(host));
  if (existing && existing.client_id === known?.clientId) return known;
  const made = await runCommand<ListedClient>(
    environment,
    ...(existing
      ? ['client', 'new-secret', existing.client_id]
      : ['client', 'create', '--kind', 'proxy', '--name', name, '--host', host]),
  );
  const { client_id: clientId, proxy_secret: secret = '' } = made;
  return { clientId, secret };
}

/**
 * @param options.environment of the command that creates the site
 * @returns a sentence if the demonstration cannot listen on the port of https
 */
export async function startProtectedSite(options: {
  issuer: string;
  environment: NodeJS.ProcessEnv;
  registration: SiteRegistration | undefined;
  /** Instead of that of https. */
  listenAt?: number;
}): Promise<ProtectedSite | string> {
  const { privateKey, certificate } = await makeKeyWithCertificate(host, new Date());
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  let registration = options.registration;
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => {
      // nothing gets past a service that does not answer
      outgoing.writeHead(503, { 'content-type': 'text/html; charset=utf-8' });
      outgoing.end(problemPage(name, 'The service does not answer.'));
    });
  });
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve).listen(options.listenAt ?? port, '127.0.0.1', () => resolve(undefined));
  });
  if (failure)
    return failure.code === 'EADDRINUSE'
      ? `another program uses the port ${options.listenAt ?? port}`
      : `it needs the port ${options.listenAt ?? port}: run the demonstration as a user who may listen there`;
  registration = await register(options.environment, registration);
  const secret = { 'x-gatehouse-proxy-secret': registration.secret };

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming;
    const kept = Object.fromEntries(
      ['accept', 'cookie', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site'].flatMap((header) =>
        headers[header] === undefined ? [] : [[header, headers[header]]],
      ),
    );
    const isOwn = url.startsWith('/.gatehouse/');
    const question = {
      'x-forwarded-method': method,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': headers.host ?? '',
      'x-forwarded-uri': url,
    };
    const answer = isOwn
      ? await ask(url, { ...kept, ...secret, host: headers.host ?? '' })
      : await ask('/forward-auth/traefik', { ...kept, ...secret, ...question });
    if (!isOwn && answer.statusCode === 200) return wiki(`${method} ${url}`, answer, outgoing);
    const { location, 'set-cookie': cookies } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 503, {
      'cache-control': 'no-store',
      ...(location !== undefined && { location }),
      ...(cookies && { 'set-cookie': cookies }),
    });
    outgoing.end();
  }

  const ask = (path: string, headers: Record<string, string | string[]>): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      // the demonstration runs on this computer only, where the service speaks http
      send(`${new URL(options.issuer).origin}${path}`, { headers }, (answer) => resolve(answer.resume()))
        .on('error', reject)
        .end();
    });

  return {
    url: `https://${host}`,
    registration,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The wiki: it knows its user only by the headers that the proxy passes on. */
function wiki(target: string, { headers }: IncomingMessage, outgoing: ServerResponse): void {
  const asset = assets[target];
  outgoing.writeHead(200, {
    'content-type': asset?.type ?? 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
  });
  if (asset) return void outgoing.end(asset.body);
  const read = (header: string) => decodeURIComponent(String(headers[header] ?? ''));
  const names = ['remote-user', 'remote-name', 'remote-email', 'remote-groups'];
  outgoing.end(
    frame(
      { application: name, title: 'Home', wide: true },
      html`<div class="card">
        <div class="head">
          <h1>Hello, <bdi>${read('remote-name') || read('remote-user')}</bdi></h1>
          <a class="button" href="/.gatehouse/sign-out">Sign out</a>
        </div>
        <p class="lead">
          This wiki has no sign-in. Its proxy asked the service about your request, and passed these headers on.
        </p>
        <table class="claims">
          <thead>
            <tr>
              <th scope="col">Header</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            ${names.map(
              (header) =>
                html`<tr>
                  <th scope="row">${header}</th>
                  <td>${read(header) || 'none'}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`,
    ),
  );
}
