// Maps client metadata to the fields of the console's form, and the typed values back to metadata.
import { accessRules } from '../../../rules/access/access.ts';
import type { ClientField } from '../../../pages/views/console-clients.ts';
import type { FaultView } from '../../../pages/views/parts.ts';
import {
  assertionSigningAlgorithms,
  clientMetadataShape,
  idTokenSigningAlgorithms,
  jwtResponses,
} from '../../../oauth/client-metadata.ts';
import { clientAccessShape } from '../../../rules/users/administration.ts';
import { fapi2Profiles } from '../../../oauth/fapi2.ts';
import { faultOf } from '../../../oauth/refusals.ts';
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from '../../../oauth/response-encryption.ts';
import { clientAuthenticationMethods, grantTypes, namesOf } from '../../../oauth/registrable-values.ts';
import { responseTypes } from '../../../oauth/response-type.ts';
import { administratorScopes, registrableScopes } from '../../../oauth/scope.ts';
import { subjectTypes } from '../../../oauth/subject-type.ts';
import type { Client, ClientChange } from '../../../repositories/clients/clients.ts';
import type { ClientKind } from '../../operations/client-kinds/client-kind.ts';

type Form = Record<string, string>;
interface Definition {
  name: string;
  kind: ClientField['kind'];
  options?: () => readonly string[];
}

const text = (name: string): Definition => ({ name, kind: 'text' });
const address = (name: string): Definition => ({ name, kind: 'address' });
const lines = (name: string): Definition => ({ name, kind: 'lines' });
const check = (name: string): Definition => ({ name, kind: 'check' });
const number = (name: string): Definition => ({ name, kind: 'number' });
type Options = readonly string[] | (() => readonly string[]);
const optionsOf = (options: Options) => (typeof options === 'function' ? options : () => options);
const choice = (name: string, options: Options): Definition => ({ name, kind: 'choice', options: optionsOf(options) });
const choices = (name: string, options: Options): Definition => ({
  name,
  kind: 'choices',
  options: optionsOf(options),
});

const lifetimes = {
  authorization_code_lifetime: 'authorizationCode',
  access_token_lifetime: 'accessToken',
  refresh_token_lifetime: 'refreshToken',
  id_token_lifetime: 'idToken',
} as const;
const optional = (options: readonly string[]) => ['', ...options];

/** Every field, by its group in the form. */
const groups: readonly { name: string; fields: readonly Definition[] }[] = [
  {
    name: 'about',
    fields: [
      text('client_name'),
      address('client_uri'),
      address('logo_uri'),
      address('policy_uri'),
      address('tos_uri'),
      lines('contacts'),
      text('software_id'),
      text('software_version'),
    ],
  },
  {
    name: 'addresses',
    fields: [
      choice('application_type', ['web', 'native']),
      lines('redirect_uris'),
      lines('post_logout_redirect_uris'),
      address('initiate_login_uri'),
    ],
  },
  {
    name: 'rights',
    fields: [
      choices('grant_types', () => namesOf(grantTypes)),
      choices('response_types', responseTypes),
      choices('scope', () => [...registrableScopes(), ...administratorScopes]),
      check('first_party'),
      check('self_managed'),
      check('require_pkce'),
      check('uma_profile'),
      choice('introspect', ['own', 'any']),
      lines('resource_uris'),
    ],
  },
  {
    name: 'access',
    fields: [
      choice('access', accessRules),
      lines('access_groups'),
      lines('connections'),
      lines('upstream_tokens'),
      lines('networks'),
      address('start_uri'),
      check('start_hidden'),
    ],
  },
  {
    name: 'authentication',
    fields: [
      choice('token_endpoint_auth_method', () => namesOf(clientAuthenticationMethods)),
      choice('token_endpoint_auth_signing_alg', optional(assertionSigningAlgorithms)),
      address('jwks_uri'),
      { name: 'jwks', kind: 'json' },
      choice('fapi2', optional(fapi2Profiles)),
      check('dpop_bound_access_tokens'),
      check('dpop_nonce'),
    ],
  },
  {
    name: 'tokens',
    fields: [
      choice('subject_type', subjectTypes),
      address('sector_identifier_uri'),
      check('id_token_claims'),
      ...jwtResponses.flatMap((response) => [
        // ID Tokens are always signed
        choice(
          `${response}_signed_response_alg`,
          response === 'id_token' ? idTokenSigningAlgorithms : optional(idTokenSigningAlgorithms),
        ),
        choice(`${response}_encrypted_response_alg`, optional(keyManagementAlgorithms)),
        choice(`${response}_encrypted_response_enc`, optional(contentEncryptionAlgorithms)),
      ]),
      ...Object.keys(lifetimes).map(number),
    ],
  },
  {
    name: 'requests',
    fields: [
      check('require_pushed_authorization_requests'),
      check('require_signed_request_object'),
      choice('request_object_signing_alg', optional([...assertionSigningAlgorithms, 'none'])),
      lines('request_uris'),
      number('default_max_age'),
      check('require_auth_time'),
      lines('default_acr_values'),
    ],
  },
  {
    name: 'logout',
    fields: [
      address('backchannel_logout_uri'),
      check('backchannel_logout_session_required'),
      address('frontchannel_logout_uri'),
      check('frontchannel_logout_session_required'),
    ],
  },
];
const fields = groups.flatMap((group) => group.fields);

