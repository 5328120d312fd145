// Connects the test bed: https origins with names, each mapped to a socket of the loopback, and an HTTP client that follows no redirect.
import { Agent, request } from 'node:http';

export interface HttpRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface HttpAnswer {
  url: string;
  status: number;
  headers: Headers;
  body: string;
}

export interface Network {
  /**
   * Sends one request; redirects are answers like any other, as for the suite. Throws for an address that is not https or not of the bed.
   */
  send(url: string, request?: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** @param ports the loopback port behind each https origin, as behind a reverse proxy that terminates TLS */
export function createNetwork(ports: Readonly<Record<string, number>>): Network {
  const agent = new Agent({ keepAlive: true });
  return {
    send(address, { method = 'GET', headers = {}, body } = {}) {
      const url = new URL(address);
      const port = ports[url.origin];
      if (url.protocol !== 'https:' || port === undefined)
        throw new Error(`not an https address of the bed: ${address}`);
      const length: Record<string, number> =
        body === undefined
          ? method === 'POST'
            ? { 'content-length': 0 }
            : {}
          : { 'content-length': Buffer.byteLength(body) };
      return new Promise((resolve, reject) => {
        const sent = request(
          {
            agent,
            host: 'localhost',
            port,
            method,
            path: url.pathname + url.search,
            headers: { host: url.host, ...headers, ...length },
          },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('error', reject);
            response.on('end', () => {
              const received = new Headers();
              for (let i = 0; i < response.rawHeaders.length; i += 2)
                received.append(response.rawHeaders[i]!, response.rawHeaders[i + 1]!);
              resolve({
                url: address,
                status: response.statusCode!,
                headers: received,
                body: Buffer.concat(chunks).toString('utf8'),
              });
            });
          },
        );
        sent.on('error', reject);
        sent.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}

/** A form's body as the suite writes it. */
export function form(fields: Record<string, string>): { headers: Record<string, string>; body: string } {
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  };
}

/** The media type of an answer, without its parameters. */
export function mediaType(answer: Pick<HttpAnswer, 'headers'>): string {
  return (answer.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
}
