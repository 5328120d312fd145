// Refuses input that never becomes a request: bytes that are not HTTP, endless headers, requests that do not arrive in time, unknown expectations.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';
import type { OAuthError } from '../oauth/errors.ts';
import { toOAuthError } from './errors.ts';

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

/** The last answer on a connection: a request may turn out to be unreadable after its answer has begun. */
const lastAnswer = Symbol('last answer');
type Connection = Socket & { [lastAnswer]?: ServerResponse };

export function rememberAnswers(server: Server): void {
  server.on('request', (request, response) => void ((request.socket as Connection)[lastAnswer] = response));
}

/**
 * Answers on the bare socket in the form of all other refusals, and closes it. It neither echoes nor logs the bytes of the client.
 * @param everywhere the headers of an answer at any address, since the address may not have arrived
 */
export function refuseUnreadable(logger: FastifyBaseLogger, everywhere: Record<string, string>): ClientErrorHandler {
  return ({ code }, socket) => {
    const answer = (socket as Connection)[lastAnswer];
    // the client would take a second answer to this request for the answer to the next one
    const answered = answer !== undefined && answer.headersSent && !answer.writableFinished;
    if (code === 'ECONNRESET' || !socket.writable || answered) return void socket.destroy();
    const refusal = toOAuthError({ statusCode: statuses[code] ?? 400 });
    const { headers, body } = written(refusal, everywhere, logger, code);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.write([`HTTP/1.1 ${refusal.status} ${reasons[refusal.status]}`, ...lines, '', body].join('\r\n'));
    socket.destroy();
  };
}

/** Answers a request that expects anything but 100-continue (RFC 9110 10.1.1); no route receives it. */
export function refuseExpectation(logger: FastifyBaseLogger, everywhere: Record<string, string>): RequestListener {
  return (_request, response) => {
    const refusal = toOAuthError({ statusCode: 417 });
    const { headers, body } = written(refusal, everywhere, logger, 'Expect');
    response.writeHead(refusal.status, headers).end(body);
  };
}

function written(refusal: OAuthError, everywhere: Record<string, string>, logger: FastifyBaseLogger, cause: string) {
  const { code, status, description } = refusal;
  logger.info({ code, status, description, cause }, 'request refused');
  const body = JSON.stringify({ error: code, error_description: description });
  const headers = {
    ...everywhere,
    'cache-control': 'no-store',
    pragma: 'no-cache',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  return { headers, body };
}
