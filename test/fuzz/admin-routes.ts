// Lists the admin routes with valid values of their parameters, and the statuses that each may answer.
import { metadata, type Route } from './route.ts';

const page = { limit: ['1', '200'], 'cursor?': ['@cursor'] };
const administrated = {
  ...metadata,
  'status?': ['enabled', 'disabled'],
  'version?': [1, 2],
  'first_party?': [true],
  'required_acr?': ['urn:gatehouse:acr:password', null],
  'access?': ['everyone', 'groups'],
  'access_groups?': [['staff'], []],
  'connections?': [['nowhere'], []],
  'networks?': [['192.0.2.0/24', '::1'], []],
  'start_uri?': ['https://rp.example.com/start', null],
  'start_hidden?': [true],
  'access_token_lifetime?': [60],
};
const user = {
  'email?': ['ada@example.com', null],
  'email_verified?': [true],
  'password?': ['correct horse battery staple'],
  groups: [['staff'], []],
  admin: [false],
  claims: [{ name: 'Ada', address: { country: 'NL' } }, { name: null }],
};
const asAdmin = { authorization: ['@admin'] };
const victim = { path: { id: ['@victim'] }, ...asAdmin };
const person = { path: { sub: ['@sub'] }, ...asAdmin };
const group = { path: { name: ['staff', 'crew'] }, ...asAdmin };
const admin = (status: number, rest: Omit<Route, 'statuses'> = {}): Route => ({
  ...asAdmin,
  ...rest,
  statuses: [status, 401, 404, 409],
});

const auditFilter = {
  'outcome?': ['success', 'failure'],
  'address?': ['127.0.0.1'],
  'client_id?': ['@client_id'],
  'sub?': ['@sub'],
  'since?': ['2026-01-01T00:00:00Z'],
  'until?': ['9999-12-31T23:59:59+14:00'],
};

