// Declares the console's form for a client: its registered metadata and its settings, in groups; and reads what was typed.
import { z } from 'zod';
import { clientSettings, type ClientSettingsChange, settingsIn } from '../../../entities/client-settings.ts';
import { type Members, viewOf } from '../../../entities/entity.ts';
import type { FormMember, Typing } from '../../../entities/field.ts';
import { formOf } from '../../../entities/form.ts';
import { backchannelMembers } from '../../../oauth/backchannel-metadata.ts';
import { certificateNameMembers } from '../../../oauth/certificate-names.ts';
import { clientMetadataShape, jwtResponses } from '../../../oauth/client-metadata.ts';
import { rule } from '../../../oauth/refusals.ts';
import { clientAuthenticationMethods, grantTypes, namesOf } from '../../../oauth/registrable-values.ts';
import { responseTypes } from '../../../oauth/response-type.ts';
import { administratorScopes, registrableScopes } from '../../../oauth/scope.ts';
import type { FieldGroup } from '../../../pages/views/parts.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { ClientKind } from '../../operations/client-kinds/client-kind.ts';
import { kindOfClient } from '../../operations/client-kinds/kinds.ts';
import { checkedInput, type Faults, groupsOf, type Typed, typedIn, typedOf } from '../form.ts';

const settings = formOf({ members: clientSettings });
const settingsOf = (group: string) => settings.flatMap((one) => (one.group === group ? [one.name] : []));

/** The names of the fields, by their group in the form. */
const groups: Record<string, readonly string[]> = {
  about: [
    'client_name',
    'client_uri',
    'logo_uri',
    'policy_uri',
    'tos_uri',
    'localized',
    'contacts',
    'software_id',
    'software_version',
  ],
  addresses: ['application_type', 'redirect_uris', 'post_logout_redirect_uris', 'initiate_login_uri'],
  rights: [
    'grant_types',
    'response_types',
    'scope',
    'first_party',
    'self_managed',
    'development',
    'ciba_trusted',
    'require_pkce',
    'uma_profile',
    'introspect',
    'scim_source',
    'authorization_details_types',
    'resource_uris',
  ],
  saml: [...settingsOf('saml'), 'session_lifetime'],
  access: settingsOf('access'),
  authentication: [
    'token_endpoint_auth_method',
    'token_endpoint_auth_signing_alg',
    'jwks_uri',
    'jwks',
    ...certificateNameMembers,
    'fapi2',
    'dpop_bound_access_tokens',
    'dpop_nonce',
    'tls_client_certificate_bound_access_tokens',
  ],
  tokens: [
    'subject_type',
    'sector_identifier_uri',
    'id_token_claims',
    ...jwtResponses.flatMap((response) =>
      ['signed_response_alg', 'encrypted_response_alg', 'encrypted_response_enc'].map((end) => `${response}_${end}`),
    ),
    ...settingsOf('tokens'),
  ],
  requests: [
    'require_pushed_authorization_requests',
    'require_signed_request_object',
    'request_object_signing_alg',
    'request_uris',
    ...Object.keys(backchannelMembers),
    'default_max_age',
    'require_auth_time',
    'default_acr_values',
  ],
  site: settingsOf('site'),
  logout: [
    'backchannel_logout_uri',
    'backchannel_logout_session_required',
    'frontchannel_logout_uri',
    'frontchannel_logout_session_required',
  ],
};

/** The groups of one kind of client; the form of clients of OAuth has none of them. */
const ownGroups: ReadonlySet<string> = new Set(['site', 'saml']);

const metadataRules: Readonly<Record<string, z.ZodType>> = clientMetadataShape.shape;

/** One value of several words. */
const scopeTyping: Typing = {
  write: (scope: string) => scope.split(' ').join('\n'),
  read: (text) => text.split('\n').join(' '),
};
const boxes = { kind: 'boxes', removable: false } as const;

/** What the rules of some members do not say of their fields. */
const special = (): Record<string, Partial<FormMember>> => ({
  client_name: { required: true },
  contacts: { writing: 'auto' },
  grant_types: { ...boxes, choices: namesOf(grantTypes) },
  response_types: { ...boxes, choices: responseTypes },
  scope: { ...boxes, choices: [...registrableScopes(), ...administratorScopes], typing: scopeTyping },
  token_endpoint_auth_method: { kind: 'select', choices: namesOf(clientAuthenticationMethods) },
  jwks: { kind: 'json' },
  localized: { kind: 'json' },
  backchannel_client_notification_endpoint: { kind: 'address', most: 2000 },
  ...Object.fromEntries(certificateNameMembers.map((name) => [name, { kind: 'text', writing: 'ltr' } as const])),
});

