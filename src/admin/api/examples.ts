// Makes the examples of the OpenAPI document from its schemas, with a value for each name; a test checks each against its schema.

type Json = Record<string, unknown>;

/** What stands where a name has no value below; a test refuses it. */
export const missing = '…';

const client = 'f3c1a0de-5a42-4d0c-9a54-0b1f6c2d7e90';
const user = '5b0c3f1e-8a1d-4f5b-9c77-2f4f1f0f6a11';
const early = '2026-03-01T09:30:00.000Z';
const late = '2026-03-08T09:30:00.000Z';
const api = 'https://api.example.com/notes';

/** Values by the names of members and parameters. A value is used where its type fits. */
const values: Readonly<Record<string, unknown>> = {
  access_groups: [],
  address: '192.0.2.10',
  alg: 'EdDSA',
  amr: 'pwd',
  apiVersion: 'gatehouse/v1',
  attempts: 2,
  attribute: 'cost_center',
  authoritative_domains: [],
  authorization_details_types: 'note',
  authorization_servers: 'https://id.example.com',
  base_url: 'https://harbour.example.com/scim/v2',
  certificate: 'MIIBszCCAVmgAwIBAgIUf0…',
  claim: 'cost_center',
  claim_rules: [],
  claims: 'cost_center',
  client: client,
  client_id: client,
  client_name: 'Harbour',
  client_secret: 'ghcs_9Yb2…',
  clients: client,
  connected_server: '8d5b1c52-6a3c-4bb8-8f0b-f2a6b1d6f0c4',
  connection: 'company',
  connections: [],
  description: 'Everyone who works here',
  domains: 'example.com',
  display_name: 'Company account',
  email_domains: [],
  email: 'ada@example.com',
  error_description: 'there is no user with this identifier',
  event: '1042',
  events: 'user.disabled',
  authorization_details_type: 'b1d4c7e2-3f5a-4c8d-9e6b-7a0f1c2d3e4b',
  exchange_policy: '0f6d3f0e-3c43-4a39-b1a7-0a1f52f9c0ad',
  expires_at: late,
  group_prefix: '',
  group_rules: [],
  groups: 'staff',
  hint: 'Register the address that the application sends.',
  id: 'b7e0b1a6-95c6-4c57-9e86-3f5f3ad4a3c1',
  initial_access_token: 'ghit_4Kx7…',
  interval: 900,
  invitation_expires_at: late,
  invitation_uri: 'https://id.example.com/invitation?token=ghiv_7Qm3…',
  issuer: 'https://login.example.com',
  key: 'harbour',
  kind: 'passkey',
  kid: 'Zk3vO6cZ1bq0',
  label: { en: 'Cost center' },
  lifetime: 3600,
  links: [],
  limit: 50,
  max_lifetime: 300,
  members: 12,
  name: 'staff',
  networks: '192.0.2.0/24',
  notes: [],
  new_secret: 'whsec_MfKQ9r8G…',
  openapi: '3.1.1',
  other: '0a9cbe4b-6b1f-4a9d-8a02-7b8f5f1f3c77',
  proxy_secret: 'ghps_2Hn5…',
  provisioning_target: '4c1d7f5e-9a55-4a8f-8a94-6a7e2d7c9b10',
  q: 'ada',
  reason: 'The redirect URI is of another team.',
  reasons: { code: 'access_group', groups: ['staff'] },
  recovery_codes: 8,
  recovery_uri: 'https://id.example.com/reset-password?token=ghpr_6Tz1…',
  redirect_uris: 'https://harbour.example.com/callback',
  reference: '4f1c2a9e',
  remote_id: '2819c223',
  resource: api,
  resources: api,
  response_types: 'code',
  role: 'editor',
  scim_source: 'directory',
  scope: 'openid profile email',
  scopes: 'notes:read',
  secret: 'ghws_1Vd8…',
  schema: { type: 'object', properties: { amount: { type: 'string' } } },
  section: 'clients',
  file_set: 'staff',
  server: 'smtp.example.com:587',
  shared_secret: 'ghss_3Rw6…',
  sid: '7c0e6f5a-5e6e-4d8b-8d3f-0a4f0c5e2b19',
  sign_up_link: '1e9f4b7c-2a6d-4a8e-9d3b-5c7f8a0b1d2e',
  size: 5120,
  sub: user,
  subject_clients: [],
  subject: '00u1a2b3',
  text: { en: 'See your cost center' },
  to: 'ada@example.com',
  token: 'ghsc_8Lp4…',
  trusted_issuer: '6a2b8c4d-7e1f-4b3a-9c5d-8e0f2a4b6c8d',
  type: 'user.disabled',
  unknown: 'zoe',
  until: late,
  unchanged: 'bob',
  added: 'ada',
  removed: 'eve',
  upstream_tokens: [],
  uri: 'https://id.example.com/sign-up?link=ghsl_5Jc9…',
  url: 'https://chat.example.com/hooks/1',
  used: 3,
  username: 'ada',
  users: 'ada',
  uses: 30,
  version: 3,
  value: 'notes:read',
  warnings: [],
  webhook: '3d8e5f7a-1b2c-4d6e-8f9a-0b1c2d3e4f5a',
};

/** Optional members that an example has, besides the required ones. */
const shown = new Set([
  'client_name',
  'client_secret',
  'email',
  'email_verified',
  'grant_types',
  'invitation_expires_at',
  'invitation_uri',
  'new_secret',
  'redirect_uris',
  'response_types',
  'scope',
]);

/** Whether a value fits the type of a schema: the names are used for several. */
function fits(schema: Json, value: unknown): boolean {
  const types = [schema['type']].flat();
  if (typeof value === 'number') return types.includes('integer') || types.includes('number');
  if (typeof value === 'string') return types.includes('string');
  if (Array.isArray(value)) return types.includes('array');
  return types[0] === undefined || types.includes('object');
}

/** An example of a schema, with the values of `name`. @param components the named schemas that it refers to */
export function exampleOf(schema: Json, name: string, components: Readonly<Record<string, Json>>): unknown {
  const reference = schema['$ref'] as string | undefined;
  if (reference !== undefined) {
    const named = reference.slice(reference.lastIndexOf('/') + 1);
    return exampleOf(components[named]!, name, components);
  }
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (schema['const'] !== undefined) return schema['const'];
  const choices = schema['enum'] as unknown[] | undefined;
  if (choices) return choices.includes(value) ? value : choices[0];
  if (schema['default'] !== undefined) return schema['default'];
  const alternatives = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']) as Json[] | undefined;
  if (alternatives) return exampleOf(alternatives[0]!, name, components);
  if (value !== undefined && schema['properties'] === undefined && fits(schema, value)) return value;
  return ofType(schema, name, components);
}

function ofType(schema: Json, name: string, components: Readonly<Record<string, Json>>): unknown {
  const [type] = [schema['type']].flat();
  if (type === 'array') return [exampleOf((schema['items'] ?? {}) as Json, name, components)];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return Math.max(1, Number(schema['minimum'] ?? 1));
  if (type === 'string') return schema['format'] === 'date-time' ? early : missing;
  const required = (schema['required'] ?? []) as string[];
  const members = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  return Object.fromEntries(
    members
      .filter(([member]) => required.includes(member) || shown.has(member))
      .map(([member, rule]) => [member, exampleOf(rule, member, components)]),
  );
}
