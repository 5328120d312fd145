// Admin routes that need a recent sign-in refuse an older one (security R91), and say so (RFC 9470).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminRoutes } from '../../src/admin/api/routes.ts';
import { adminToken, call, obtainTokens, refresh, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let administrator: Awaited<ReturnType<TestService['createUser']>>;
let token: string;
let refreshed: string;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits, basePath: '/idp' });
  administrator = await service.createUser({ admin: true });
  const console = await service.createClient({ scope: 'openid admin' }, { firstParty: true });
  const tokens = await obtainTokens(service, console, administrator, { scope: 'openid admin' });
  token = tokens.access_token;
  refreshed = (await refresh(service.issuer, console, tokens.refresh_token)).body['access_token'] as string;
});
afterAll(() => service?.stop());

/** Routes that need no recent sign-in: they only end sessions, grants and invitations. */
const withoutRecentSignIn = [
  'DELETE /admin/api/sessions/:id',
  'DELETE /admin/api/users/:sub/grants/:client_id',
  'DELETE /admin/api/users/:sub/invitation',
  'DELETE /admin/api/users/:sub/sessions',
];
const setSignInAge = (minutes: number) =>
  service.database.sql('UPDATE client_sessions SET auth_time = now() - make_interval(mins => $2) WHERE sub = $1', [
    administrator.sub,
    minutes,
  ]);
const send = (route: string, bearer: string) => {
  const [method, path] = route.split(' ') as [string, string];
  const body = method === 'GET' || method === 'DELETE' ? undefined : {};
  return call(service.issuer + path.replace(':reference', '00000000').replace(/:\w+/g, 'nobody'), {
    method,
    token: bearer,
    body,
  });
};

test('every admin route that writes needs a recent sign-in, except those that only end sessions, grants or invitations; so does every export (security R91)', () => {
  const names = (needsRecentSignIn: boolean) =>
    adminRoutes()
      .filter((route) => route.needsRecentSignIn === needsRecentSignIn)
      .map(({ method, path }) => `${method} ${path}`);
  expect(names(true).sort()).toEqual([
    'DELETE /admin/api/attributes/:attribute',
    'DELETE /admin/api/authorization-details-types/:authorization_details_type',
    'DELETE /admin/api/clients/:id',
    'DELETE /admin/api/clients/:id/logo',
    'DELETE /admin/api/clients/:id/roles/:role',
    'DELETE /admin/api/connected-servers/:connected_server',
    'DELETE /admin/api/connections/:id',
    'DELETE /admin/api/connections/:id/logo',
    'DELETE /admin/api/connections/:id/word-confirmations',
    'DELETE /admin/api/exchange-policies/:exchange_policy',
    'DELETE /admin/api/groups/:name',
    'DELETE /admin/api/keys/:kid',
    'DELETE /admin/api/provisioning-targets/:provisioning_target',
    'DELETE /admin/api/resources/:resource',
    'DELETE /admin/api/saml-keys/:id',
    'DELETE /admin/api/scim-sources/:scim_source',
    'DELETE /admin/api/scim-sources/:scim_source/tokens/:token',
    'DELETE /admin/api/scopes/:scope',
    'DELETE /admin/api/sign-up-links/:sign_up_link',
    'DELETE /admin/api/trusted-issuers/:trusted_issuer',
    'DELETE /admin/api/users/:sub',
    'DELETE /admin/api/users/:sub/connections/:connection',
    'DELETE /admin/api/users/:sub/picture',
    'DELETE /admin/api/users/:sub/second-factors',
    'DELETE /admin/api/users/:sub/second-factors/:id',
    'DELETE /admin/api/users/:sub/sign-in-failures',
    'DELETE /admin/api/webhooks/:webhook',
    'DELETE /admin/api/webhooks/:webhook/secrets/:secret',
    'GET /admin/api/audit/export',
    'GET /admin/api/users/export',
    'PATCH /admin/api/appearance',
    'PATCH /admin/api/attributes/:attribute',
    'PATCH /admin/api/authorization-details-types/:authorization_details_type',
    'PATCH /admin/api/clients/:id',
    'PATCH /admin/api/clients/:id/roles/:role',
    'PATCH /admin/api/connected-servers/:connected_server',
    'PATCH /admin/api/connections/:id',
    'PATCH /admin/api/exchange-policies/:exchange_policy',
    'PATCH /admin/api/groups/:name',
    'PATCH /admin/api/provisioning-targets/:provisioning_target',
    'PATCH /admin/api/resources/:resource',
    'PATCH /admin/api/scim-sources/:scim_source',
    'PATCH /admin/api/scopes/:scope',
    'PATCH /admin/api/sign-up-links/:sign_up_link',
    'PATCH /admin/api/trusted-issuers/:trusted_issuer',
    'PATCH /admin/api/users/:sub',
    'PATCH /admin/api/webhooks/:webhook',
    'POST /admin/api/attributes',
    'POST /admin/api/authorization-details-types',
    'POST /admin/api/clients',
    'POST /admin/api/clients/:id/approve',
    'POST /admin/api/clients/:id/disable',
    'POST /admin/api/clients/:id/logo',
    'POST /admin/api/clients/:id/look-alikes/:other/dismiss',
    'POST /admin/api/clients/:id/refuse',
    'POST /admin/api/clients/:id/roles',
    'POST /admin/api/clients/:id/roles/:role/give',
    'POST /admin/api/clients/:id/roles/:role/take',
    'POST /admin/api/clients/:id/secrets',
    'POST /admin/api/clients/decide',
    'POST /admin/api/config/apply',
    'POST /admin/api/config/plan',
    'POST /admin/api/config/take-over',
    'POST /admin/api/connected-servers',
    'POST /admin/api/connections',
    'POST /admin/api/connections/:id/import',
    'POST /admin/api/connections/:id/import/approve',
    'POST /admin/api/connections/:id/logo',
    'POST /admin/api/connections/:id/test',
    'POST /admin/api/connections/test',
    'POST /admin/api/exchange-policies',
    'POST /admin/api/groups',
    'POST /admin/api/groups/:name/members',
    'POST /admin/api/keys',
    'POST /admin/api/mail/test',
    'POST /admin/api/provisioning-targets',
    'POST /admin/api/provisioning-targets/:provisioning_target/approve',
    'POST /admin/api/provisioning-targets/:provisioning_target/reconcile',
    'POST /admin/api/registration-tokens',
    'POST /admin/api/resources',
    'POST /admin/api/saml-keys',
    'POST /admin/api/saml-keys/:id/activate',
    'POST /admin/api/scim-sources',
    'POST /admin/api/scim-sources/:scim_source/tokens',
    'POST /admin/api/scopes',
    'POST /admin/api/sign-up-links',
    'POST /admin/api/trusted-issuers',
    'POST /admin/api/users',
    'POST /admin/api/users/:sub/break-glass',
    'POST /admin/api/users/:sub/connections',
    'POST /admin/api/users/:sub/connections/:connection/keep',
    'POST /admin/api/users/:sub/invitation',
    'POST /admin/api/users/:sub/picture',
    'POST /admin/api/users/:sub/recovery-link',
    'POST /admin/api/users/import',
    'POST /admin/api/webhooks',
    'POST /admin/api/webhooks/:webhook/replay',
    'POST /admin/api/webhooks/:webhook/secrets',
  ]);
  expect(
    names(false)
      .filter((name) => !name.startsWith('GET '))
      .sort(),
  ).toEqual(withoutRecentSignIn);
});