/** The field of a member of the metadata, as its rule says. Where nothing is typed, registration decides. */
function fieldOf(name: string, given: z.ZodType): FormMember {
  let own = given;
  while (own instanceof z.ZodOptional || own instanceof z.ZodDefault) own = own.unwrap() as z.ZodType;
  const common = { name, removable: true };
  if (own instanceof z.ZodBoolean) return { ...common, kind: 'check', removable: false };
  if (own instanceof z.ZodEnum) {
    const choices = own.options.map(String);
    return { ...common, kind: 'select', choices: given instanceof z.ZodOptional ? ['', ...choices] : choices };
  }
  if (own instanceof z.ZodArray) return { ...common, kind: 'lines', writing: 'ltr' };
  if (own instanceof z.ZodNumber) return { ...common, kind: 'number' };
  return /_uri$/.test(name) ? { ...common, kind: 'address', most: 2000 } : { ...common, kind: 'text', writing: 'auto' };
}

/** @param kind the kind of a new client, or of one that is no client of OAuth */
export function clientForm(kind?: ClientKind): FormMember[] {
  const own = special();
  const isShown = (group: string) => kind?.groups?.includes(group) ?? !ownGroups.has(group);
  const shown = Object.entries(groups).filter(([group]) => isShown(group));
  return shown.flatMap(([group, names]) =>
    names.map((name) => {
      const field = settings.find((one) => one.name === name) ?? fieldOf(name, metadataRules[name]!);
      const choices = kind?.options?.[name];
      return { ...field, ...own[name], ...(choices && { choices }), group };
    }),
  );
}

/** The form with the values of a client. */
export const typedOfClient = (client: Client, kind?: ClientKind): Typed =>
  typedOf(clientForm(kind), { ...client.metadata, ...viewOf(clientSettings, client) });

/** The form with the values that a new client of this kind has. */
export const typedOfKind = (kind: ClientKind): Typed =>
  typedOf(clientForm(kind), {
    ...Object.fromEntries(Object.entries<Members[string]>(clientSettings).map(([name, { start }]) => [name, start])),
    ...clientMetadataShape.parse({}),
    ...kind.metadata,
    ...kind.settings,
  });

/** Reads a submitted form. What the form of a kind leaves out keeps the value of the kind. @param kept the values of an existing client instead */
export function readForm(sent: Record<string, string>, kind?: ClientKind, kept = kind && typedOfKind(kind)): Typed {
  const typed = typedIn(clientForm(kind), sent);
  if (!kind || !kept) return typed;
  return { ...typed, ...Object.fromEntries(kind.unused.map((name) => [name, typed[name] || kept[name]])) };
}

/** The fields as a page shows them; one with a fault is shown in any case. @param kind the kind of a new client */
export const clientGroups = (typed: Typed, faults: Faults, kind?: ClientKind): FieldGroup[] =>
  groupsOf(
    clientForm(kind).filter(({ name }) => faults[name] !== undefined || !kind?.unused.includes(name)),
    typed,
    faults,
  );

const seconds = (least: number, most: number) => {
  const params = rule('seconds', { least: String(least), most: String(most) });
  return z.int(params).min(least, params).max(most, params);
};
const lifetimes = Object.fromEntries(settingsOf('tokens').map((name) => [name, seconds(1, 366 * 86_400)]));
/** The rules of the members, where text that is no value at all is a fault of its own. */
const rules: Record<string, z.ZodType> = {
  ...metadataRules,
  ...Object.fromEntries(Object.entries<Members[string]>(clientSettings).map(([name, one]) => [name, one.rule])),
  ...lifetimes,
  default_max_age: seconds(0, 999_999_999),
  ...Object.fromEntries(
    ['jwks', 'localized'].map((name) => [
      name,
      z
        .unknown()
        .refine((value) => typeof value !== 'string', rule('json'))
        .pipe(metadataRules[name]!),
    ]),
  ),
};

/** The kind whose form an existing client has, if it is no client of OAuth. */
export const ownKindOf = (client: Client): ClientKind | undefined =>
  client.kind === 'oauth' ? undefined : kindOfClient(client);

/** The typed metadata and settings, with the faults of members by their own rules; parseClientMetadata checks them together. */
export function clientOfForm(
  typed: Typed,
  kind?: ClientKind,
): {
  metadata: Record<string, unknown>;
  settings: ClientSettingsChange;
  faults: Faults;
} {
  const { input, faults } = checkedInput(clientForm(kind), typed, rules);
  if (input['access'] === 'groups' && typed['access_groups']?.trim() === '')
    faults['access_groups'] ??= { code: 'access-groups' };
  const metadata = Object.entries(input).filter(
    ([name, value]) => name in metadataRules && value !== null && value !== false,
  );
  return {
    metadata: Object.fromEntries(metadata),
    settings: settingsIn(input),
    faults,
  };
}