/** The separator of the values of one field with several choices: response types contain spaces. */
const between = (name: string) => (name === 'response_types' ? '\n' : ' ');

/** The form with the values of a client. */
export const formOfClient = (client: Client): Form =>
  formOf({
    ...client.metadata,
    first_party: client.firstParty,
    self_managed: client.selfManaged,
    introspect: client.introspect,
    access: client.access,
    access_groups: client.accessGroups,
    connections: client.connections,
    upstream_tokens: client.upstreamTokens,
    networks: client.networks,
    start_uri: client.startUri,
    start_hidden: client.startHidden,
    ...Object.fromEntries(Object.entries(lifetimes).map(([name, key]) => [name, client.lifetimes[key]])),
  });

/** The form with the values that a new client of this kind has. */
export const formOfKind = ({ metadata }: ClientKind): Form =>
  formOf({ ...clientMetadataShape.parse({}), introspect: 'own', access: 'everyone', ...metadata });

function formOf(values: Readonly<Record<string, unknown>>): Form {
  const form: Form = {};
  for (const { name, kind } of fields) {
    const value = values[name];
    if (value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0))
      continue;
    if (kind === 'json') form[name] = JSON.stringify(value, undefined, 2);
    else if (Array.isArray(value)) form[name] = value.join(kind === 'lines' ? '\n' : between(name));
    else form[name] = String(value as string | number | boolean);
  }
  return form;
}

/** Reads a submitted form, which has a parameter for each choice of a field with several. @param ofKind the kind of a new client */
export function readForm(sent: Record<string, string>, ofKind?: ClientKind): Form {
  // the fields that the form leaves out
  const kept = ofKind ? Object.entries(formOfKind(ofKind)).filter(([name]) => ofKind.unused.includes(name)) : [];
  const form: Form = Object.fromEntries(kept);
  for (const { name, kind, options } of fields) {
    const value =
      kind === 'choices'
        ? (ofKind?.options?.[name] ?? options!())
            .filter((_option, index) => sent[`${name}.${index}`] !== undefined)
            .join(between(name))
        : (sent[name] ?? '');
    if (value.trim() !== '') form[name] = kind === 'json' || kind === 'lines' ? value : value.trim();
  }
  return form;
}

