// Lists the connections that the console's forms create: the settings that each asks for, and which of the common members it has a use for.
import type { ConnectionField, ConnectionTypeName } from '../../../pages/views/connections.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';

export interface ConnectionType {
  name: ConnectionTypeName;
  kind: Connection['kind'];
  preset?: string;
  settings: readonly ConnectionField[];
  /** Whether the provider tells groups. */
  hasGroups: boolean;
  /** Whether the provider tells which factors were used. */
  tellsFactors: boolean;
  /** Whether the provider itself decides which addresses its word confirms. */
  tellsMailbox?: true;
  /** Whether a user can be signed out there. */
  signsOut: boolean;
}

const text = (name: string, required = true, most = 500): ConnectionField => ({ name, type: 'text', required, most });
const number = (name: string): ConnectionField => ({ name, type: 'number', most: 9 });
const check = (name: string): ConnectionField => ({ name, type: 'check' });
const lines = (name: string, required = false): ConnectionField => ({ name, type: 'lines', required });
const choice = (name: string, values: string[]): ConnectionField => ({ name, type: 'choice', values });

const method = choice('token_endpoint_auth_method', ['client_secret_basic', 'client_secret_post', 'private_key_jwt']);
const mode = choice('response_mode', ['query', 'form_post']);

/** In the order in which the console offers them. */
export const connectionTypes: readonly ConnectionType[] = [
  {
    name: 'oidc',
    kind: 'oidc',
    hasGroups: true,
    tellsFactors: true,
    signsOut: true,
    settings: [text('issuer'), text('client_id'), text('scope', false), text('groups_claim', false, 200), method, mode],
  },
  {
    name: 'google',
    kind: 'oidc',
    preset: 'google',
    hasGroups: false,
    tellsMailbox: true,
    tellsFactors: false,
    signsOut: false,
    settings: [text('client_id')],
  },
  {
    name: 'microsoft',
    kind: 'oidc',
    preset: 'microsoft',
    hasGroups: true,
    tellsFactors: true,
    signsOut: true,
    settings: [lines('tenants', true), text('client_id'), check('graph_groups')],
  },
  {
    name: 'github',
    kind: 'oauth',
    preset: 'github',
    hasGroups: true,
    tellsFactors: false,
    signsOut: false,
    settings: [text('client_id'), lines('organizations'), text('base', false)],
  },
  {
    name: 'apple',
    kind: 'oidc',
    preset: 'apple',
    hasGroups: false,
    tellsFactors: false,
    signsOut: false,
    settings: [text('client_id'), text('team_id', true, 20), text('key_id', true, 20)],
  },
  {
    name: 'oauth',
    kind: 'oauth',
    hasGroups: true,
    tellsFactors: false,
    signsOut: false,
    settings: [
      text('authorization_endpoint', true, 2000),
      text('token_endpoint', true, 2000),
      text('userinfo_endpoint', true, 2000),
      text('client_id'),
      text('scope', false),
      text('subject_claim', false, 200),
      text('email_claim', false, 200),
      text('email_verified_from', false, 200),
      text('groups_claim', false, 200),
      method,
      mode,
    ],
  },
];

export const findType = (name: string): ConnectionType | undefined =>
  connectionTypes.find((type) => type.name === name);

/** Undefined for a connection that another page changes. */
export const typeOf = ({ kind, preset }: Pick<Connection, 'kind' | 'preset'>): ConnectionType | undefined =>
  connectionTypes.find((type) => type.kind === kind && type.preset === preset);

/** Every field of the form, in its order. */
export function fieldsOf(type: ConnectionType, isNew: boolean): ConnectionField[] {
  return [
    ...(isNew ? [text('id', true, 40)] : []),
    text('display_name', true, 100),
    ...type.settings,
    { name: 'secret', type: 'secret', most: 16_384 },
    choice('status', ['disabled', 'enabled', 'link_only']),
    choice('linking', ['ask', 'domain', 'never']),
    choice('provisioning', ['off', 'invited', 'on']),
    text('username_from', false, 200),
    check('username_local_part'),
    check('username_suffix'),
    lines('domains'),
    lines('authoritative_domains'),
    ...(type.tellsMailbox ? [] : [check('trust_email')]),
    ...(type.hasGroups ? [lines('group_rules')] : []),
    lines('default_groups'),
    ...(type.tellsFactors ? [check('trust_mfa')] : []),
    ...[
      number('position'),
      number('session_lifetime'),
      ...(type.signsOut ? [choice('logout', ['local', 'propagate'])] : []),
      check('subdomains'),
      check('enforced'),
      check('hidden'),
      check('store_tokens'),
    ].map((field) => ({ ...field, more: true })),
  ];
}
