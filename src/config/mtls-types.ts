// Declares the types of the settings about certificates of clients, and finds what does not fit together in them (RFC 8705, RFC 9440).
import { z } from 'zod';
import { baseUrl } from './setting-types.ts';

/** The address at which clients with certificates come. */
export const certificateUrl = baseUrl.refine(
  (url) => url.startsWith('https:'),
  'must be an https URL in normalized form, without a query, a fragment or a trailing slash',
);

/** Headers that mean something else, or that a proxy changes by itself. */
const reserved =
  /^(authorization|cookie|host|dpop|forwarded|x-forwarded-for|x-forwarded-host|x-forwarded-proto|connection|expect|te|transfer-encoding|upgrade|content-[a-z]+|accept[a-z-]*)$/i;

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/, 'must be the name of a header: letters, digits and hyphens')
  .refine((name) => !reserved.test(name), 'must be a header that has no other meaning');

interface CertificateValues {
  readonly baseUrl?: string | undefined;
  readonly trustProxy: readonly string[];
  readonly mtls: {
    readonly baseUrl?: string | undefined;
    readonly port?: number | undefined;
    readonly certFile?: string | undefined;
    readonly keyFile?: string | undefined;
    readonly caFile?: string | undefined;
    readonly header?: string | undefined;
    readonly verifyHeader?: string | undefined;
  };
}

/** A line for the operator where any client can pass for the proxy. */
export const certificateWarning = ({ mtls, trustProxy }: CertificateValues): string | undefined =>
  mtls.header !== undefined && trustProxy.some((range) => range.endsWith('/0'))
    ? 'TRUST_PROXY contains every address: with CLIENT_CERT_HEADER each sender of a request can claim any certificate. Name the addresses of the proxies only.'
    : undefined;

/**
 * What the start of the service refuses in these settings: the name of a setting, and what completes the sentence "The setting NAME …". A
 * command takes the settings of the service, and needs no listener and no proxy.
 */
export function certificateConflict(
  { mtls, trustProxy }: CertificateValues,
  issuer: string,
): readonly [name: string, problem: string] | undefined {
  const { baseUrl: address, port, header } = mtls;
  const direct = { TLS_CERT_FILE: mtls.certFile, TLS_KEY_FILE: mtls.keyFile };
  if (address === undefined) {
    const useless = Object.entries({ MTLS_PORT: port, CLIENT_CERT_HEADER: header }).find(
      ([, value]) => value !== undefined,
    );
    return useless && [useless[0], 'requires MTLS_BASE_URL, the address at which clients with certificates come'];
  }
  const [own, other] = [new URL(issuer), new URL(address)];
  if (own.host === other.host)
    return [
      'MTLS_BASE_URL',
      'must have another host or port than BASE_URL, so that no browser asks its user for a certificate',
    ];
  if (own.pathname !== other.pathname) return ['MTLS_BASE_URL', 'must have the path of BASE_URL'];
  if (port === undefined && header === undefined)
    return ['MTLS_BASE_URL', 'requires MTLS_PORT or CLIENT_CERT_HEADER: no certificate could arrive otherwise'];
  for (const [name, value] of Object.entries(direct)) {
    if (port !== undefined && value === undefined) return [name, 'is missing: MTLS_PORT requires it'];
    if (port === undefined && value !== undefined) return [name, 'requires MTLS_PORT'];
  }
  if (port === undefined && mtls.caFile !== undefined) return ['MTLS_CA_FILE', 'requires MTLS_PORT'];
  if (header !== undefined && trustProxy.length === 0)
    return ['CLIENT_CERT_HEADER', 'requires TRUST_PROXY: the header counts only from the proxies that are named there'];
  if (mtls.verifyHeader !== undefined && header === undefined)
    return ['CLIENT_CERT_VERIFY_HEADER', 'requires CLIENT_CERT_HEADER'];
  if (header !== undefined && header.toLowerCase() === mtls.verifyHeader?.toLowerCase())
    return ['CLIENT_CERT_VERIFY_HEADER', 'must be another header than CLIENT_CERT_HEADER'];
  return undefined;
}
