// Defines a kind of client: what an administrator connects, and the metadata that follows from it.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Config } from '../../../config.ts';
import { backchannelMembers } from '../../../oauth/backchannel-metadata.ts';
import { type clientMetadataShape, jwtResponses } from '../../../oauth/client-metadata.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import type { ClientSettingsChange } from '../../../entities/client-settings.ts';
import type { StoredKind } from '../../../rules/clients/kinds.ts';
import type { Input } from '../../../entities/entity.ts';

type Metadata = z.input<typeof clientMetadataShape>;

export interface ClientKind {
  /** Its name in addresses, requests and commands; its words are `console.kind.…` in templates/messages. */
  name: string;
  /** The kind that is stored, if it is not that of OAuth. */
  stored?: Exclude<StoredKind, 'oauth'>;
  /** The members that differ from the defaults of registration. An administrator can give each another value. */
  metadata: Readonly<
    Metadata & Required<Pick<Metadata, 'grant_types' | 'response_types' | 'token_endpoint_auth_method'>>
  >;
  /** The settings that differ from the defaults of a client. */
  settings?: Readonly<ClientSettingsChange>;
  /** The metadata that follows from what is given for a new client. @throws OAuthError */
  derived?: (given: ClientSettingsChange, config: Pick<Config, 'issuer'>) => Partial<Metadata>;
  /** The groups of the form, for a kind that is not stored as OAuth: it has no others. */
  groups?: readonly string[];
  /** The fields of the form, in their order; the others are under “Advanced”. */
  asked: readonly string[];
  /** The fields that such a client has no use for: the form leaves them out, and they keep their values above. */
  unused: readonly string[];
  /** The options of a field with several choices, if they are fewer than those of all clients. */
  options?: Readonly<Record<string, readonly string[]>>;
  /** What the resources of the client have that differs from those that a client registers. */
  resource?: Input;
  snippets: readonly Snippet[];
}

/**
 * Refuses other values of members that follow from the kind. An empty list gives none.
 * @param before the client as it was: a request can send back what a read has shown
 * @throws OAuthError invalid_request
 */
export function refuseOfDerived(derived: Partial<Metadata> = {}, given: object, before: object = {}): void {
  const valuesOf = (members: object) => new Map(Object.entries(members));
  for (const [name, value] of valuesOf(derived)) {
    const sent: unknown = valuesOf(given).get(name);
    const isNone = sent === undefined || (Array.isArray(sent) && sent.length === 0);
    if (!isNone && !isDeepStrictEqual(sent, value) && !isDeepStrictEqual(sent, valuesOf(before).get(name)))
      throw invalidRequest(refusal('read-only', name));
  }
}

/** A program or a configuration that connects a new client: templates/snippets/NAME.eta. */
export interface Snippet {
  name: string;
  /** The library or the program with its language: names that no language translates. */
  title: string;
  /** The redirect URIs for which it works; all, unless given. */
  redirectUris?: RegExp;
  /** Whether it is of use only to a client with a resource. */
  needsResource?: boolean;
}

/** Fields for keys, encryption, request objects and profiles. */
const cryptographic = [
  'fapi2',
  ...jwtResponses
    .flatMap((response) =>
      ['signed_response_alg', 'encrypted_response_alg', 'encrypted_response_enc'].map(
        (member) => `${response}_${member}`,
      ),
    )
    .filter((member) => member !== 'id_token_signed_response_alg'),
  'require_signed_request_object',
  'request_object_signing_alg',
  'request_uris',
];

/** Fields of clients that ask users by backchannel requests. */
const backchannel = [...Object.keys(backchannelMembers), 'ciba_trusted'];

/** Fields that a public client on the device of the user has no use for: it has no secret, no keys and no server. */
export const needlessForPublic = [
  ...cryptographic,
  ...backchannel,
  'application_type',
  'grant_types',
  'response_types',
  'require_pkce', // public clients always use it
  'token_endpoint_auth_method',
  'token_endpoint_auth_signing_alg',
  'jwks_uri',
  'jwks',
  'self_managed',
  'uma_profile',
  'introspect',
  'scim_source',
  'resource_uris',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  'software_id',
  'software_version',
];

/** Fields that a client without users has no use for. */
export const needlessWithoutUsers = [
  ...cryptographic,
  ...backchannel,
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'application_type',
  'redirect_uris',
  'post_logout_redirect_uris',
  'initiate_login_uri',
  'grant_types',
  'response_types',
  'first_party',
  'self_managed',
  'development',
  'require_pkce',
  'uma_profile',
  'subject_type',
  'sector_identifier_uri',
  'id_token_signed_response_alg',
  'id_token_claims',
  'authorization_code_lifetime',
  'refresh_token_lifetime',
  'id_token_lifetime',
  'require_pushed_authorization_requests',
  'default_max_age',
  'require_auth_time',
  'default_acr_values',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  'frontchannel_logout_uri',
  'frontchannel_logout_session_required',
  'software_id',
  'software_version',
];
