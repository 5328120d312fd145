// Lists every route with valid values of its parameters, and the statuses that it may answer besides those for malformed requests. The routes of operations and entities follow from their declarations.
import { cibaGrant, deviceGrant } from '../../src/oauth/registrable-values.ts';
import { createPages } from '../../src/pages/renderer.ts';
import { adminRoutes, byAdministrator } from './admin-routes.ts';
import { metadata, type Route } from './route.ts';
import { scimRoutes } from './scim-routes.ts';

const uri = 'https://rp.example.com/callback';
const authorizationRequest = {
  response_type: ['code', 'code', 'code id_token', 'id_token', 'code token', 'none'],
  scope: ['openid', 'openid email profile', 'openid offline_access scope'],
  client_id: ['@client_id', '@client_id', '@client_id', '@public_id', '@disabled_id'],
  redirect_uri: [uri],
  state: ['abc'],
  nonce: ['n-0S6'],
  'prompt?': ['none', 'login', 'consent'],
};
const moreOfAuthorization = {
  'response_mode?': ['query', 'fragment', 'form_post', 'jwt', 'form_post.jwt'],
  'max_age?': ['0', '3600'],
  'ui_locales?': ['de en'],
  'id_token_hint?': ['@id_token'],
  'login_hint?': ['alice'],
  'connection?': ['none'],
  'domain_hint?': ['corp.example'],
  'acr_values?': ['urn:gatehouse:acr:password', '0'],
  'claims?': ['{"id_token":{"name":{"essential":true}},"userinfo":{"email":null}}'],
  'code_challenge?': ['@challenge'],
  'code_challenge_method?': ['S256'],
  'request?': ['@request'],
  'request_uri?': ['@request_uri'],
  'resource?': ['https://api.example.com/'],
  'dpop_jkt?': ['@jkt', '@jkt', 'A'.repeat(43)],
  'transaction?': ['@transaction /consent', '@transaction /login'],
};
const clientCredentials = {
  'client_id?': ['@client_id'],
  'client_secret?': ['@client_secret'],
  'client_assertion?': ['@assertion'],
  'client_assertion_type?': ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
};
const byCookie = ['@cookies', '@cookies', '@newcomer'];
const asClient = { form: clientCredentials, authorization: ['@basic', '@basic', '@basic', '@machine', '@disabled'] };
const asUser = {
  authorization: ['@bearer access_token', '@bearer handle', '@bearer code', '@basic', '@dpop access_token'],
};
const ofUser = { path: { sub: ['me', '@sub'] }, ...asUser };

const clientData = Buffer.from('{"type":"webauthn.create","challenge":"AAAA","origin":"http://localhost"}');
const madePasskey = JSON.stringify({
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: clientData.toString('base64url'), attestationObject: 'oA', transports: ['usb'] },
});

const usedPasskey = JSON.stringify({
  id: 'AAAA',
  rawId: 'AAAA',
  type: 'public-key',
  response: { clientDataJSON: clientData.toString('base64url'), authenticatorData: 'AAAA', signature: 'AAAA' },
});
const secondStep = { 'transaction?': ['@transaction /login'], 'destination?': ['data'] };

const readOnly: Route = { statuses: [200] };

const auditFilter = {
  'type?': ['user.signed_in', 'token.issued'],
  'outcome?': ['failure'],
  'actor?': ['@sub', 'service'],
  'user?': ['@sub'],
  'client?': ['@client_id'],
  'address?': ['127.0.0.1'],
  'since?': ['2026-01-01T00:00'],
  'until?': ['2030-01-01T00:00:00Z'],
};

/** Stylesheets and scripts, each under its digest. */
const assetRoutes = Object.fromEntries(
  [...createPages({ basePath: '' }).assets.values()].flatMap(({ path }) => {
    const [digest = ''] = /[0-9a-f]{16}/.exec(path) ?? [];
    const route: Route = { path: { '*': [digest] }, statuses: [200] };
    return ['GET', 'HEAD'].map((method) => [`${method} ${path.replace(digest, '*')}`, route] as const);
  }),
);

