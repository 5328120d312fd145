// Implements a minimal HTTP client: one connection that is kept alive, one request at a time, so that the load costs little compared with
// the measured server.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Answer {
  status: number;
  location: string | undefined;
  body: string;
  setCookies?: string[];
}

/** The raw answer. */
export interface RawAnswer {
  status: number;
  /** Status line and header fields. */
  head: string;
  body: Buffer;
}

/** A request as its bytes: built once, sent often. */
export function serialized(base: string, { method, path, headers = {}, body }: Request): Buffer {
  const { host = new URL(base).host, ...others } = headers;
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of Object.entries(others)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

export class Wire {
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  #done: ((answer: RawAnswer) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the connection ended')));
  }

  static async open(base: string): Promise<Wire> {
    const { hostname: host, port } = new URL(base);
    const socket = connect({ host, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new Wire(socket);
  }

  send(request: Buffer, done: (answer: RawAnswer) => void, failed: (error: Error) => void): void {
    this.#done = done;
    this.#failed = failed;
    this.#socket.write(request);
  }

  close(): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const data = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = data.indexOf('\r\n\r\n');
    const head = end < 0 ? undefined : data.toString('latin1', 0, end);
    const body = head === undefined ? undefined : bodyOf(head, data, end + 4);
    if (head === undefined || body === undefined) {
      this.#rest = data;
      return;
    }
    this.#rest = undefined;
    const done = this.#done;
    this.#done = undefined;
    done?.({ status: Number(head.slice(9, 12)), head, body });
  }
}

/** Undefined while the answer is incomplete. */
function bodyOf(head: string, data: Buffer, start: number): Buffer | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length) {
    const end = start + Number(length[1]);
    return data.length < end ? undefined : data.subarray(start, end);
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return data.subarray(start, start);
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const line = data.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(data.toString('latin1', at, line), 16);
    if (data.length < line + 2 + size + 2) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(data.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

/** The same for flows, whose requests are built at each step. */
export function askOver(wire: Wire, base: string, request: Request): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = ({ status, head, body }: RawAnswer) => {
      const setCookies = [...head.matchAll(/\r\nset-cookie: *([^\r]*)/gi)].map((match) => match[1]!);
      const location = /\r\nlocation: *([^\r]*)/i.exec(head)?.[1];
      resolve({ status, location, body: body.toString(), setCookies });
    };
    wire.send(serialized(base, request), done, reject);
  });
}
