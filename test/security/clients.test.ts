// Tests what clients may register, by each way to write a registration, and how often they may introspect.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminToken, type Answer, call, obtainTokens } from '../helpers/grants.ts';
import { startTestService, type TestClient, type TestService } from '../helpers/service.ts';

const introspections = 6;
const metadata = { redirect_uris: ['https://rp.example.com/cb'] };

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startTestService({
    environment: {
      LIMIT_INTROSPECTIONS: String(introspections),
    },
  });
  admin = await adminToken(service);
});
afterAll(() => service?.stop());

describe('an address of a client', () => {
  interface Held {
    client: TestClient;
    body: Record<string, unknown>;
  }
  const address = ({ client }: Held) => `${service.issuer}/register/${client.clientId}`;
  const byAdmin = (path = '') => `${service.issuer}/admin/api/clients${path}`;
  const ways: [string, (held: Held) => Promise<Answer>][] = [
    ['a registration', ({ body }) => call(`${service.issuer}/register`, { body })],
    [
      'a repeated registration',
      ({ client, body }) => call(`${service.issuer}/register`, { token: client.registrationAccessToken, body }),
    ],
    [
      'an update',
      (held) =>
        call(address(held), {
          method: 'PUT',
          token: held.client.registrationAccessToken,
          body: { client_id: held.client.clientId, ...held.body },
        }),
    ],
    ['an administrator who makes it', ({ body }) => call(byAdmin(), { token: admin, body })],
    [
      'an administrator who changes it',
      ({ client, body }) => call(byAdmin(`/${client.clientId}`), { method: 'PATCH', token: admin, body }),
    ],
  ];
  const single = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri', 'initiate_login_uri'];
  const refused = [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    'http://rp.example.com/x',
    'https://rp@evil.example/x',
    'https://rp.example.com/x#',
    'https:/rp.example.com/x',
    'https://rp.example.com\\x',
  ];

  test.each(ways)(
    'written by %s must be https and unambiguous, or the registration is not stored (security R25)',
    async (_way, send) => {
      const client = await service.createClient();
      const stored = () =>
        service.database.sql('SELECT client_id, metadata, pending_metadata FROM clients ORDER BY client_id');
      const before = await stored();
      const tries = [
        ...refused.map((uri) => ['logo_uri', uri]),
        ...[...single, 'post_logout_redirect_uris', 'redirect_uris'].map((member) => [member, refused[0]!]),
      ] as [string, string][];
      for (const [member, uri] of tries) {
        const answer = await send({ client, body: { ...metadata, [member]: single.includes(member) ? uri : [uri] } });
        expect([answer.status, answer.body['error']], `${member} ${uri}`).toEqual([
          400,
          member === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata',
        ]);
      }
      expect(await stored()).toEqual(before);
      const good = await send({ client, body: { ...metadata, logo_uri: 'https://rp.example.com/logo.png' } });
      expect(good.status).toBeLessThan(300);
    },
  );
});

test('introspection takes POST, is not cached and is limited for each client, which gets no verdict past the limit (security R80)', async () => {
  const [client, other] = [await service.createClient(), await service.createClient()];
  const ask = (caller: TestClient, token = 'not a token of ours') =>
    fetch(`${service.issuer}/introspect`, {
      method: 'POST',
      headers: { authorization: caller.basic },
      body: new URLSearchParams({ token }),
    });
  const asked = await fetch(`${service.issuer}/introspect?token=x`, { headers: { authorization: client.basic } });
  expect([asked.status, asked.headers.get('allow')]).toEqual([405, 'POST']);
  const { access_token: token } = await obtainTokens(service, client, await service.createUser());
  for (let count = 0; count < introspections; count++) {
    const answer = await ask(client, count % 2 ? token : undefined);
    expect(answer.status).toBe(count % 2 ? 200 : 400);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  }
  for (const last of [token, undefined]) {
    const answer = await ask(client, last);
    expect([answer.status, await answer.json()]).toEqual([
      429,
      {
        error: 'temporarily_unavailable',
        error_description: expect.stringMatching(/^too many introspections: wait \d+/),
      },
    ]);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  }
  expect((await ask(other)).status).toBe(400);
});
