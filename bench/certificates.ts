// Makes the certificate of a benchmark's client, and the settings with which a service takes it from a proxy (RFC 8705, RFC 9440).
import { clientCert, createCertificateFolder } from '../test/helpers/mtls.ts';

/** The host at which clients come with certificates. */
export const certificateHost = 'mtls.bench.example';

export const certificateSettings = {
  MTLS_BASE_URL: `https://${certificateHost}`,
  TRUST_PROXY: '127.0.0.1,::1',
  CLIENT_CERT_HEADER: 'Client-Cert',
  CLIENT_CERT_FORMAT: 'rfc9440',
};

/** The header with which a proxy passes the certificate on. */
export function certificateHeader(): Record<string, string> {
  const folder = createCertificateFolder();
  try {
    return { 'client-cert': clientCert(folder.selfSigned()) };
  } finally {
    folder.remove();
  }
}
