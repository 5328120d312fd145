// A public client that is disabled or waits for approval learns so, and is not told to register again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { post } from '../helpers/dpop.ts';
import { call, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: { ...withoutLimits, DEVICE_GRANT: 'on' } });
});
afterAll(() => service?.stop());

const redirect_uris = ['http://127.0.0.1/callback'];
const metadata = { token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris };

/** A public client: its name is all that it sends. */
const byName = (clientId: string) => ({ clientId, basic: '', metadata: { token_endpoint_auth_method: 'none' } });

/** The error at each address that public clients use. */
async function answers(clientId: string): Promise<[path: string, status: number, error: unknown][]> {
  const forms: [string, Record<string, string>][] = [
    ['/token', { grant_type: 'authorization_code', code: 'x', redirect_uri: redirect_uris[0]! }],
    ['/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['/par', { response_type: 'code' }],
    ['/device_authorization', {}],
    ['/revoke', { token: 'x' }],
  ];
  return Promise.all(
    forms.map(async ([path, form]) => {
      const { status, body } = await post(service.issuer + path, byName(clientId), form);
      return [path, status, body['error']] as [string, number, unknown];
    }),
  );
}

const refused = ['/token', '/token', '/par', '/device_authorization', '/revoke'].map((path) => [
  path,
  path === '/revoke' ? 403 : 400,
  'unauthorized_client',
]);

test('a public client that waits for approval, or was disabled, gets unauthorized_client; an unknown one invalid_client (RFC 6749 5.2, security R39, reports C2)', async () => {
  const waiting = await call(`${service.issuer}/register`, { body: metadata });
  expect(waiting).toMatchObject({ status: 201, body: { status: 'disabled' } });
  expect(await answers(waiting.body['client_id'] as string)).toEqual(refused);
  const disabled = await service.createClient(metadata, { status: 'disabled' });
  expect(await answers(disabled.clientId)).toEqual(refused);
  for (const answer of await answers('unknown')) expect(answer.slice(1)).toEqual([401, 'invalid_client']);
  // where public clients may not come, they learn nothing
  const { status } = await post(`${service.issuer}/introspect`, byName(disabled.clientId), { token: 'x' });
  expect(status).toBe(401);
});