test('a route that needs a recent sign-in refuses one of 16 minutes ago, also with a refreshed token, and changes nothing (security R91)', async () => {
  await setSignInAge(16);
  const rows = () => service.database.sql('SELECT count(*)::int FROM audit_events');
  const before = await rows();
  for (const { method, path } of adminRoutes().filter((route) => route.needsRecentSignIn)) {
    for (const bearer of [token, refreshed]) {
      const answer = await send(`${method} ${path}`, bearer);
      const error = 'insufficient_user_authentication';
      expect(answer, `${method} ${path}`).toMatchObject({ status: 401, body: { error, max_age: 900 } });
      const challenge = answer.headers.get('www-authenticate');
      expect(challenge).toMatch(
        /^Bearer realm="gatehouse", error="insufficient_user_authentication", error_description="[^"]+", max_age="900"(, [a-z_]+="[^"]*")*, DPoP /,
      );
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  }
  expect(await rows()).toEqual(before);
});

test('the other routes accept a sign-in of 16 minutes ago, and all routes accept one of 14 minutes ago (security R91)', async () => {
  await setSignInAge(16);
  for (const { method, path } of adminRoutes().filter((route) => !route.needsRecentSignIn))
    expect([200, 404], `${method} ${path}`).toContain((await send(`${method} ${path}`, token)).status);
  await setSignInAge(14);
  for (const { method, path } of adminRoutes())
    expect([200, 201, 400, 404, 409, 415], `${method} ${path}`).toContain(
      (await send(`${method} ${path}`, token)).status,
    );
});

test('a client credentials token with the scope admin needs no recent sign-in (decisions section 8)', async () => {
  const machine = await adminToken(service);
  await service.database.sql(
    `UPDATE access_tokens SET issued_at = issued_at - interval '1 day' WHERE client_id IS NOT NULL`,
  );
  expect(await send('POST /admin/api/registration-tokens', machine)).toMatchObject({ status: 201 });
});

test('the OpenAPI document names the routes that need a recent sign-in, and its maximum age (security R91, RFC 9470)', async () => {
  const { paths } = (await call(`${service.issuer}/admin/api/openapi.json`, { token })).body as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
  };
  for (const { method, path, needsRecentSignIn } of adminRoutes()) {
    const operation = paths[path.replace(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!;
    expect(operation['x-max-authentication-age'], path).toBe(needsRecentSignIn ? 900 : undefined);
    if (needsRecentSignIn) expect(operation['description']).toContain('insufficient_user_authentication');
  }
});
