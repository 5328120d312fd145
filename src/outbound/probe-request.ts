// Sends one request to the service's own address, as a browser would, and reports how it was answered: also by a server whose certificate is not trusted.
import type { IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import { http } from './node-http.ts';

export interface ProbeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The values of Strict-Transport-Security, one for each time that the header is there. */
  hsts: string[];
  body: string;
  /** Undefined without TLS. */
  tls: ProbeTls | undefined;
}

export interface ProbeTls {
  /** Why the certificate is not trusted, as a code of OpenSSL. */
  problem: string | undefined;
  protocol: string | undefined;
  validTo: Date;
}

const timeout = 8_000; // milliseconds
/** A longer body is that of another service. */
const maxBody = 1_000;
/** More than an instance sends, so that only a proxy can be too small for an answer. */
const maxHeaderSize = 64 * 1024;

/**
 * It holds nothing that another server may not see.
 * @throws the system's own error, with its code
 */
export function sendProbe(address: string, headers: Record<string, string> = {}): Promise<ProbeAnswer> {
  const url = new URL(address);
  const isHttps = url.protocol === 'https:';
  const options: https.RequestOptions = {
    headers: { ...headers, 'user-agent': 'gatehouse', accept: 'application/json' },
    signal: AbortSignal.timeout(timeout),
    agent: false,
    maxHeaderSize,
    // the answer says whether the certificate is trusted: the rest of the service is still worth looking at
    ...(isHttps && { rejectUnauthorized: false }),
  };
  return new Promise((resolve, reject) => {
    const request = (isHttps ? https : http).request(url, options, (response) => {
      const tls = isHttps ? tlsOf(response.socket as TLSSocket) : undefined;
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
        if (body.length > maxBody) response.destroy();
      });
      response.on('error', () => undefined);
      response.on('close', () => {
        const { statusCode = 0, headers: answered, rawHeaders } = response;
        const hsts = rawHeaders.filter(
          (_value, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === 'strict-transport-security',
        );
        resolve({ status: statusCode, headers: answered, hsts, body, tls });
      });
    });
    request.on('error', reject);
    request.end();
  });
}

function tlsOf(socket: TLSSocket): ProbeTls {
  const { authorized, authorizationError } = socket;
  // the type of Node says Error, and the value is a code
  const problem = authorized ? undefined : String((authorizationError as unknown) ?? 'UNTRUSTED');
  return {
    problem,
    protocol: socket.getProtocol() ?? undefined,
    validTo: new Date(socket.getPeerCertificate().valid_to),
  };
}
