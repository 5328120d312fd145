// Tests what the sample bank does with answers that come late or lack a member, before a provider that the test plays.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Counter, startCounter } from '../../demo/counter.ts';
import { allowedPayment, invoices } from '../../demo/payments.ts';

let provider: Server;
let counter: Counter;
/** What answers the request about the first customer, once it has come. */
const first = Promise.withResolvers<() => void>();

beforeAll(async () => {
  provider = createServer((request, response) => void answer(request, response));
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  counter = await startCounter({ issuer: issuer(), port: 0, approve: () => Promise.resolve() });
});
afterAll(async () => {
  await counter?.stop();
  provider?.closeAllConnections();
  provider?.close();
});

const issuer = () => `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(await text(request));
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  switch (request.url) {
    case '/register':
      return void send(201, {
        client_id: 'counter',
        client_secret: 'secret',
        client_secret_expires_at: 0,
        registration_access_token: 'token',
        registration_client_uri: `${issuer()}/register/counter`,
      });
    case '/backchannel': {
      const accept = () => void send(200, { auth_req_id: 'id', expires_in: 300, interval: 60 });
      if (form.get('login_hint') !== 'first') return accept();
      return first.resolve(accept);
    }
    default:
      return void send(200, {
        issuer: issuer(),
        registration_endpoint: `${issuer()}/register`,
        token_endpoint: `${issuer()}/token`,
        backchannel_authentication_endpoint: `${issuer()}/backchannel`,
      });
  }
}

test('the counter shows the payment that the clerk started last, also when the service answers about an older one later (OpenID Connect CIBA 7.3)', async () => {
  const pay = (customer: string, invoice: string) =>
    fetch(`${counter.url}/pay`, {
      method: 'POST',
      body: new URLSearchParams({ customer, invoice }),
      redirect: 'manual',
    });
  const older = pay('first', '4711');
  const answerOlder = await first.promise;
  expect((await pay('second', '4712')).status).toBe(303);
  answerOlder();
  expect((await older).status).toBe(303);
  const shown = await (await fetch(counter.url)).text();
  expect(shown).toContain('second');
  expect(shown).toContain('118.00 EUR');
  expect(shown).not.toContain('42.50 EUR');
});

test('a payment in an answer counts only with all its members (RFC 9396 7)', () => {
  const asked = invoices['4711']!;
  const paid = { ...asked, id: 'one' };
  expect(allowedPayment(asked, [paid])).toEqual(paid);
  for (const other of [
    { ...paid, payee: undefined },
    { ...paid, payee: null },
    { ...paid, payee: { name: asked.payee.name } },
    asked,
  ])
    expect(allowedPayment(asked, [other])).toBeUndefined();
});
