// What is refused before it is a request: bytes that are no HTTP, headers without end, requests that never finish arriving.
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';
import { toOAuthError } from './errors.ts';
import { headersOfEveryResponse } from './security-headers.ts';

type ClientErrorHandler = NonNullable<FastifyServerOptions['clientErrorHandler']>;

const statuses: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
const reasons: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};

/** Answers on the bare socket in the form of all other refusals, and closes it; what was sent is neither echoed nor logged. */
export function refuseUnreadable(logger: FastifyBaseLogger, https: boolean): ClientErrorHandler {
  return ({ code }, socket) => {
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const refusal = toOAuthError({ statusCode: statuses[code] ?? 400 });
    const { status, description } = refusal;
    logger.info({ code: refusal.code, status, description, cause: code }, 'request refused');
    const body = JSON.stringify({ error: refusal.code, error_description: description });
    const headers = {
      ...headersOfEveryResponse(https),
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.write([`HTTP/1.1 ${status} ${reasons[status]}`, ...lines, '', body].join('\r\n'));
    socket.destroy();
  };
}