export const adminRoutes: Record<string, Route> = {
  'DELETE /admin/api/scopes/:scope': admin(204, { path: { scope: ['staff'] } }),
  'DELETE /admin/api/clients/:id/roles/:role': admin(204, { path: { ...victim.path, role: ['admin'] } }),
  'GET /admin/api/scopes': admin(200),
  'GET /admin/api/clients/:id/roles': admin(200, victim),
  'PATCH /admin/api/scopes/:scope': admin(200, {
    path: { scope: ['staff'] },
    json: { 'text?': [{ en: 'See your department' }], 'claims?': [['department']] },
  }),
  'POST /admin/api/scopes': admin(201, { json: { name: ['staff'], claims: [['department', 'groups']] } }),
  'POST /admin/api/clients/:id/roles': admin(201, { ...victim, json: { name: ['admin'], 'description?': ['All'] } }),
  'POST /admin/api/clients/:id/roles/:role/give': admin(200, {
    path: { ...victim.path, role: ['admin'] },
    json: { 'groups?': [['staff']], 'users?': [['@sub']] },
  }),
  'POST /admin/api/users/:sub/connections/:connection/keep': admin(204, {
    path: { sub: ['@sub'], connection: ['none'] },
  }),
  'POST /admin/api/clients/:id/roles/:role/take': admin(200, {
    path: { ...victim.path, role: ['admin'] },
    json: { 'groups?': [['staff']], 'users?': [['@sub']] },
  }),
  'DELETE /admin/api/attributes/:attribute': admin(204, { path: { attribute: ['department'] } }),
  'DELETE /admin/api/clients/:id': admin(204, victim),
  'DELETE /admin/api/connections/:id': admin(200, { path: { id: ['none'] } }),
  'DELETE /admin/api/connections/:id/word-confirmations': admin(200, { path: { id: ['none'] } }),
  'DELETE /admin/api/users/:sub/connections/:connection': admin(200, { path: { sub: ['@sub'], connection: ['none'] } }),
  'DELETE /admin/api/groups/:name': admin(200, group),
  'DELETE /admin/api/keys/:kid': admin(204, { path: { kid: ['none'] } }),
  'DELETE /admin/api/resources/:resource': admin(204, { path: { resource: ['https://api.example/'] } }),
  'DELETE /admin/api/sessions/:id': admin(204, { path: { id: ['@session_id'] } }),
  'DELETE /admin/api/users/:sub': admin(204, person),
  'DELETE /admin/api/users/:sub/grants/:client_id': admin(204, { path: { sub: ['@sub'], client_id: ['@client_id'] } }),
  'DELETE /admin/api/users/:sub/invitation': admin(204, person),
  'DELETE /admin/api/users/:sub/second-factors': admin(204, person),
  'DELETE /admin/api/users/:sub/second-factors/:id': admin(204, { path: { sub: ['@sub'], id: ['none'] } }),
  'DELETE /admin/api/users/:sub/sessions': admin(200, person),
  'DELETE /admin/api/users/:sub/sign-in-failures': admin(204, person),
  'GET /admin/api/appearance': admin(200),
  'PATCH /admin/api/appearance': admin(200, {
    json: {
      'product_name?': ['Harbour ID', null],
      'accent_color?': ['#0c4a43', null],
      'support_url?': ['https://help.example/', 'mailto:help@example.com', null],
      'logo?': [null],
    },
  }),
  'POST /admin/api/mail/test': admin(200, { json: { 'sub?': ['@sub'] } }),
  'GET /admin/api/audit': admin(200, {
    query: { ...page, ...auditFilter, 'type?': ['user.signed_in', 'token.issued'] },
  }),
  'GET /admin/api/refusals/:reference': admin(200, { path: { reference: ['0a1b2c3d'] } }),
  'GET /admin/api/audit/export': admin(200, {
    query: { ...auditFilter, 'type?': ['user.signed_in'], 'format?': ['csv', 'jsonl'] },
  }),
  'GET /admin/api/clients': admin(200, {
    query: {
      ...page,
      'status?': ['enabled'],
      'waiting?': ['true'],
      'self_registered?': ['false'],
      'q?': ['harb', "o'h\\ & :* !("],
    },
  }),
  'GET /admin/api/clients/:id': admin(200, victim),
  'GET /admin/api/keys': admin(200),
  'GET /admin/api/logout-deliveries': admin(200, {
    query: { ...page, client_id: ['@client_id'], status: ['delivered'] },
  }),
  'GET /admin/api/openapi.json': admin(200),
  'GET /admin/api/sessions': admin(200, { query: { ...page, sub: ['@sub'] } }),
  'GET /admin/api/attributes': admin(200),
  'GET /admin/api/resources': admin(200, { query: page }),
  'GET /admin/api/resources/:resource': admin(200, { path: { resource: ['https://api.example/'] } }),
  'GET /admin/api/resources/:resource/metadata': admin(200, { path: { resource: ['https://api.example/'] } }),
  'GET /admin/api/connections': admin(200),
  'GET /admin/api/connections/:id': admin(200, { path: { id: ['none'] } }),
  'GET /admin/api/connections/:id/word-confirmations': admin(200, { path: { id: ['none'] } }),
  'GET /admin/api/users/:sub/connections': admin(200, person),
  'GET /admin/api/groups': admin(200, { query: { ...page, 'q?': ['staff'] } }),
  'GET /admin/api/groups/:name': admin(200, group),
  'GET /admin/api/users': admin(200, {
    query: {
      ...page,
      'q?': ['ada', "o'brien & !(x):*", 'مح'],
      'group?': ['staff'],
      'status?': ['enabled', 'disabled'],
      'admin?': ['true'],
      'order?': ['newest', 'name'],
    },
  }),
  'GET /admin/api/users/export': admin(200, { query: { format: ['csv', 'jsonl'] } }),
  'GET /admin/api/users/:sub': admin(200, person),
  'GET /admin/api/users/:sub/second-factors': admin(200, person),
  'GET /admin/api/users/:sub/grants': admin(200, { ...person, query: page }),
  'PATCH /admin/api/clients/:id': admin(200, { ...victim, json: administrated }),
  'PATCH /admin/api/groups/:name': admin(200, {
    ...group,
    json: { 'name?': ['crew', 'staff'], 'description?': ['On board', ''] },
  }),
  'PATCH /admin/api/attributes/:attribute': admin(200, {
    path: { attribute: ['department'] },
    json: { 'label?': [{ en: 'Department' }], 'choices?': [['a'], null], 'max?': [5, null], 'person?': ['read'] },
  }),
  'PATCH /admin/api/connections/:id': admin(200, {
    path: { id: ['none'] },
    json: {
      'display_name?': ['Honest'],
      'status?': ['enabled', 'disabled'],
      'settings?': [{ issuer: 'https://id.example' }],
    },
  }),
  'PATCH /admin/api/resources/:resource': admin(200, {
    path: { resource: ['https://api.example/'] },
    json: { 'name?': ['Notes'], 'clients?': ['listed', 'approved'], 'access_token_lifetime?': [60, null] },
  }),
  'PATCH /admin/api/users/:sub': admin(200, {
    ...person,
    json: { 'username?': ['ada', 'bob'], 'status?': ['enabled', 'disabled'], ...user },
  }),
  'POST /admin/api/clients': admin(201, { json: administrated }),
  'POST /admin/api/clients/decide': admin(200, {
    json: {
      decision: ['approve', 'refuse'],
      reason: ['not now'],
      clients: [[{ client_id: 'nobody', version: 1 }], [{ client_id: 'nobody', version: 2 }]],
    },
  }),
  'POST /admin/api/clients/:id/approve': admin(200, { ...victim, json: { version: [1, 2] } }),
  'POST /admin/api/clients/:id/disable': admin(200, victim),
  'POST /admin/api/clients/:id/look-alikes/:other/dismiss': admin(204, {
    path: { ...victim.path, other: ['@client_id'] },
    json: { 'name?': ['Harbour'], 'other_name?': ['Pier'] },
  }),
  'POST /admin/api/clients/:id/refuse': admin(200, { ...victim, json: { version: [1, 2], reason: ['not now'] } }),
  'POST /admin/api/attributes': admin(201, {
    json: {
      name: ['department', 'floor'],
      type: ['string', 'number'],
      'label?': [{ en: 'Department', de: 'Abteilung' }],
      'person?': ['none', 'write'],
      'unique?': [false],
    },
  }),
  'POST /admin/api/connections': admin(201, {
    json: {
      id: ['honest', 'manual'],
      kind: ['oidc', 'oauth', 'ldap'],
      'preset?': ['google', 'microsoft', 'github', 'apple'],
      display_name: ['Honest'],
      'settings?': [
        { issuer: 'http://127.0.0.1:1', client_id: 'x' },
        { client_id: 'x', tenants: ['common'], organizations: 'a b', base: 'https://github.com' },
      ],
      'authoritative_domains?': [['corp.example']],
      'group_rules?': [[{ equals: 'a', group: 'b' }]],
      'secret?': ['secret', null],
    },
  }),
  'GET /admin/api/connections/:id/import': admin(200, { path: { id: ['none'] } }),
  'POST /admin/api/connections/:id/import': admin(204, { path: { id: ['none'] }, json: { 'full?': [true] } }),
  'POST /admin/api/connections/:id/import/approve': admin(200, { path: { id: ['none'] }, json: { 'disabled?': [7] } }),
  'POST /admin/api/connections/:id/test': admin(200, { path: { id: ['none'] } }),
  'POST /admin/api/users/:sub/break-glass': admin(204, { ...person, json: { marked: [true, false] } }),
  'POST /admin/api/users/:sub/connections': admin(204, { ...person, json: { connection: ['none'], subject: ['x'] } }),
  'POST /admin/api/resources': admin(201, {
    json: {
      resource: ['https://api.example/', 'urn:example:api'],
      name: ['Notes'],
      'client_id?': ['@client_id', null],
      'scopes?': [[{ value: 'notes.read', description: { en: 'Read your notes' } }]],
      'clients?': ['listed', 'approved'],
    },
  }),
  'POST /admin/api/groups': admin(201, { json: { name: ['crew', 'staff'], 'description?': ['On board'] } }),
  'POST /admin/api/groups/:name/members': admin(200, {
    ...group,
    json: { 'add?': [['@sub'], ['nobody']], 'remove?': [['@sub'], []] },
  }),
  'POST /admin/api/clients/:id/secrets': admin(200, {
    ...victim,
    json: { 'secrets?': [['client_secret'], ['shared_secret']] },
  }),
  'POST /admin/api/keys': admin(201, {
    json: { immediate: [true, false], algorithms: [['ES256'], ['EdDSA', 'EdDSA']] },
  }),
  'POST /admin/api/users/:sub/invitation': admin(201, person),
  'POST /admin/api/users/:sub/recovery-link': admin(201, { ...person, json: { lifetime: [60] } }),
  'POST /admin/api/registration-tokens': admin(201, { json: { lifetime: [60] } }),
  // a body that is not a file: the files themselves have a test of their own
  'POST /admin/api/users/import': {
    ...admin(200, { query: { 'update?': ['true'], 'with_admins?': ['false'], 'dry_run?': ['true', 'false'] } }),
    statuses: [200, 401, 415],
  },
  'POST /admin/api/users': admin(201, {
    json: { username: ['ada', 'bob', '@new_name', '@new_name'], 'invite?': [true, false], ...user },
  }),
};