export const routes: Record<string, Route> = {
  ...adminRoutes,
  ...assetRoutes,
  'DELETE /register/:clientId': {
    path: { clientId: ['@victim'] },
    authorization: ['@registration'],
    statuses: [204, 401],
  },
  'GET /': { cookies: byCookie, statuses: [303] },
  'GET /.well-known/oauth-authorization-server': readOnly,
  'GET /.well-known/oauth-protected-resource': readOnly,
  'GET /.well-known/oauth-protected-resource/admin/api': readOnly,
  'GET /.well-known/oauth-protected-resource/user/info': readOnly,
  'GET /.well-known/openid-configuration': readOnly,
  'GET /.well-known/webfinger': { query: { resource: ['acct:ada@example.com'], 'rel?': ['x'] }, statuses: [404] },
  'GET /access-denied': {
    query: { 'client_id?': ['@client_id', '@disabled_id'], 'transaction?': ['@transaction /access-denied'] },
    cookies: byCookie,
    statuses: [302, 303, 403, 409],
  },
  'GET /account': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/email': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/email/confirm': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /account/email/stop': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /account/passkeys': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/requests': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/applications': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/data': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/delete': { cookies: byCookie, statuses: [303, 403, 404] },
  'GET /account/start': { query: { 'q?': ['har', '%'] }, cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/profile': { query: { 'done?': ['profile-saved'] }, cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/profile/edit': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/security': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/sessions': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/authenticator': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /account/second-factors': {
    query: { 'done?': ['added', 'removed'] },
    cookies: byCookie,
    statuses: [200, 303, 403],
  },
  'GET /account/password': { cookies: byCookie, statuses: [200, 303, 403] },
  'GET /admin': {
    query: { 'done?': ['saved'], 'period?': ['day', 'month'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/appearance': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'POST /admin/appearance': {
    form: { csrf: ['x'], 'act?': ['preview'], 'product_name?': ['Harbour ID'], 'logo?': ['AAAA'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'GET /admin/settings': {
    query: { 'q?': ['port'], 'group?': ['lifetimes', 'all'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'POST /admin/take-over': {
    form: { csrf: ['x'], section: ['groups'], key: ['staff'], back: ['/admin/groups/staff'], 'typed?': ['staff'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/checklist/backup': { form: { csrf: ['x'] }, cookies: byAdministrator, statuses: [303, 403] },
  'POST /admin/settings/test-mail': { form: { csrf: ['x'] }, cookies: byAdministrator, statuses: [303, 403] },
  'GET /assets/brand/:file': {
    path: { file: ['preview.css', 'preview.0c4a43.css', 'logo.png'] },
    statuses: [200, 404],
  },
  'GET /assets/images/:file': { path: { file: ['AbCdEfGhIjKlMnOpQrStUv.png', 'a.svg'] }, statuses: [404] },
  'HEAD /assets/images/:file': { path: { file: ['AbCdEfGhIjKlMnOpQrStUv.png', 'a.svg'] }, statuses: [404] },
  'HEAD /assets/brand/:file': { path: { file: ['preview.css', 'logo.png'] }, statuses: [200, 404] },
  'GET /admin/audit': {
    query: { ...auditFilter, 'before?': ['9', 'token-1-0123456789abcdef'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/audit/:id': { path: { id: ['1', '2'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
  'POST /admin/audit/export': {
    form: { ...auditFilter, 'format?': ['csv', 'jsonl'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/clients': {
    query: {
      'q?': ["o'h\\ & :* !(", 'harb'],
      'status?': ['enabled'],
      'registered?': ['false'],
      'order?': ['oldest'],
      'cursor?': ['@cursor'],
      'waiting?': ['true'],
    },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  ...Object.fromEntries(
    ['GET', 'POST'].flatMap((method) =>
      [
        'new',
        'new/:kind',
        'waiting',
        'decide',
        ':id',
        ':id/edit',
        ':id/secrets',
        ':id/disable',
        ':id/delete',
        ':id/look-alikes',
      ]
        .filter((path) =>
          method === 'GET' ? !['decide', ':id/look-alikes'].includes(path) : !['new', 'waiting', ':id'].includes(path),
        )
        .map((path): [string, Route] => [
          `${method} /admin/clients/${path}`,
          {
            ...(path.startsWith(':id') && { path: { id: ['@victim', '@client_id'] } }),
            ...(path === 'new/:kind' && { path: { kind: ['web', 'spa', 'native', 'machine'] } }),
            ...(path === 'waiting' && { query: { 'cursor?': ['@cursor'] } }),
            ...(method === 'POST' && {
              form: {
                csrf: ['none'],
                shown: ['harbour 1'],
                version: ['1'],
                decision: ['approve', 'refuse'],
                'typed?': ['Harbour'],
                'name?': ['Harbour'],
                'other?': ['@client_id'],
                'other_name?': ['Pier'],
                'from?': ['client', 'entry'],
                'client_name?': ['Harbour'],
              },
            }),
            cookies: byAdministrator,
            statuses: [200, 303, 403, 404, 409],
          },
        ]),
    ),
  ),
  'GET /admin/callback': {
    query: { code: ['@code'], state: ['abc'], iss: ['https://id.example.com'] },
    cookies: byAdministrator,
    statuses: [403],
  },
  'GET /admin/try-it': {
    query: { 'client_id?': ['@client_id'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/try-it/callback': {
    query: { code: ['@code'], state: ['abc'], iss: ['https://id.example.com'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'GET /admin/keys': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'GET /admin/keys/rotate': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'GET /admin/keys/withdraw': { query: { kid: ['x'] }, cookies: byAdministrator, statuses: [303, 403, 404, 409] },
  'GET /admin/sessions': {
    query: { 'user?': ['@sub'], 'address?': ['127.0.0.1', '::1'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/sessions/end': { query: { sub: ['@sub'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
  'GET /admin/take-over': {
    query: { section: ['groups'], key: ['staff'], back: ['/admin/groups/staff'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/search': {
    query: { 'q?': ['ada', 'staff', '@sub'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/pick/:noun': {
    path: { noun: ['users', 'groups', 'clients', 'connections', 'attributes', 'scopes', 'resources'] },
    query: { 'q?': ['ada', 'staff'] },
    cookies: byAdministrator,
    statuses: [200, 403],
  },
  'GET /admin/why/:reference': {
    path: { reference: ['0a1b2c3d'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/users/:sub/access': {
    path: { sub: ['@sub'] },
    query: { 'client?': ['@client_id', 'Harbour'], 'address?': ['192.0.2.1'] },
    cookies: byAdministrator,
    statuses: [200, 303, 400, 403, 404],
  },
  'GET /admin/groups': {
    query: { 'q?': ['staff'], 'cursor?': ['x'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/groups/:name': {
    path: { name: ['staff'] },
    query: { 'q?': ['ada'], 'cursor?': ['x'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/groups/:name/edit': {
    path: { name: ['staff'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/groups/:name/delete': {
    path: { name: ['staff'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/groups/:name/members': {
    path: { name: ['staff'] },
    form: { 'users?': ['ada', '@sub'], 'remove?': ['@sub'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'POST /admin/groups/:name/edit': {
    path: { name: ['staff'] },
    form: { name: ['staff'], description: ['Who works here'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'POST /admin/groups/:name/delete': {
    path: { name: ['staff'] },
    form: { typed: ['staff'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'GET /account/connections': { cookies: byCookie, statuses: [200, 303, 403] },
  'POST /account/connections': {
    form: { csrf: ['@csrf /account/connections'], act: ['begin', 'confirm', 'leave', 'remove'], connection: ['none'] },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  'GET /admin/connections': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'GET /admin/connections/new': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'GET /admin/connections/:id': { path: { id: ['none'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
  'GET /admin/connections/:id/edit': {
    path: { id: ['none'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/connections/:id/delete': {
    path: { id: ['none'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'GET /admin/connections/new/:type': {
    path: { type: ['oidc', 'oauth', 'google', 'microsoft', 'github', 'apple'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/connections/new/:type': {
    // saving one of the others asks its provider
    path: { type: ['oidc', 'oauth', 'github', 'none'] },
    form: {
      csrf: ['@csrf /admin/connections/new/oidc'],
      id: ['honest'],
      display_name: ['Honest'],
      client_id: ['x'],
      'tenants?': ['common', '11111111-1111-4111-8111-111111111111'],
      'organizations?': ['a b'],
      'base?': ['x'],

      'team_id?': ['TEAM000001'],
      'key_id?': ['KEY0000001'],
      'subject_claim?': ['a.b'],
      'graph_groups?': ['true'],
      'issuer?': ['http://127.0.0.1:1'],
      'status?': ['enabled'],
      'linking?': ['ask'],
      'provisioning?': ['off'],
      'authoritative_domains?': ['corp.example'],
      'secret?': ['secret'],
    },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'POST /admin/connections/:id/edit': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/edit'], display_name: ['Honest'], version: ['1'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  ...Object.fromEntries(
    (['secrets', 'secrets/remove', 'replay'] as const).map((act) => [
      `POST /admin/webhooks/:webhook/${act}`,
      {
        path: { webhook: ['none'] },
        form: {
          csrf: [`@csrf /admin/webhooks/none/${act}`],
          ...(act === 'secrets/remove' && { secret: ['secret'] }),
          ...(act === 'replay' && { event: ['1'] }),
        },
        cookies: byAdministrator,
        statuses: [200, 303, 400, 403, 404, 409],
      },
    ]),
  ),
  ...Object.fromEntries(
    ['tokens', 'tokens/remove'].map((act) => [
      `POST /admin/scim-sources/:scim_source/${act}`,
      {
        path: { scim_source: ['none'] },
        form: {
          csrf: [`@csrf /admin/scim-sources/none/${act}`],
          ...(act === 'tokens/remove' && { token: ['none'] }),
        },
        cookies: byAdministrator,
        statuses: [200, 303, 400, 403, 404, 409],
      },
    ]),
  ),
  ...Object.fromEntries(
    ['approve', 'reconcile'].map((act) => [
      `POST /admin/provisioning-targets/:provisioning_target/${act}`,
      {
        path: { provisioning_target: ['none'] },
        form: {
          csrf: [`@csrf /admin/provisioning-targets/none/${act}`],
          ...(act === 'approve' && { leaving: ['0', '-1', 'x'] }),
        },
        cookies: byAdministrator,
        statuses: [303, 400, 403, 404, 409],
      },
    ]),
  ),
  'GET /admin/connections/:id/word-confirmations': {
    path: { id: ['none'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/connections/:id/word-confirmations': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/word-confirmations'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'POST /admin/connections/:id/delete': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/delete'], 'typed?': ['none'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/connections/new/directory': { cookies: byAdministrator, statuses: [200, 303, 403] },
  ...Object.fromEntries(
    ['directory', 'directory/edit'].map((page) => [
      `GET /admin/connections/:id/${page}`,
      { path: { id: ['none'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
    ]),
  ),
  'POST /admin/connections/new/directory': {
    form: {
      csrf: ['@csrf /admin/connections/new/directory'],
      id: ['ldap'],
      display_name: ['LDAP'],
      bind_dn: ['cn=x'],
      url: ['ldaps://127.0.0.1:1'],
      base: ['dc=example'],
      preset: ['openldap'],
      'import?': ['60'],
      'status?': ['disabled'],
      'linking?': ['ask'],
      'provisioning?': ['on'],
      'secret?': ['secret'],
    },
    cookies: byAdministrator,
    statuses: [303, 400, 403],
  },
  'POST /admin/connections/:id/directory/edit': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/directory/edit'], display_name: ['LDAP'], version: ['1'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'POST /admin/connections/:id/directory/test': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/directory/test'] },
    cookies: byAdministrator,
    statuses: [200, 303, 400, 403, 404],
  },
  'POST /admin/connections/:id/metadata': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /admin/connections/none/metadata'], 'digest?': ['abc'] },
    cookies: byAdministrator,
    statuses: [200, 303, 400, 403, 404],
  },
  'POST /admin/connections/:id/directory/import': {
    path: { id: ['none'] },
    form: {
      csrf: ['@csrf /admin/connections/none/directory/import'],
      act: ['start', 'full', 'approve'],
      'disabled?': ['7'],
    },
    cookies: byAdministrator,
    statuses: [200, 303, 400, 403, 404],
  },
  'GET /connections/:id': {
    path: { id: ['none'] },
    query: { transaction: ['@transaction /login'] },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  'GET /connections/:id/callback': {
    path: { id: ['none'] },
    query: { state: ['abc'], 'code?': ['abc'], 'iss?': ['https://id.example'], 'error?': ['access_denied'] },
    cookies: byCookie,
    statuses: [400, 403, 429],
  },
  'POST /connections/:id/callback': {
    path: { id: ['none'] },
    form: { 'state?': ['abc'], 'code?': ['abc'], 'iss?': ['https://id.example'], 'user?': ['{"name":{}}'] },
    statuses: [303, 400, 429],
  },
  'GET /connections/:id/continue': {
    path: { id: ['none'] },
    query: { 'answer?': ['abc'] },
    cookies: byCookie,
    statuses: [400, 403],
  },
  'POST /connections/:id/backchannel-logout': {
    path: { id: ['none'] },
    form: { logout_token: ['data'] },
    statuses: [400, 413, 415, 429],
  },
  'GET /connections/:id/frontchannel-logout': {
    path: { id: ['none'] },
    query: { iss: ['https://op.example'], sid: ['data'] },
    statuses: [400, 429],
  },
  'GET /connections/:id/signed-out': {
    path: { id: ['none'] },
    query: { 'state?': ['data'] },
    statuses: [200, 400, 403],
  },
  'GET /connections/:id/saml/metadata': { path: { id: ['none'] }, statuses: [400, 404] },
  'POST /connections/:id/saml/acs': {
    path: { id: ['none'] },
    form: { SAMLResponse: ['PGEvPg=='], 'RelayState?': ['abc'] },
    statuses: [303, 400, 413, 415, 429],
  },
  'GET /connections/:id/saml/logout': {
    path: { id: ['none'] },
    query: { SAMLRequest: ['PGEvPg=='], 'RelayState?': ['abc'] },
    statuses: [400, 404, 429],
  },
  'POST /connections/:id/saml/logout': {
    path: { id: ['none'] },
    form: { SAMLRequest: ['PGEvPg=='], 'RelayState?': ['abc'] },
    statuses: [400, 404, 413, 415, 429],
  },
  'GET /connections/:id/jwks': { path: { id: ['none'] }, statuses: [400, 404] },
  'POST /connections/:id': {
    path: { id: ['none'] },
    form: { csrf: ['@csrf /connections/none'], 'transaction?': ['@transaction /login'], 'destination?': ['data'] },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  'GET /login/connect': { cookies: byCookie, statuses: [400, 403] },
  'POST /login/connect': { form: { csrf: ['@csrf /login/connect'] }, cookies: byCookie, statuses: [400, 403] },
  'GET /login/directory': { cookies: byCookie, statuses: [400, 403] },
  'GET /login/name': { cookies: byCookie, statuses: [400, 403] },
  'POST /login/name': {
    form: { csrf: ['@csrf /login/name'], username: ['ada'] },
    cookies: byCookie,
    statuses: [400, 403],
  },
  'GET /admin/clients/:id/rules/:member/new': {
    path: { id: ['@client_id'], member: ['claim_rules', 'none'] },
    query: { 'kind?': ['groups', 'none'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/clients/:id/rules/:member/new': {
    path: { id: ['@client_id'], member: ['claim_rules', 'none'] },
    query: { 'kind?': ['groups', 'constant', 'none'] },
    form: {
      'claim?': ['dept', 'sub'],
      'prefix?': ['a-'],
      'one_of?': ['a'],
      'value?': ['x'],
      'map?': ['a=b'],
      'into.1?': ['true'],
    },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/clients/:id/rules/:member/:rule': {
    path: { id: ['@client_id'], member: ['claim_rules', 'none'], rule: ['none'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'POST /admin/clients/:id/rules/:member/:rule': {
    path: { id: ['@client_id'], member: ['claim_rules'], rule: ['none'] },
    query: { 'kind?': ['groups', 'none'] },
    form: { 'claim?': ['dept'], 'into.1?': ['true'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404, 409],
  },
  'POST /admin/clients/:id/rules/:member': {
    path: { id: ['@client_id'], member: ['claim_rules', 'none'] },
    form: { 'remove?': ['none'], 'up?': ['none'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/connections/:id/rules/:member/new': {
    path: { id: ['none'], member: ['group_rules', 'claim_rules'] },
    query: { 'kind?': ['equals', 'all'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/connections/:id/rules/:member/new': {
    path: { id: ['none'], member: ['group_rules', 'claim_rules'] },
    query: { 'kind?': ['equals', 'all', 'value'] },
    form: { 'equals?': ['a'], 'group?': ['b'], 'prefix?': ['x'], 'to?': ['name'], 'from?': ['a.b'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/connections/:id/rules/:member/:rule': {
    path: { id: ['none'], member: ['group_rules'], rule: ['none'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'POST /admin/connections/:id/rules/:member/:rule': {
    path: { id: ['none'], member: ['group_rules'], rule: ['none'] },
    query: { 'kind?': ['equals'] },
    form: { 'equals?': ['a'], 'group?': ['b'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404, 409],
  },
  'POST /admin/connections/:id/rules/:member': {
    path: { id: ['none'], member: ['group_rules', 'claim_rules'] },
    form: { 'remove?': ['none'], 'up?': ['none'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/clients/:id/claims': {
    path: { id: ['@client_id'] },
    query: { 'user?': ['ada', 'nobody'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/clients/:id/claims': {
    path: { id: ['@client_id'] },
    form: {
      act: ['role-add', 'role-give', 'role-take', 'scope-give'],
      'name?': ['admin'],
      'role?': ['admin'],
      'group?': ['staff'],
    },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'GET /admin/users': {
    query: { 'q?': ['ada'], 'group?': ['staff'], 'status?': ['enabled'], 'admin?': ['true'], 'order?': ['name'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/users/:sub': { path: { sub: ['@sub'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
  'POST /admin/groups': {
    form: { name: ['crew'], description: ['On board'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/users/:sub': {
    path: { sub: ['@sub'] },
    form: { act: ['enable', 'join', 'leave', 'withdraw'], 'group?': ['staff'], 'client_id?': ['@client_id'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'GET /admin/users/import': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'POST /admin/users/import': {
    form: {
      id: ['7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c11'],
      users: ['username\nfuzzed'],
      'act?': ['check', 'import'],
      'update?': ['true'],
    },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 409, 413],
  },
  'GET /admin/users/import/:id': {
    path: { id: ['7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c11'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404],
  },
  'GET /admin/users/export': {
    query: { 'q?': ['ada'], 'group?': ['staff'], 'status?': ['enabled'], 'admin?': ['true'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'POST /admin/users/export': {
    form: {
      'format?': ['csv', 'jsonl'],
      'q?': ['ada'],
      'group?': ['staff'],
      'status?': ['enabled'],
      'admin?': ['true'],
    },
    cookies: byAdministrator,
    statuses: [200, 303, 403],
  },
  'GET /admin/users/new': { cookies: byAdministrator, statuses: [200, 303, 403] },
  'POST /admin/users/new': {
    form: { sub: ['7b1c7a0e-4f6a-4f0e-9a53-0d6a5a0f1c11'], username: ['ada'], 'email?': ['ada@example.com'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 409],
  },
  'GET /admin/users/:sub/edit': { path: { sub: ['@sub'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
  'POST /admin/users/:sub/edit': {
    path: { sub: ['@sub'] },
    form: { version: ['1'], username: ['ada'], 'birthdate?': ['1815'], 'locality?': ['London'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404, 409],
  },
  'GET /admin/users/:sub/password': {
    path: { sub: ['@sub'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/users/:sub/password': {
    path: { sub: ['@sub'] },
    form: { act: ['link', 'set'], 'lifetime?': ['3600'], 'new_password?': ['a few words of no sense'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404, 409],
  },
  'GET /admin/users/:sub/connections': {
    path: { sub: ['@sub'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/users/:sub/connections': {
    path: { sub: ['@sub'] },
    form: { act: ['remove', 'mark', 'unmark'], 'connection?': ['none'] },
    cookies: byAdministrator,
    statuses: [303, 400, 403, 404],
  },
  'GET /admin/users/:sub/second-factors/remove': {
    path: { sub: ['@sub'] },
    query: { 'id?': ['x'] },
    cookies: byAdministrator,
    statuses: [200, 303, 403, 404],
  },
  'POST /admin/users/:sub/second-factors/remove': {
    path: { sub: ['@sub'] },
    form: { 'id?': ['x'] },
    cookies: byAdministrator,
    statuses: [303, 403, 404, 409],
  },
  ...Object.fromEntries(
    ['delete', 'disable', 'make-admin', 'no-admin'].flatMap((operation): [string, Route][] => [
      [
        `GET /admin/users/:sub/${operation}`,
        { path: { sub: ['@sub'] }, cookies: byAdministrator, statuses: [200, 303, 403, 404] },
      ],
      [
        `POST /admin/users/:sub/${operation}`,
        { path: { sub: ['@sub'] }, form: { 'typed?': ['ada'] }, cookies: byAdministrator, statuses: [303, 403, 404] },
      ],
    ]),
  ),
  'GET /admin/registration': {
    query: { verification_code: ['@verification_code', 'BCDF-GHJK'] },
    cookies: ['@reviewer', '@reviewer', '@cookies'],
    statuses: [200, 303, 403],
  },
  'GET /device': {
    query: { 'user_code?': ['@user_code', 'BCDF-GHJK'] },
    cookies: byCookie,
    statuses: [200, 303, 403],
  },
  'GET /authenticate': {
    query: { ...authorizationRequest, 'code_challenge?': ['@challenge'], 'code_challenge_method?': ['S256'] },
    cookies: byCookie,
    statuses: [200, 302, 303, 403, 409],
  },
  'GET /authorize': {
    query: {
      ...authorizationRequest,
      ...moreOfAuthorization,
      // the address of a document that cannot be fetched
      client_id: [...authorizationRequest.client_id, 'https://127.0.0.1:1/client.json'],
    },
    cookies: byCookie,
    statuses: [200, 302, 303, 400, 403, 409],
  },
  // the sender is no proxy of a site
  'GET /.gatehouse/callback': {
    query: { code: ['@code'], state: ['abc'], 'error?': ['access_denied'] },
    statuses: [403],
  },
  'GET /.gatehouse/sign-out': { statuses: [403] },
  'GET /forward-auth/caddy': { statuses: [403] },
  'GET /forward-auth/nginx': { statuses: [403] },
  'GET /forward-auth/traefik': { statuses: [403] },
  ...Object.fromEntries(
    ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'].flatMap((method) => [
      [`${method} /forward-auth/envoy/`, { statuses: [403] }],
      [`${method} /forward-auth/envoy/*`, { path: { '*': ['page', 'page?a=1'] }, statuses: [403] }],
    ]),
  ),
  'GET /forward-auth/expired': { cookies: byCookie, statuses: [303, 403] },
  'GET /forward-auth/signed-out': { query: { 'client_id?': ['@client_id'] }, cookies: byCookie, statuses: [200, 403] },
  'GET /check-session': readOnly,
  'GET /consent': {
    query: { transaction: ['@transaction /consent'] },
    cookies: byCookie,
    statuses: [200, 302, 303, 403, 409],
  },
  'GET /end-session': { query: { request: ['@end_session'] }, cookies: byCookie, statuses: [302, 401, 403] },
  'GET /error': { statuses: [400] },
  'GET /errors': readOnly,
  'GET /health/live': readOnly,
  'GET /openapi.json': readOnly,
  'GET /health/ready': readOnly,
  'GET /jwks': readOnly,
  'GET /login': {
    query: {
      transaction: ['@transaction /login'],
      'problem?': ['client', 'expired'],
      'destination?': ['admin-registration'],
      'account?': ['@sub', 'other'],
      'locale?': ['de', 'xx'],
    },
    cookies: ['@newcomer', '@newcomer', '@cookies'],
    statuses: [200, 403],
  },
  'GET /login/accounts': { query: secondStep, cookies: ['@newcomer', '@cookies'], statuses: [200, 303, 403] },
  'GET /login/authenticator': { query: secondStep, cookies: ['@newcomer', '@cookies'], statuses: [200, 303, 403] },
  'GET /login/second-factor': { query: secondStep, cookies: ['@newcomer', '@cookies'], statuses: [200, 303, 403] },
  'GET /saml/logout': {
    query: { SAMLRequest: ['fVJNT8Mw'], 'RelayState?': ['abc'], 'SigAlg?': ['x'], 'Signature?': ['AAAA'] },
    cookies: byCookie,
    statuses: [400, 403, 413],
  },
  'GET /saml/metadata': { statuses: [200] },
  'GET /saml/sso': {
    query: { 'SAMLRequest?': ['fVJNT8Mw'], 'RelayState?': ['abc'], 'sealed?': ['AAAA'] },
    cookies: byCookie,
    statuses: [303, 403, 413],
  },
  'GET /saml/start/:client_id': {
    path: { client_id: ['@client_id', 'none'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /saml/logout': {
    form: { SAMLRequest: ['PHg+'], 'RelayState?': ['abc'] },
    cookies: byCookie,
    statuses: [400, 403, 413],
  },
  'POST /saml/sso': {
    form: { SAMLRequest: ['PHg+'], 'RelayState?': ['abc'] },
    cookies: byCookie,
    statuses: [303, 403, 413],
  },
  'GET /logout': {
    query: {
      id_token_hint: ['@id_token'],
      'id-token-hint?': ['@id_token'],
      post_logout_redirect_uri: ['https://rp.example.com/signed-out'],
      client_id: ['@client_id'],
      state: ['abc'],
      ui_locales: ['de'],
    },
    cookies: byCookie,
    statuses: [200, 302, 303, 403],
  },
  'GET /logout/ended': {
    query: {
      client_id: ['@client_id'],
      'post_logout_redirect_uri?': ['https://rp.example.com/signed-out'],
      'state?': ['abc'],
      'ui_locales?': ['de'],
    },
    cookies: byCookie,
    statuses: [200, 303, 403],
  },
  'GET /metrics': { authorization: ['@admin', '@bearer access_token'], statuses: [200, 401, 403] },
  'GET /password/forgotten': { cookies: byCookie, statuses: [200, 403] },
  'GET /invitation': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /password/reset': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /sign-up': { query: { 'transaction?': ['@transaction /login'] }, cookies: byCookie, statuses: [200, 403] },
  'GET /sign-up/complete': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /sign-up/link': { query: { token: ['@sign_up_link'] }, cookies: byCookie, statuses: [200, 403, 410] },
  'GET /sign-up/link/complete': { query: { token: ['@mailed_link'] }, cookies: byCookie, statuses: [403, 410] },
  'GET /register/:clientId': {
    path: { clientId: ['@victim'] },
    authorization: ['@registration'],
    statuses: [200, 401],
  },
  'GET /user/:sub/address': { ...ofUser, statuses: [200, 401, 403] },
  'GET /user/:sub/info': { ...ofUser, proof: ['@proof GET /user/me/info'], statuses: [200, 401, 403] },
  'GET /user/:sub/scope': { ...ofUser, statuses: [200, 401, 403] },
  'GET /user/:sub/connections/:id/token': {
    ...ofUser,
    path: { ...ofUser.path, id: ['none'] },
    statuses: [400, 401, 403, 404],
  },
  'GET /user/:sub/settings': { ...ofUser, statuses: [200, 401, 403] },
  'GET /user/info': { ...asUser, proof: ['@proof GET /user/info'], statuses: [200, 401, 403] },
  'HEAD /.well-known/oauth-authorization-server': readOnly,
  'HEAD /.well-known/oauth-protected-resource': readOnly,
  'HEAD /.well-known/oauth-protected-resource/admin/api': readOnly,
  'HEAD /.well-known/oauth-protected-resource/user/info': readOnly,
  'HEAD /.well-known/openid-configuration': readOnly,
  'HEAD /.well-known/webfinger': { query: { resource: ['acct:ada@example.com'], 'rel?': ['x'] }, statuses: [404] },
  'HEAD /': { cookies: byCookie, statuses: [303] },
  'HEAD /account': { cookies: byCookie, statuses: [303, 403] },
  'HEAD /admin': { cookies: byAdministrator, statuses: [303, 403] },
  'HEAD /login': {
    query: { transaction: ['@transaction /login'], 'problem?': ['client', 'expired'] },
    cookies: byCookie,
    statuses: [200, 400, 403],
  },
  'HEAD /health/live': readOnly,
  'HEAD /openapi.json': readOnly,
  'HEAD /health/ready': readOnly,
  'HEAD /jwks': readOnly,
  'OPTIONS *': { path: { '*': ['token', 'login', 'user/info', 'nowhere'] }, statuses: [204] },
  'POST /account': {
    form: { csrf: ['@csrf /account'], withdraw: ['@client_id'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  // the token is one of another form: no round may change how the shared account signs in
  'POST /account/authenticator': {
    form: { csrf: ['@csrf /account'], set_up: ['A'.repeat(200)], code: ['123456'], name: ['telephone'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/recovery-codes': { form: { csrf: ['@csrf /account'] }, cookies: byCookie, statuses: [303, 403] },
  'POST /account/second-factors': {
    form: { csrf: ['@csrf /account'], remove: ['none'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/data': { form: { csrf: ['@csrf /account/data'] }, cookies: byCookie, statuses: [200, 303, 403] },
  'POST /account/email': {
    form: { csrf: ['@csrf /account/email'], email: ['ada@example.com'] },
    cookies: byCookie,
    statuses: [200, 303, 403, 429],
  },
  'POST /account/email/confirm': {
    form: { csrf: ['@csrf /account/email'], token: ['@mailed_link'] },
    cookies: byCookie,
    statuses: [303, 403, 410],
  },
  'POST /account/email/stop': {
    form: { csrf: ['@csrf /account/email'], token: ['@mailed_link'] },
    cookies: byCookie,
    statuses: [303, 403, 410],
  },
  'POST /account/email/verification': {
    form: { csrf: ['@csrf /account/email/verification'] },
    cookies: byCookie,
    statuses: [200, 303, 403, 429],
  },
  'POST /password/forgotten': {
    form: { csrf: ['@csrf /password/forgotten'], login: ['@username', 'nobody'] },
    cookies: byCookie,
    statuses: [200, 403, 429],
  },
  'POST /password/reset': {
    // the token is one of another form: no round may change the password of the shared account
    form: { csrf: ['@csrf /account'], token: ['@mailed_link'], new_password: ['x9 y8 z7 w6 v5'] },
    cookies: byCookie,
    statuses: [403, 410],
  },
  'POST /invitation': {
    form: {
      csrf: ['@csrf /account'],
      token: ['@mailed_link'],
      'new_password?': ['x9 y8 z7 w6 v5'],
      'credential?': ['{}'],
    },
    cookies: byCookie,
    statuses: [403, 410],
  },
  'POST /sign-up': {
    form: { csrf: ['@csrf /sign-up'], email: ['new@example.com'] },
    cookies: byCookie,
    statuses: [200, 403, 429],
  },
  'POST /sign-up/complete': {
    form: {
      csrf: ['@csrf /sign-up'],
      token: ['@mailed_link'],
      username: ['new'],
      'name?': ['Ada'],
      'act?': ['password', 'passkey'],
      'handle?': ['AAAA'],
      new_password: ['x9 y8 z7 w6 v5'],
    },
    cookies: byCookie,
    statuses: [403, 410],
  },
  'POST /sign-up/link': {
    form: { csrf: ['@csrf /sign-up/link'], token: ['@sign_up_link'], email: ['new@example.com'] },
    cookies: byCookie,
    statuses: [200, 403, 410, 429],
  },
  'POST /sign-up/link/complete': {
    form: {
      csrf: ['@csrf /sign-up/link'],
      token: ['@mailed_link'],
      username: ['new'],
      new_password: ['x9 y8 z7 w6 v5'],
    },
    cookies: byCookie,
    statuses: [403, 410],
  },
  'POST /account/other-sessions': {
    // the token is one of another form: no round may end what the others use
    form: { csrf: ['@csrf /account'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/all-sessions': {
    form: { csrf: ['@csrf /account'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/sessions': {
    form: { csrf: ['@csrf /account/sessions'], end: ['none'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /admin/try-it/begin': {
    form: { csrf: ['@csrf /account'], client_id: ['@client_id'], 'scope?': ['openid'], 'max_age?': ['60'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/try-it/redeem': {
    form: { csrf: ['@csrf /account'], client_secret: ['@client_secret'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/try-it/redirect-uri': {
    form: { csrf: ['@csrf /account'], client_id: ['@client_id'], change: ['add', 'remove'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /account/passkeys': {
    form: { csrf: ['@csrf /account/passkeys'], credential: [madePasskey] },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  'POST /account/passkeys/remove': {
    form: { csrf: ['@csrf /account/passkeys/remove'], passkey: ['1'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/passkeys/rename': {
    form: { csrf: ['@csrf /account/passkeys/rename'], passkey: ['1'], 'name?': ['key'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /account/delete': {
    // the token is one of another form: no round may delete the shared account
    form: { csrf: ['@csrf /account'], username: ['nobody'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'GET /account/profile/picture': { cookies: byCookie, statuses: [200, 303, 403] },
  'POST /account/profile/picture': {
    form: { csrf: ['@csrf /account/profile/picture'], 'act?': ['save', 'remove'] },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  ...Object.fromEntries(
    ['users/:sub', 'clients/:id', 'connections/:id'].flatMap((owner) => {
      const path = owner.endsWith(':sub') ? { sub: ['@sub'] } : { id: ['@client_id', 'none'] };
      const route = { path, cookies: byAdministrator };
      return [
        [`GET /admin/${owner}/image`, { ...route, statuses: [200, 303, 403, 404] }],
        [
          `POST /admin/${owner}/image`,
          { ...route, form: { csrf: ['x'], 'act?': ['save', 'remove'] }, statuses: [303, 403, 404] },
        ],
      ];
    }),
  ),
  'POST /account/profile/edit': {
    form: {
      csrf: ['@csrf /account/profile/edit'],
      version: ['1'],
      'name?': ['Ada'],
      'birthdate?': ['1815-12-10', '1815', 'never'],
      'phone_number?': ['+44 20 7946 0958'],
      'website?': ['https://ada.example/'],
      'street_address?': ['1 Pier\r\nHarbour'],
      'country?': ['UK'],
      'locale?': ['en-GB', '--'],
      'zoneinfo?': ['Europe/London', 'Mars/Olympus'],
    },
    cookies: byCookie,
    statuses: [303, 400, 403],
  },
  'POST /account/password': {
    // the token is one of another form: no round may change the password of the shared account
    form: { csrf: ['@csrf /account'], current_password: ['not the password'], new_password: ['x9 y8 z7 w6 v5'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /admin/keys/rotate': {
    form: { csrf: ['x'], 'alg_EdDSA?': ['on'], 'immediate?': ['on'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/keys/saml': {
    form: { csrf: ['x'], act: ['create', 'activate', 'delete'], 'id?': ['x'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/keys/withdraw': {
    form: { csrf: ['x'], kid: ['x'], typed: ['x'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/sessions': { form: { csrf: ['x'], end: ['x'] }, cookies: byAdministrator, statuses: [303, 403] },
  'POST /admin/sessions/end': {
    form: { csrf: ['x'], sub: ['@sub'], 'typed?': ['ada'] },
    cookies: byAdministrator,
    statuses: [303, 403],
  },
  'POST /admin/registration': {
    form: {
      csrf: ['@review csrf'],
      verification_code: ['@review verification_code'],
      client_id: ['@review client_id'],
      version: ['@review version'],
      decision: ['approve', 'refuse'],
      reason: ['not now'],
    },
    cookies: ['@reviewer', '@reviewer', '@cookies'],
    statuses: [200, 303, 403, 409],
  },
  'POST /authenticate': {
    form: { csrf: ['@csrf /authenticate'], transaction: ['@transaction /authenticate'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /authorize': {
    query: { display: ['page'] },
    form: { ...authorizationRequest, ...moreOfAuthorization },
    cookies: byCookie,
    statuses: [200, 302, 303, 403, 409],
  },
  'POST /access-denied': {
    form: { csrf: ['@csrf /consent'], transaction: ['@transaction /access-denied'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /consent': {
    form: { csrf: ['@csrf /consent'], transaction: ['@transaction /consent'], decision: ['allow', 'deny'] },
    cookies: byCookie,
    statuses: [200, 303, 403],
  },
  'POST /introspect': {
    ...asClient,
    form: {
      token: ['@access_token', '@refresh_token', '@id_token', '@handle', '@code'],
      token_type_hint: ['access_token', 'pct', 'refresh_token'],
      ...clientCredentials,
    },
    statuses: [200, 401, 403],
  },
  'POST /language': { form: { shown: ['none'], locale: ['de', 'none'] }, statuses: [400, 403] },
  'POST /login/cancel': {
    form: { csrf: ['@csrf /login/cancel'], transaction: ['@transaction /login'] },
    cookies: ['@newcomer', '@cookies'],
    statuses: [303, 400, 403],
  },
  'POST /login': {
    form: {
      csrf: ['@csrf /login'],
      transaction: ['@transaction /login'],
      username: ['@username'],
      password: ['@password'],
      'destination?': ['admin-registration'],
    },
    cookies: ['@newcomer', '@newcomer', '@cookies'],
    statuses: [303, 403],
  },
  'GET /login/email': {
    query: { ...secondStep, 'problem?': ['missing', 'other'] },
    cookies: ['@newcomer', '@cookies'],
    statuses: [200, 303, 400, 403],
  },
  'POST /login/email': {
    form: { csrf: ['@csrf /login/email'], ...secondStep, 'login?': ['@username', 'nobody'], 'remember?': ['on'] },
    cookies: ['@newcomer', '@cookies'],
    statuses: [303, 400, 403, 429],
  },
  'GET /login/email/code': { query: secondStep, cookies: ['@newcomer', '@cookies'], statuses: [200, 303, 403] },
  'POST /login/email/code': {
    form: { csrf: ['@csrf /login/email/code'], ...secondStep, 'code?': ['BCDF-GHJK'] },
    cookies: ['@newcomer', '@cookies'],
    statuses: [303, 400, 403, 429],
  },
  'POST /login/accounts': {
    form: { csrf: ['@csrf /account'], ...secondStep, 'continue?': ['@sub'], 'remove?': ['@sub'] },
    cookies: byCookie,
    statuses: [303, 403],
  },
  'POST /login/passkey': {
    // the token is that of the other form: the page has one for each
    form: { csrf: ['@csrf /login'], transaction: ['@transaction /login'], credential: [usedPasskey] },
    cookies: ['@newcomer', '@newcomer', '@cookies'],
    statuses: [400, 403],
  },
  'POST /login/authenticator': {
    form: { csrf: ['@csrf /login'], ...secondStep, set_up: ['A'.repeat(200)], code: ['123456'], name: ['telephone'] },
    cookies: ['@newcomer', '@cookies'],
    statuses: [200, 303, 403],
  },
  'POST /login/user': {
    form: {
      csrf: ['@csrf /login/user'],
      'transaction?': ['@transaction /login'],
      username: ['ada', 'ada@corp.example'],
      'destination?': ['data'],
    },
    cookies: byCookie,
    statuses: [200, 400, 403],
  },
  'POST /login/second-factor': {
    form: {
      csrf: ['@csrf /login'],
      ...secondStep,
      'code?': ['123456'],
      'recovery_code?': ['ABCD-EFGH-JKLM-NPQR'],
      'credential?': [usedPasskey],
    },
    cookies: ['@newcomer', '@cookies'],
    statuses: [200, 303, 403],
  },
  'POST /logout': {
    form: {
      csrf: ['@csrf /logout'],
      decision: ['sign-out', 'stay'],
      id_token_hint: ['@id_token'],
      post_logout_redirect_uri: ['https://rp.example.com/signed-out'],
      client_id: ['@client_id'],
      state: ['abc'],
    },
    cookies: byCookie,
    statuses: [200, 302, 303, 403],
  },
  'POST /account/requests': {
    form: { csrf: ['@csrf /account/requests'], request: ['@backchannel_request'], decision: ['allow', 'deny'] },
    cookies: byCookie,
    statuses: [303, 403, 409],
  },
  'POST /account/requests/deny': {
    form: { csrf: ['@csrf /account/requests'], requests: ['@backchannel_request', ''] },
    cookies: byCookie,
    statuses: [303, 403, 409],
  },
  'POST /bc-authorize': {
    ...asClient,
    form: {
      scope: ['openid', 'openid email'],
      login_hint: ['nobody', 'ada'],
      'binding_message?': ['Pay 12.50', '<b>', 'https://example.com'],
      'requested_expiry?': ['30', '-1'],
      'acr_values?': ['urn:gatehouse:acr:mfa'],
      'user_code?': ['1234'],
      'resource?': ['https://api.example.com/'],
      ...clientCredentials,
    },
    proof: ['@proof POST /bc-authorize'],
    statuses: [200, 401, 403, 429],
  },
  'POST /device': {
    form: { csrf: ['@csrf /device'], user_code: ['@user_code'], decision: ['allow', 'deny'] },
    cookies: byCookie,
    statuses: [200, 303, 403, 409],
  },
  'POST /device_authorization': {
    ...asClient,
    form: { 'scope?': ['openid', 'openid email'], 'resource?': ['https://api.example.com/'], ...clientCredentials },
    proof: ['@proof POST /device_authorization'],
    statuses: [200, 401, 403, 429],
  },
  'POST /par': {
    ...asClient,
    form: { ...authorizationRequest, ...moreOfAuthorization, ...clientCredentials },
    proof: ['@proof POST /par'],
    statuses: [201, 401, 403],
  },
  'POST /register': {
    json: {
      ...metadata,
      registration_mode: [['approval']],
      registration_code: ['@registration_code'],
      cancel_registration: [false],
    },
    authorization: ['', '', '@registration', '@initial', '@victim_basic'],
    statuses: [200, 201, 202, 204, 401, 409, 429],
  },
  'POST /revoke': {
    ...asClient,
    form: {
      token: ['@access_token', '@refresh_token', '@code', '@handle'],
      token_type_hint: ['access_token'],
      ...clientCredentials,
    },
    statuses: [200, 401, 403],
  },
  'POST /revoke-user': {
    authorization: ['@admin', '@bearer access_token'],
    json: {
      sub_id: [{ format: 'email', email: 'nobody@example.com' }, { format: 'iss_sub', iss: 'x', sub: 'x' }, 'x'],
    },
    statuses: [400, 401, 403],
  },
  'POST /token': {
    ...asClient,
    form: {
      grant_type: [
        'authorization_code',
        'authorization_code',
        'refresh_token',
        'refresh_token',
        'client_credentials',
        deviceGrant,
        cibaGrant,
      ],
      'device_code?': ['@device_code'],
      'auth_req_id?': ['@auth_req_id'],
      code: ['@code'],
      redirect_uri: [uri],
      'code_verifier?': ['A'.repeat(43)],
      refresh_token: ['@refresh_token'],
      'scope?': ['openid', 'email'],
      'resource?': ['https://api.example.com/'],
      ...clientCredentials,
    },
    proof: ['@proof POST /token'],
    statuses: [200, 401],
  },
  'POST /user/:sub/info': { ...ofUser, form: {}, statuses: [200, 401, 403] },
  'POST /user/info': {
    ...asUser,
    form: { 'access_token?': ['@access_token'] },
    proof: ['@proof POST /user/info'],
    statuses: [200, 401, 403],
  },
  'PUT /register/:clientId': {
    path: { clientId: ['@victim'] },
    authorization: ['@registration'],
    json: { client_id: ['@victim'], 'client_secret?': ['@victim_secret'], ...metadata },
    statuses: [200, 401, 409],
  },
  ...scimRoutes,
  'PUT /user/:sub/settings': {
    ...ofUser,
    json: { settings: [{ theme: 'dark' }, { theme: null }, { a: { b: [1, 2] } }, {}] },
    statuses: [200, 401, 403, 412],
  },
};
