// Decides which change of a registration must wait for an administrator's approval (decisions section 2, security R45, R117).
import { isDeepStrictEqual } from 'node:util';
import { type ClientMetadata, jwtResponses } from './client-metadata.ts';
import { rankOf } from './fapi2.ts';
import { splitScope } from './scope.ts';
import { sectorIdentifier } from './subject-type.ts';

/** The members that pages show to users (security R117). */
const shownMembers = ['client_name', 'logo_uri', 'client_uri', 'policy_uri', 'tos_uri', 'contacts'] as const;

/** How well a method proves the client: by a key of its own, by a secret that both sides know, or not at all. */
function strength(method: string): number {
  return method === 'private_key_jwt' ? 2 : method === 'none' ? 0 : 1;
}

/**
 * Whether `next` gives the client anything that an administrator did not approve in `current` (decisions section 2):
 * redirect and logout URIs, response and grant types, a weaker authentication method, keys, uma_profile, scope, less
 * protection of its requests, other subject identifiers, and members that users see. `id_token_claims` does not count: it
 * releases nothing that UserInfo does not.
 */
export function widens(current: ClientMetadata, next: ClientMetadata): boolean {
  const replaced = (a: string | undefined, b: string | undefined) => b !== undefined && b !== a;
  const more = (a: readonly string[], b: readonly string[]) => b.some((item) => !a.includes(item));
  return (
    more(current.redirect_uris, next.redirect_uris) ||
    more(current.post_logout_redirect_uris ?? [], next.post_logout_redirect_uris ?? []) ||
    replaced(current.frontchannel_logout_uri, next.frontchannel_logout_uri) ||
    replaced(current.backchannel_logout_uri, next.backchannel_logout_uri) ||
    more(current.resource_uris ?? [], next.resource_uris ?? []) ||
    more(current.request_uris ?? [], next.request_uris ?? []) ||
    more(current.response_types, next.response_types) ||
    more(current.grant_types, next.grant_types) ||
    more(splitScope(current.scope), splitScope(next.scope)) ||
    current.application_type !== next.application_type ||
    sectorIdentifier(current) !== sectorIdentifier(next) ||
    strength(next.token_endpoint_auth_method) < strength(current.token_endpoint_auth_method) ||
    shownMembers.some((member) => !isDeepStrictEqual(current[member], next[member])) ||
    lowersProtection(current, next) ||
    current.jwks_uri !== next.jwks_uri ||
    !isDeepStrictEqual(current.jwks, next.jwks) ||
    (current.require_pkce && !next.require_pkce) ||
    (current.require_signed_request_object === true && !next.require_signed_request_object) ||
    (current.require_pushed_authorization_requests === true && !next.require_pushed_authorization_requests) ||
    acceptsMoreRequestObjects(current, next) ||
    rankOf(next.fapi2) < rankOf(current.fapi2) ||
    (next.uma_profile && !current.uma_profile)
  );
}

/** Whether encryption, the service's own signing key, or a required level or age of the sign-in is given up (security R117). */
function lowersProtection(current: ClientMetadata, next: ClientMetadata): boolean {
  const [age, nextAge] = [current.default_max_age, next.default_max_age];
  return (
    jwtResponses.some((response) => {
      const [encryption, signature] = [
        `${response}_encrypted_response_alg`,
        `${response}_signed_response_alg`,
      ] as const;
      return (
        (current[encryption] !== undefined && next[encryption] === undefined) ||
        (current[signature] !== 'HS256' && next[signature] === 'HS256')
      );
    }) ||
    (current.default_acr_values ?? []).some((level) => !next.default_acr_values?.includes(level)) ||
    (age !== undefined && (nextAge === undefined || nextAge > age))
  );
}

/** A client without a registered algorithm may use any; with `none`, anyone can write its request objects. */
function acceptsMoreRequestObjects(current: ClientMetadata, next: ClientMetadata): boolean {
  const [before, after] = [current.request_object_signing_alg, next.request_object_signing_alg];
  return before !== after && (after === undefined || after === 'none');
}
