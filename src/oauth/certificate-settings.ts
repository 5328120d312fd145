// Decides by the settings whether the service takes certificates of clients, and whether anything verifies them (RFC 8705).
import type { CertificateHeaderFormat } from './client-certificate-header.ts';

/** The settings about certificates, by their names in Config. */
export interface CertificateSettings {
  readonly mtls?:
    | {
        /** The address at which clients with certificates come. */
        readonly baseUrl?: string | undefined;
        /** The port at which the service itself ends TLS. */
        readonly port?: number | undefined;
        /** The file with the authorities that sign certificates of clients. */
        readonly caFile?: string | undefined;
        /** The header in which a proxy passes the certificate on. */
        readonly header?: string | undefined;
        readonly format?: CertificateHeaderFormat;
        /** The header in which the proxy says whether it has verified the certificate. */
        readonly verifyHeader?: string | undefined;
      }
    | undefined;
}

/** Whether the service takes certificates. */
export const offersCertificates = ({ mtls }: CertificateSettings): boolean => mtls?.baseUrl !== undefined;

/** Whether OpenSSL or the proxy verifies the chain of a certificate: the service builds no path itself. */
export const offersVerifiedCertificates = (settings: CertificateSettings): boolean => {
  const { port, caFile, header, verifyHeader } = settings.mtls ?? {};
  const isVerified =
    (port !== undefined && caFile !== undefined) || (header !== undefined && verifyHeader !== undefined);
  return offersCertificates(settings) && isVerified;
};
