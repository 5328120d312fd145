// Checks which addresses a guarded request reaches, and that it prints nothing.
import { createServer } from 'node:http';
import { once } from 'node:events';
import https from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import dns from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
import { createGuardedFetch } from '../../src/outbound/guarded-fetch.ts';

afterEach(() => void vi.restoreAllMocks());

test('a request prints nothing, whether it is refused or not (security R166)', async () => {
  const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((method) =>
    vi.spyOn(console, method).mockImplementation(() => undefined),
  );
  const warned = vi.spyOn(process, 'emitWarning');
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const read = createGuardedFetch([`127.0.0.1:${port}`]);
  expect(await read(`http://127.0.0.1:${port}/`)).toBe('{}');
  server.close();
  // the agent looks at each address; no test may connect to a public one
  const connected = vi.spyOn(https.Agent.prototype, 'createConnection').mockImplementation(() => {
    const socket = new Socket();
    return socket.destroy(new Error('no network')) as unknown as TLSSocket;
  });
  for (const host of ['127.0.0.1', '10.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '255.255.255.255'])
    await expect(read(`https://${host}/`), host).rejects.toThrow();
  expect(connected).not.toHaveBeenCalled();
  for (const host of ['1.1.1.1', '[2606:4700:4700::1111]'])
    await expect(read(`https://${host}/`), host).rejects.toThrow();
  expect(connected).toHaveBeenCalledTimes(2);
  for (const spy of [...printed, warned]) expect(spy).not.toHaveBeenCalled();
});

test.each(['[::127.0.0.1]', '[::10.0.0.1]', '[::7f00:1]', '[::]', 'compatible.example'])(
  'an IPv4-compatible address is not public: %s (security R47, RFC 4291 2.5.5.1)',
  async (host) => {
    const looked = vi.spyOn(dns, 'lookup').mockImplementation(((
      _name: string,
      options: { all?: boolean },
      callback: (...found: unknown[]) => void,
    ) => {
      const found = { address: '::127.0.0.1', family: 6 };
      if (options.all) callback(null, [found]);
      else callback(null, found.address, found.family);
    }) as typeof dns.lookup);
    const failure = createGuardedFetch([])(`https://${host}/`).catch((error: Error) => error);
    const { message, cause } = (await failure) as Error;
    expect(message).toContain('cannot be reached');
    // a connection that was tried would fail with another cause
    expect((cause as Error).message).toContain('not public');
    expect(looked).toHaveBeenCalledTimes(host === 'compatible.example' ? 1 : 0);
  },
);