/** Returns the fields as a page shows them. @param faults by member @param ofKind the kind of a new client */
export function fieldsOf(
  form: Form,
  faults: Readonly<Record<string, FaultView>>,
  ofKind?: ClientKind,
): { name: string; fields: ClientField[] }[] {
  return groups.map((group) => ({
    name: group.name,
    fields: group.fields
      // a field with a fault is shown in any case
      .filter(({ name }) => faults[name] !== undefined || !ofKind?.unused.includes(name))
      .map(({ name, kind, options }): ClientField => {
        const field: ClientField = { name, kind, value: form[name] ?? '' };
        if (options) field.options = [...(ofKind?.options?.[name] ?? options())];
        if (kind === 'choices') field.taken = field.value.split(between(name));
        if (faults[name] !== undefined) field.fault = faults[name];
        return field;
      }),
  }));
}

/**
 * Returns the typed metadata and further settings, not yet validated; `faults` names values that cannot be read at all.
 */
export function clientOfForm(form: Form): {
  metadata: Record<string, unknown>;
  settings: ClientChange;
  faults: Record<string, FaultView>;
} {
  const faults: Record<string, FaultView> = {};
  const metadata: Record<string, unknown> = {};
  const whole = (name: string, value: string, least: number, most: number): number | undefined => {
    if (/^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most) return Number(value);
    faults[name] = { code: 'seconds', params: { least: String(least), most: String(most) } };
    return undefined;
  };
  for (const { name, kind } of fields) {
    const value = form[name];
    const isMetadata = name in clientMetadataShape.shape;
    if (!isMetadata) continue;
    // where an administrator has chosen no option, no default applies
    if (value === undefined && kind === 'choices') metadata[name] = name === 'scope' ? '' : [];
    if (value === undefined) continue;
    if (kind === 'check') metadata[name] = true;
    else if (kind === 'number') metadata[name] = whole(name, value, 0, 999_999_999);
    else if (kind === 'json') metadata[name] = parsed(value, () => (faults[name] = { code: 'json' }));
    else if (kind === 'lines') metadata[name] = linesOf(value);
    else if (kind === 'choices' && name !== 'scope') metadata[name] = value.split(between(name));
    else metadata[name] = value;
  }
  const lifetime = (name: string) => (form[name] === undefined ? null : whole(name, form[name], 1, 366 * 86_400));
  const settings: ClientChange = {
    firstParty: form['first_party'] !== undefined,
    selfManaged: form['self_managed'] !== undefined,
    introspect: form['introspect'] === 'any' ? 'any' : 'own',
    ...accessOf(form, (name, fault) => (faults[name] ??= fault)),
    lifetimes: Object.fromEntries(Object.entries(lifetimes).map(([name, key]) => [key, lifetime(name)])),
  };
  return { metadata, settings, faults };
}

const linesOf = (value = ''): string[] =>
  value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Who may use the client, as typed. @param report is called for each value that cannot be read */
function accessOf(form: Form, report: (name: string, fault: FaultView) => void): ClientChange {
  const typed = {
    access: form['access'] ?? 'everyone',
    access_groups: linesOf(form['access_groups']),
    connections: linesOf(form['connections']),
    upstream_tokens: linesOf(form['upstream_tokens']),
    networks: linesOf(form['networks']),
    start_uri: form['start_uri'] ?? null,
    start_hidden: form['start_hidden'] !== undefined,
  };
  const read = clientAccessShape.safeParse(typed);
  for (const issue of read.error?.issues ?? []) report(String(issue.path[0]), faultOf(issue));
  if (!read.success) return {};
  const { access, access_groups: accessGroups, connections, networks } = read.data;
  const { start_uri: startUri, start_hidden: startHidden, upstream_tokens: upstreamTokens } = read.data;
  if (access === 'groups' && accessGroups.length === 0) report('access_groups', { code: 'access-groups' });
  return { access, accessGroups, connections, upstreamTokens, networks, startUri, startHidden };
}

function parsed(value: string, onFault: () => void): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    onFault();
    return undefined;
  }
}
