// Opens MTLS_PORT, where the service ends TLS itself, and reads its files again when the operator renews them.
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import {
  CertificateFileError,
  type CertificateListener,
  listenForCertificates,
} from '../server/certificate-listener.ts';

/** @returns undefined without MTLS_PORT @throws ConfigError */
export async function openCertificatePort(
  app: Parameters<typeof listenForCertificates>[0],
  { host, mtls: { port, certFile, keyFile, caFile } }: Pick<Config, 'host' | 'mtls'>,
): Promise<CertificateListener | undefined> {
  if (port === undefined || certFile === undefined || keyFile === undefined) return undefined;
  try {
    return await listenForCertificates(app, { host, port, certFile, keyFile, caFile });
  } catch (error) {
    if (error instanceof CertificateFileError)
      throw new ConfigError(`The setting ${error.setting} ${error.message}.`, { cause: error });
    const { code, message } = error as NodeJS.ErrnoException;
    const problem =
      code === 'EADDRINUSE'
        ? 'is a port that another program uses'
        : `is a port that the service cannot use: ${message}`;
    throw new ConfigError(`The setting MTLS_PORT ${problem}.`, { cause: error });
  }
}

/** Reads the files again. The former ones stay in use if that fails. */
export function reloadCertificates(certificates: CertificateListener, logger: Pick<Logger, 'info' | 'error'>): void {
  try {
    certificates.reload();
    logger.info('the TLS certificate and the authorities were read again');
  } catch (error) {
    logger.error({ err: error }, 'the TLS files could not be read again: the former ones stay in use');
  }
}
