// The header with a client certificate reaches a handler only from a named proxy and at the address for certificates (RFC 9440 4, security R136).
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { openClientCertificates } from '../../src/server/client-certificate.ts';

const mtls = {
  baseUrl: 'https://mtls.example',
  port: undefined,
  certFile: undefined,
  keyFile: undefined,
  caFile: undefined,
  header: 'Client-Cert',
  format: 'rfc9440',
  verifyHeader: 'Client-Verify',
} as const;

test('from anyone else, or at another host, the headers are gone before the handler, and the request is counted (RFC 9440 4, security R136)', async () => {
  let dropped = 0;
  const settings = { mtls, trustProxy: ['192.0.2.1', '2001:db8::/32'], basePath: '', issuer: 'https://id.example' };
  const opened = openClientCertificates(
    settings,
    () => new Date(),
    () => void (dropped += 1),
  );
  const app = Fastify();
  app.addHook('onRequest', async (request) => {
    const refusal = opened.refuseArrival?.(request);
    if (refusal) throw refusal;
  });
  app.get('/token', ({ headers }) => [headers['client-cert'] ?? 'none', headers['client-verify'] ?? 'none']);
  const sent = async (remoteAddress: string, host: string) => {
    const headers = { host, 'client-cert': '', 'client-verify': 'SUCCESS' };
    return (await app.inject({ url: '/token', remoteAddress, headers })).json<string[]>();
  };
  for (const proxy of ['192.0.2.1', '2001:db8::7', '2001:db8::7%eth0'])
    for (const host of ['mtls.example', 'MTLS.example:443'])
      expect(await sent(proxy, host), proxy + host).toEqual(['', 'SUCCESS']);
  expect(dropped).toBe(0);
  const others = [
    ['192.0.2.2', 'mtls.example'],
    ['2001:db9::7', 'mtls.example'],
    ['', 'mtls.example'],
    ['192.0.2.1', 'id.example'],
    ['192.0.2.1', 'mtls.example:444'],
    ['192.0.2.1', 'mtls.example.evil.example'],
  ] as const;
  for (const [address, host] of others) expect(await sent(address, host), address + host).toEqual(['none', 'none']);
  expect(dropped).toBe(others.length);
  await app.close();
});
