// Names the proxies that run before the service, with their files in deploy/.
import { found, programs, type Runnable } from './programs.ts';

export interface Front extends Runnable {
  name: string;
  isFetched?: true;
  /** The files in deploy/ for the service and for certificates of clients. */
  sources: [string, string];
  /** What the second file asks the service for. */
  settings: Record<string, string>;
  /** The address of the second file; else it is at the port of the first one. */
  mtlsAddress?: string;
}

const program = (name: string) => programs.find((each) => each.name === name)!;
const rfc9440 = { CLIENT_CERT_HEADER: 'Client-Cert', CLIENT_CERT_FORMAT: 'rfc9440' };

const all: Front[] = [
  {
    ...program('nginx'),
    sources: ['nginx/gatehouse.conf', 'nginx/mtls.conf'],
    settings: { CLIENT_CERT_HEADER: 'Client-Cert', CLIENT_CERT_FORMAT: 'pem' },
    place: (text, port, folder) =>
      text
        .replaceAll(/^ *listen \[::\].*\n/gm, '')
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replace('listen 80;', `listen unix:${folder}/plain;`)
        .replaceAll('/var/log/nginx/', `${folder}/`),
  },
  { ...program('Caddy'), sources: ['caddy/Caddyfile', 'caddy/mtls.Caddyfile'], settings: rfc9440 },
  {
    name: 'HAProxy',
    path: found('HAPROXY', '/usr/sbin/haproxy'),
    sources: ['haproxy/haproxy.cfg', 'haproxy/mtls.cfg'],
    settings: rfc9440,
    mtlsAddress: '127.0.0.2',
    joinsKey: true,
    arrange: (_folder, files) => ['-db', ...files.flatMap((file) => ['-f', file])],
    place: (text, port, folder) =>
      text
        .replace('bind :80', `bind ${folder}/plain`)
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('127.0.0.2:443', `127.0.0.2:${port}`),
  },
  {
    ...program('Traefik'),
    sources: ['traefik/gatehouse.yml', 'traefik/mtls.yml'],
    settings: { CLIENT_CERT_HEADER: 'X-Forwarded-Tls-Client-Cert', CLIENT_CERT_FORMAT: 'pem' },
  },
];
// a test run leaves out only what could be installed
export const fronts = all.filter(({ isFetched, path }) => !isFetched || path !== undefined);
