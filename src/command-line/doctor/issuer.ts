// Checks how a request of a browser reaches an instance: the address, the proxy, TLS, and long headers in both directions.
import type { ProbeAnswer } from '../../outbound/probe-request.ts';
import { check, fault, type Finding, ok, type Place, type Probe, warning } from './check.ts';

interface SeenProbe extends Probe {
  issuer: string;
}

const look = async ({ config: { issuer }, probes }: Place): Promise<SeenProbe> => ({
  issuer,
  ...(await probes()).short,
});

const day = 86_400_000;
const isLoopback = (issuer: string) => /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$)/.test(issuer);
const isUp = ({ status, body }: ProbeAnswer) => status === 200 && body === '{"status":"up"}';

/** What to do about an error of the system. */
const remedies: Record<string, string> = {
  ENOTFOUND: 'Make the name known to DNS, or correct BASE_URL.',
  EAI_AGAIN: 'Make DNS work on this machine, or correct BASE_URL.',
  ECONNREFUSED: 'Start the service, and the proxy at this address; or correct BASE_URL.',
  ECONNRESET:
    'Look at the log of the proxy: it ended the connection. Its port may speak another protocol than BASE_URL.',
  EPROTO: 'Let the proxy speak TLS at this port, or correct the scheme in BASE_URL.',
  ABORT_ERR: 'Open the firewall between this machine and the proxy, or let the name lead to its inner address here.',
  ETIMEDOUT: 'Open the firewall between this machine and the proxy, or let the name lead to its inner address here.',
};

export const issuer = check<SeenProbe>('issuer', {
  look,
  judge({ issuer: at, answer, seen }) {
    if (typeof answer === 'string')
      return [
        fault(
          `${at} does not answer from here (${answer})`,
          remedies[answer] ?? 'Start the service, or correct BASE_URL.',
        ),
      ];
    if (!isUp(answer))
      return [
        fault(
          `${at}/health/live answers ${answer.status}, and not as this service`,
          'Let the proxy forward the whole path unchanged to the service, without a sign-in or a redirect of its own; or correct BASE_URL.',
        ),
      ];
    if (!seen)
      return [
        fault(
          `a service answers at ${at}, and the database has not seen the request`,
          'Let the address lead to the instances of this database: DATABASE_URL or BASE_URL names another service, or a cache answered.',
        ),
      ];
    return [ok(`${at} answers`)];
  },
});

export const proxy = check<SeenProbe>('proxy', {
  look,
  judge({ issuer: at, seen }) {
    if (!seen) return [];
    const url = new URL(at);
    const found: Finding[] = [];
    if (seen.forwarded && !seen.trusted)
      found.push(
        fault(
          `TRUST_PROXY does not name the proxy at ${seen.peer}, so all users share its address and its limits`,
          `Set TRUST_PROXY=${seen.peer} if that is your proxy, and start the service again.`,
        ),
      );
    if (!seen.forwarded && url.protocol === 'https:')
      found.push(
        warning(
          `the proxy at ${seen.peer} does not say for whom it asks, so all users share its address and its limits`,
          'Let it send X-Forwarded-For (nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for), and name it in TRUST_PROXY.',
        ),
      );
    if (seen.host !== url.host)
      found.push(
        warning(
          `the proxy sends the Host ${seen.host} instead of ${url.host}`,
          'Let it pass on the Host of the browser (nginx: proxy_set_header Host $host).',
        ),
      );
    if (seen.forwarded && url.protocol === 'https:' && seen.scheme !== 'https')
      found.push(
        warning(
          `the proxy sends the scheme ${seen.scheme ?? 'of the browser not'}`,
          'Let it send X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme).',
        ),
      );
    if (found.length > 0) return found;
    return [
      ok(seen.forwarded ? `${seen.peer} is trusted, and names ${seen.address}` : 'none: requests arrive directly'),
    ];
  },
});

export const tls = check<SeenProbe & { now: number }>('tls', {
  look: async (place) => ({ ...(await look(place)), now: Date.now() }),
  judge({ issuer: at, answer, now }) {
    if (at.startsWith('http:'))
      return isLoopback(at)
        ? [ok('not used: the issuer is on this machine')]
        : [
            warning(
              `${at} is not encrypted: passwords and tokens can be read on the way`,
              'Put a proxy with TLS in front, set BASE_URL to its https address, and remove ALLOW_HTTP.',
            ),
          ];
    if (typeof answer === 'string' || !answer.tls) return [];
    const { problem, protocol, validTo } = answer.tls;
    const found: Finding[] = [];
    const days = Math.floor((validTo.getTime() - now) / day);
    if (problem !== undefined)
      found.push(
        fault(
          `the certificate is not trusted (${problem})`,
          'Install one for this name with its whole chain. For an authority of your own, name its file in NODE_EXTRA_CA_CERTS here and at every client.',
        ),
      );
    else if (days < 21)
      found.push(
        warning(`the certificate ends in ${days} days`, 'Renew it, and look why that did not happen by itself.'),
      );
    if (protocol === 'TLSv1' || protocol === 'TLSv1.1')
      found.push(warning(`the proxy speaks ${protocol}`, 'Let it speak TLS 1.2 and 1.3 only.'));
    if (isUp(answer)) found.push(...judgeHsts(answer.hsts));
    return found.length > 0 ? found : [ok(`${protocol}, trusted for ${days} more days, HSTS on`)];
  },
});

function judgeHsts(hsts: readonly string[]): Finding[] {
  const seconds = Number(/max-age="?(\d+)/i.exec(hsts[0] ?? '')?.[1] ?? 0);
  if (hsts.length === 1 && seconds >= 180 * 86_400) return [];
  return [
    warning(
      hsts.length > 1
        ? 'the header Strict-Transport-Security is there twice'
        : hsts.length === 0
          ? 'the proxy removes the header Strict-Transport-Security'
          : `HSTS lasts only ${seconds} seconds`,
      'Let the proxy pass on the header of the service as it is (RFC 6797 8.1: only the first one counts).',
    ),
  ];
}

/** The statuses by which proxies refuse a request or an answer with long headers. */
const tooLong: Record<number, string> = {
  400: 'refuses the long request',
  413: 'refuses the long request',
  414: 'refuses the long address',
  431: 'refuses the long headers',
  500: 'cannot pass on the long answer',
  502: 'cannot pass on the long answer',
};

export const headers = check<{ short: Probe; long: Probe; length: number }>('headers', {
  look: async ({ probes }) => ({ ...(await probes()), length: longState.length }),
  judge({ short, long, length }) {
    if (!short.seen || typeof short.answer === 'string') return [];
    const todo =
      'Give it the sizes of the service (nginx: large_client_header_buffers 4 16k; proxy_buffer_size 32k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k;). Otherwise sign-ins of clients with a long state fail.';
    const { answer, seen } = long;
    if (typeof answer === 'string') return [fault(`the proxy breaks off with long headers (${answer})`, todo)];
    if (!isUp(answer))
      return [fault(`the proxy ${tooLong[answer.status] ?? 'fails with long headers'} (${answer.status})`, todo)];
    if (!seen) return [fault('a request with long headers does not arrive', todo)];
    if (answer.headers['x-gatehouse-state']?.length !== 2 * length)
      return [fault('the proxy shortens or removes a long header of the answer', todo)];
    return [ok(`a state of ${length} characters arrives and comes back`)];
  },
});

/** As long as a client may choose it: the address has at most 8 KiB. */
export const longState = 's'.repeat(6000);
