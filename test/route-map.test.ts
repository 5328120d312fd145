// Every route that the service has: a new door is a visible difference in this file.
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routesOf } from './helpers/route-map.ts';
import { startTestService, type TestService } from './helpers/service.ts';

let service: TestService;
let below: TestService;
beforeAll(async () => {
  service = await startTestService();
  below = await startTestService({ basePath: '/idp' });
});
afterAll(async () => {
  await service?.stop();
  await below?.stop();
});

const expected = [
  'DELETE /admin/api/clients/:id',
  'DELETE /admin/api/groups/:name',
  'DELETE /admin/api/keys/:kid',
  'DELETE /admin/api/sessions/:id',
  'DELETE /admin/api/users/:sub',
  'DELETE /admin/api/users/:sub/grants/:client_id',
  'DELETE /admin/api/users/:sub/second-factors',
  'DELETE /admin/api/users/:sub/second-factors/:id',
  'DELETE /admin/api/users/:sub/sessions',
  'DELETE /admin/api/users/:sub/sign-in-failures',
  'DELETE /register/:clientId',
  'GET /',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/openid-configuration',
  'GET /access-denied',
  'GET /account',
  'GET /account/applications',
  'GET /account/authenticator',
  'GET /account/data',
  'GET /account/delete',
  'GET /account/passkeys',
  'GET /account/password',
  'GET /account/profile',
  'GET /account/profile/edit',
  'GET /account/second-factors',
  'GET /account/security',
  'GET /account/sessions',
  'GET /admin',
  'GET /admin/api/audit',
  'GET /admin/api/clients',
  'GET /admin/api/clients/:id',
  'GET /admin/api/groups',
  'GET /admin/api/groups/:name',
  'GET /admin/api/keys',
  'GET /admin/api/logout-deliveries',
  'GET /admin/api/openapi.json',
  'GET /admin/api/sessions',
  'GET /admin/api/users',
  'GET /admin/api/users/:sub',
  'GET /admin/api/users/:sub/grants',
  'GET /admin/api/users/:sub/second-factors',
  'GET /admin/api/users/export',

  'GET /admin/audit',
  'GET /admin/audit/:id',
  'GET /admin/audit/export',
  'GET /admin/callback',
  'GET /admin/keys',
  'GET /admin/keys/rotate',
  'GET /admin/keys/withdraw',
  'GET /admin/registration',
  'GET /admin/sessions',
  'GET /admin/sessions/end',
  'GET /assets/account-profile.*.js',
  'GET /assets/account.*.css',
  'GET /assets/console-operations.*.css',
  'GET /assets/console.*.css',
  'GET /assets/page.*.js',
  'GET /assets/passkey.*.js',
  'GET /assets/password-meter.*.js',
  'GET /assets/style.*.css',
  'GET /authenticate',
  'GET /authorize',
  'GET /check-session',
  'GET /consent',
  'GET /end-session',
  'GET /error',
  'GET /health/live',
  'GET /health/ready',
  'GET /jwks',
  'GET /login',
  'GET /login/authenticator',
  'GET /login/second-factor',
  'GET /logout',
  'GET /metrics',
  'GET /register/:clientId',
  'GET /user/:sub/address',
  'GET /user/:sub/info',
  'GET /user/:sub/scope',
  'GET /user/:sub/settings',
  'GET /user/info',
  'HEAD /.well-known/oauth-authorization-server',
  'HEAD /.well-known/openid-configuration',
  'HEAD /assets/account-profile.*.js',
  'HEAD /assets/account.*.css',
  'HEAD /assets/console-operations.*.css',
  'HEAD /assets/console.*.css',
  'HEAD /assets/page.*.js',
  'HEAD /assets/passkey.*.js',
  'HEAD /assets/password-meter.*.js',
  'HEAD /assets/style.*.css',
  'HEAD /health/live',
  'HEAD /health/ready',
  'HEAD /jwks',
  'OPTIONS *',
  'PATCH /admin/api/clients/:id',
  'PATCH /admin/api/groups/:name',
  'PATCH /admin/api/users/:sub',
  'POST /account',
  'POST /account/authenticator',
  'POST /account/data',
  'POST /account/delete',
  'POST /account/other-sessions',
  'POST /account/passkeys',
  'POST /account/passkeys/remove',
  'POST /account/passkeys/rename',
  'POST /account/password',
  'POST /account/profile/edit',
  'POST /account/recovery-codes',
  'POST /account/second-factors',
  'POST /account/sessions',
  'POST /admin/api/clients',
  'POST /admin/api/clients/:id/approve',
  'POST /admin/api/clients/:id/disable',
  'POST /admin/api/clients/:id/refuse',
  'POST /admin/api/clients/:id/secrets',
  'POST /admin/api/groups',
  'POST /admin/api/groups/:name/members',
  'POST /admin/api/keys',
  'POST /admin/api/registration-tokens',
  'POST /admin/api/users',
  'POST /admin/api/users/import',
  'POST /admin/keys/rotate',
  'POST /admin/keys/withdraw',
  'POST /admin/registration',
  'POST /admin/sessions',
  'POST /admin/sessions/end',
  'POST /authenticate',
  'POST /authorize',
  'POST /consent',
  'POST /introspect',
  'POST /login',
  'POST /login/authenticator',
  'POST /login/passkey',
  'POST /login/second-factor',
  'POST /logout',
  'POST /par',
  'POST /register',
  'POST /revoke',
  'POST /token',
  'POST /user/:sub/info',
  'POST /user/info',
  'PUT /register/:clientId',
  'PUT /user/:sub/settings',
];

test('the route map is this list, and a new door is a visible difference (architecture, route map)', () => {
  expect(routesOf(service.apps[0]!)).toEqual(expected);
});

test('an issuer with a path has the same routes below it, and beside it only its metadata at the origin (RFC 8414 3.1)', () => {
  const metadata = '/.well-known/oauth-authorization-server/idp';
  const outside = [`GET ${metadata}`, `HEAD ${metadata}`, 'OPTIONS *'];
  const inside = expected.map((route) => route.replace(' ', ' /idp'));
  expect(routesOf(below.apps[0]!).filter((route) => route !== 'GET /idp')).toEqual([...inside, ...outside].sort());
});

test('a planted route that is not listed shows (architecture, route map)', () => {
  const planted = Fastify({ exposeHeadRoutes: false });
  planted.get('/back-door', () => 'open');
  expect(routesOf(planted).filter((route) => !expected.includes(route))).toEqual(['GET /back-door']);
});
