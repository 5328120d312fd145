// Sends one request as bytes on a bare socket, and reads its answer, which no HTTP client would send or accept.
import { connect } from 'node:net';

export interface RawAnswer {
  /** 0 when the connection ended without an answer. */
  status: number;
  headers: [name: string, value: string][];
  body: string;
}

export const header = (answer: RawAnswer, name: string): string | undefined =>
  answer.headers.find(([each]) => each === name)?.[1];

const answerTimeout = 15_000; // milliseconds

/** @param bytes a whole request, each character one byte */
export function exchange(base: string, bytes: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const parts: Buffer[] = [];
    const silent = bytes.startsWith('HEAD ');
    const finish = (ended: boolean) => {
      const answer = read(Buffer.concat(parts), silent, ended);
      if (!answer) return;
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(answerTimeout, () => {
      socket.destroy();
      reject(new Error(`no answer within ${answerTimeout} ms`));
    });
    socket.on('data', (part) => {
      parts.push(part);
      finish(false);
    });
    // the service may close before the whole of a large body is sent
    socket.on('error', () => finish(true));
    socket.on('close', () => finish(true));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

/** The first answer in these bytes, if it is whole, or the connection has ended. */
function read(bytes: Buffer, silent: boolean, ended: boolean): RawAnswer | undefined {
  let rest = bytes.toString('latin1');
  if (rest.startsWith('HTTP/1.1 100 ')) rest = rest.slice(rest.indexOf('\r\n\r\n') + 4);
  const end = rest.indexOf('\r\n\r\n');
  if (end < 0) return ended ? { status: 0, headers: [], body: '' } : undefined;
  const [line, ...lines] = rest.slice(0, end).split('\r\n');
  const headers = lines.map((each): [string, string] => {
    const colon = each.indexOf(':');
    return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()];
  });
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line!)?.[1] ?? 0);
  const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0);
  const body = rest.slice(end + 4);
  // the request asks the service to close the connection, with which a download ends
  const download = headers.some(([name]) => name === 'transfer-encoding');
  if (!silent && (download || body.length < length) && !ended) return undefined;
  return { status, headers, body: Buffer.from(download ? unchunked(body) : body, 'latin1').toString() };
}

/** The content of the chunks, and everything after the last one (RFC 9112 section 7.1). */
function unchunked(body: string): string {
  let held = '';
  for (let rest = body; ;) {
    const begin = rest.indexOf('\r\n') + 2;
    const size = parseInt(rest, 16);
    if (!(size > 0)) return held + rest.slice(begin + 2);
    held += rest.slice(begin, begin + size);
    rest = rest.slice(begin + size + 2);
  }
}
