// Finds the certificate of a request: of its TLS connection, or in the header of a trusted proxy; and serves only APIs at the address for certificates
// (RFC 8705 5, RFC 9440; security R136).
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { type Config, ConfigError } from '../config.ts';
import { certificateConflict } from '../config/mtls-types.ts';
import { type ClientCertificate, certificateOf, readClientCertificate } from '../oauth/client-certificate.ts';
import { certificateInHeader } from '../oauth/client-certificate-header.ts';
import type { CertificateSettings } from '../oauth/certificate-settings.ts';
import { invalidRequest, notFound, OAuthError } from '../oauth/errors.ts';
import { isRepeated } from './request-checks.ts';

/** The certificate that a request comes with. */
export interface PresentedCertificate {
  certificate: ClientCertificate;
  /** Whether OpenSSL, or the proxy, found a chain to an authority of the operator. */
  isVerified: boolean;
  /** Whether its dates include the present. */
  isCurrent: boolean;
}

export interface ClientCertificates {
  /** The origin and path at which clients with certificates come. */
  readonly baseUrl: string;
  /** The certificate of the request; undefined without one. */
  of(request: FastifyRequest): PresentedCertificate | undefined;
  /** Whether the request came to the address for certificates. */
  isAtAlias(request: FastifyRequest): boolean;
}

interface ClientCertificateOptions {
  settings: NonNullable<CertificateSettings['mtls']> & { baseUrl: string };
  basePath: string;
  trustProxy: readonly string[];
  /** The database's time. */
  now: () => Date;
  /** Counts a request whose header did not come from a trusted proxy to the address for certificates. */
  countDropped: () => void;
}

/** What is known of a request at the address for certificates. */
interface Arrival {
  certificate?: ClientCertificate;
  isVerified?: boolean;
}

/** The routes below the path of the issuer that clients with certificates can call: none is a page. */
const aliasRoutes = ['/token', '/par', '/introspect', '/revoke', '/device_authorization', '/bc-authorize'];
const aliasFolders = ['/user/'];

export const certificateAliases = aliasRoutes.concat('/user/info');

/**
 * What reads the certificates of clients; nothing where the service takes none.
 * @throws ConfigError where the settings do not fit together
 */
export function openClientCertificates(
  { mtls, trustProxy, basePath, issuer }: Pick<Config, 'mtls' | 'trustProxy' | 'basePath' | 'issuer'>,
  now: () => Date,
  countDropped: () => void,
): Partial<ReturnType<typeof createClientCertificates>> & { certificates: ClientCertificates | undefined } {
  const [name, problem] = certificateConflict({ mtls, trustProxy }, issuer) ?? [];
  if (name !== undefined) throw new ConfigError(`The setting ${name} ${problem}.`);
  const { baseUrl } = mtls;
  if (baseUrl === undefined) return { certificates: undefined };
  return createClientCertificates({ settings: { ...mtls, baseUrl }, basePath, trustProxy, now, countDropped });
}

/** Makes the reader of certificates, and the check that comes before every route. */
function createClientCertificates({ settings, basePath, trustProxy, now, countDropped }: ClientCertificateOptions) {
  const { baseUrl, header, verifyHeader, format = 'rfc9440' } = settings;
  const names = [header, verifyHeader].flatMap((name) => (name === undefined ? [] : [name.toLowerCase()]));
  const [certificateHeader, verdictHeader] = names;
  const { hostname, host, port } = new URL(baseUrl);
  const hosts = [host, `${hostname}:${port === '' ? '443' : port}`];
  const proxies = blockListOf(trustProxy);
  const routes = aliasRoutes.map((route) => basePath + route);
  const folders = aliasFolders.map((folder) => basePath + folder);
  const arrivals = new WeakMap<FastifyRequest['raw'], Arrival>();
  const ofSocket = new WeakMap<TLSSocket, Arrival>();

  const isServed = (route: string | undefined): boolean =>
    route !== undefined && (routes.includes(route) || folders.some((folder) => route.startsWith(folder)));

  /** What the TLS connection of the service itself shows. */
  function ofConnection(socket: TLSSocket): Arrival {
    const known = ofSocket.get(socket);
    if (known) return known;
    const x509 = socket.getPeerX509Certificate();
    const arrival = x509 ? { certificate: certificateOf(x509), isVerified: socket.authorized } : {};
    ofSocket.set(socket, arrival);
    return arrival;
  }

  /** What the header of a trusted proxy shows. */
  function ofHeader({ headers, raw }: FastifyRequest): Arrival | OAuthError {
    if (certificateHeader === undefined) return {};
    const repeated = names.find((name) => isRepeated(raw.rawHeaders, name));
    if (repeated !== undefined) return invalidRequest('a header for the client certificate is repeated');
    const content = certificateInHeader(String(headers[certificateHeader] ?? ''), format);
    if (content === 'none') return {};
    const certificate = content === 'malformed' ? undefined : readClientCertificate(content);
    if (!certificate)
      return invalidRequest('the header for the client certificate does not hold exactly one certificate');
    const isVerified = verdictHeader !== undefined && headers[verdictHeader] === 'SUCCESS';
    return { certificate, isVerified };
  }

  /** @returns the refusal of a request for an address that is not served with certificates, or with a header that cannot be read */
  function refuseArrival(request: FastifyRequest): OAuthError | undefined {
    const { headers, raw } = request;
    const { socket } = raw;
    const isDirect = socket instanceof TLSSocket;
    const isAtAlias = isDirect || hosts.includes((headers.host ?? '').toLowerCase());
    const isByProxy = isAtAlias && !isDirect && isTrusted(proxies, socket.remoteAddress);
    if (!isByProxy && names.some((name) => headers[name] !== undefined)) {
      // anyone can write such a header: no handler may see it
      for (const name of names) Reflect.deleteProperty(headers, name);
      countDropped();
    }
    if (!isAtAlias) return undefined;
    if (!isServed(request.routeOptions.url))
      return notFound('this address is for clients with certificates: discovery lists what it serves');
    const arrival = isDirect ? ofConnection(socket) : isByProxy ? ofHeader(request) : {};
    if (arrival instanceof OAuthError) return arrival;
    arrivals.set(raw, arrival);
    return undefined;
  }

  const certificates: ClientCertificates = {
    baseUrl,
    of(request) {
      const { certificate, isVerified = false } = arrivals.get(request.raw) ?? {};
      if (!certificate) return undefined;
      const time = now();
      const isCurrent = certificate.validFrom <= time && time <= certificate.validTo;
      return { certificate, isVerified: isVerified && isCurrent, isCurrent };
    },
    isAtAlias: ({ raw }) => arrivals.has(raw),
  };
  return { certificates, refuseArrival };
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function isTrusted(proxies: BlockList, address = ''): boolean {
  if (isIPv4(address)) return proxies.check(address, 'ipv4');
  return isIPv6(address) && proxies.check(address.replace(/%.*$/, ''), 'ipv6');
}
