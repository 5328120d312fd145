// Ends TLS at MTLS_PORT and asks clients for their certificates, with the HTTP server of the service behind it (RFC 8705 7, RFC 9325).
import { randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type SecureContextOptions, type Server, type TlsOptions, type TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { addressToListen } from './listen.ts';

/** A file of the settings that cannot be used. */
export class CertificateFileError extends Error {
  readonly setting: string;
  constructor(setting: string, cause: unknown) {
    super(`cannot be used: ${(cause as Error).message}`, { cause });
    this.setting = setting;
  }
}

interface CertificateFiles {
  certFile: string;
  keyFile: string;
  caFile: string | undefined;
}

/** The recommended cipher suites for TLS 1.2 (RFC 9325 4.2), and those of TLS 1.3. */
const ciphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':');

const usualHandshakeTimeout = 10_000; // milliseconds
const ticketKeyBytes = 48;

export interface CertificateListener {
  /** Reads the files again, for new connections. @throws CertificateFileError, and the old ones stay in use */
  reload(): void;
  close(): Promise<void>;
}

/**
 * Listens at MTLS_PORT. A certificate is asked for and not demanded: the token endpoint decides what it is good for.
 * @throws CertificateFileError, or the system's error when the port is not available
 */
export async function listenForCertificates(
  { server }: FastifyInstance,
  {
    host,
    port,
    handshakeTimeout = usualHandshakeTimeout,
    ...files
  }: CertificateFiles & { host: string; port: number; handshakeTimeout?: number },
): Promise<CertificateListener> {
  const options: TlsOptions = {
    ...contextOf(files),
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout,
    ALPNProtocols: ['http/1.1'],
    ticketKeys: randomBytes(ticketKeyBytes),
  };
  const listener = created(options, (socket) => server.emit('connection', socket));
  listener.maxConnections = server.maxConnections;
  listener.on('drop', (dropped) => server.emit('drop', dropped));
  // a handshake that fails or does not end closes its connection, and is no fault of the service
  listener.on('tlsClientError', (_error, socket) => socket.destroy());
  const address = await addressToListen(host);
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen({ host: address, port }, () => {
      listener.off('error', reject);
      resolve();
    });
  });
  return {
    reload() {
      listener.setSecureContext(contextOf(files));
      // a resumed session would keep the verdict of the former authorities
      listener.setTicketKeys(randomBytes(ticketKeyBytes));
    },
    close: () => new Promise((resolve) => void listener.close(() => resolve())),
  };
}

/** @throws CertificateFileError where the key is not that of the certificate, or a file holds something else */
function created(options: TlsOptions, connected: (socket: TLSSocket) => void): Server {
  try {
    return createServer(options, connected);
  } catch (error) {
    throw new CertificateFileError('TLS_CERT_FILE', error);
  }
}

function contextOf({ certFile, keyFile, caFile }: CertificateFiles): SecureContextOptions {
  return {
    cert: readCertificates('TLS_CERT_FILE', certFile),
    key: readFile('TLS_KEY_FILE', keyFile),
    // without a file no authority is trusted, and not those of Node
    ca: caFile === undefined ? [] : readCertificates('MTLS_CA_FILE', caFile),
    // in the order of the service, unless Node is told otherwise
    ciphers,
    minVersion: 'TLSv1.2',
  };
}

/** A file with certificates in PEM: OpenSSL would silently trust no authority where a file holds something else. */
function readCertificates(setting: string, path: string): Buffer {
  const text = readFile(setting, path);
  try {
    new X509Certificate(text);
    return text;
  } catch (error) {
    throw new CertificateFileError(setting, error);
  }
}

function readFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CertificateFileError(setting, error);
  }
}
