// Serves an application that answers a standard Request with a Response, on this computer and at a free port.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WebApplication {
  url: string;
  stop(): Promise<void>;
}

/** @param handlerAt makes the handler, which needs to know its own address */
export async function serveApplication(
  handlerAt: (url: string) => (request: Request) => Promise<Response>,
): Promise<WebApplication> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = 'GET', headers } = incoming;
      const request = new Request(url + incoming.url, {
        method,
        headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      handle(request)
        .catch((error: unknown) => new Response(String(error), { status: 500 }))
        .then(async (response) => {
          outgoing.statusCode = response.status;
          outgoing.setHeaders(response.headers);
          outgoing.end(Buffer.from(await response.arrayBuffer()));
        })
        .catch(() => outgoing.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const handle = handlerAt(url);
  return {
    url,
    async stop() {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}
