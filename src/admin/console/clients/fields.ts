// Maps client metadata to the fields of the console's form, and the typed values back to metadata.
import { z } from 'zod';
import { clientSettings, settingParts, settingsIn } from '../../../entities/client-settings.ts';
import { type Members, viewOf } from '../../../entities/entity.ts';
import type { ClientField } from '../../../pages/views/console-clients.ts';
import type { FaultView } from '../../../pages/views/parts.ts';
import {
  assertionSigningAlgorithms,
  clientMetadataShape,
  idTokenSigningAlgorithms,
  jwtResponses,
} from '../../../oauth/client-metadata.ts';
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
      ...Object.entries<Members[string]>(clientSettings).flatMap(([name, { form, group, rule }]): Definition[] => {
        if (group !== 'access') return [];
        if (rule instanceof z.ZodEnum) return [choice(name, rule.options.map(String))];
        const kind = typeof form === 'string' ? form : form!.kind;
        return [kind === 'check' ? check(name) : kind === 'address' ? address(name) : lines(name)];
      }),
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
      ...Object.keys(settingParts.lifetimes).map(number),
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
    ...viewOf(clientSettings, client),
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
  const settings: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const declared = (clientSettings as Members)[name];
    if (!declared) continue;
    const typed = form[name];
    if (kind === 'check') settings[name] = typed !== undefined;
    else if (kind === 'lines') settings[name] = linesOf(typed);
    else if (typed === undefined) settings[name] = declared.start ?? null;
    else settings[name] = kind === 'number' ? whole(name, typed, 1, 366 * 86_400) : typed;
    const read = settings[name] === null ? undefined : declared.rule.safeParse(settings[name]);
    if (read?.error) faults[name] ??= faultOf(read.error.issues[0]!);
    else if (read) settings[name] = read.data;
  }
  if (settings['access'] === 'groups' && form['access_groups'] === undefined)
    faults['access_groups'] ??= { code: 'access-groups' };
  return { metadata, settings: settingsIn(settings), faults };
}

const linesOf = (value = ''): string[] =>
  value
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

function parsed(value: string, onFault: () => void): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    onFault();
    return undefined;
  }
}
