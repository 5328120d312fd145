// Decides which change of a registration must wait for an administrator's approval (decisions section 2, security R45, R117).
import { isDeepStrictEqual } from 'node:util';
import type { ClientMetadata, JwtResponse } from '../../oauth/client-metadata.ts';
import { rankOf } from '../../oauth/fapi2.ts';
import { methodOf } from '../../oauth/registrable-values.ts';
import { splitScope } from '../../oauth/scope.ts';
import { sectorIdentifier } from '../../oauth/subject-type.ts';

/** Whether `next` gives the client anything that an administrator did not approve in `current`. */
type Rule = (current: ClientMetadata, next: ClientMetadata) => boolean;
type Member = keyof ClientMetadata;

/** The change gives the client nothing, or what it gives shows in another member. */
const free: Rule = () => false;
/** Every change of the member waits: of keys, and of what users see (security R117). */
const anyChange =
  (member: Member): Rule =>
  (current, next) =>
    !isDeepStrictEqual(current[member], next[member]);
/** A new value waits, and the removal does not. */
const replacement =
  (member: Member): Rule =>
  (current, next) =>
    next[member] !== undefined && next[member] !== current[member];
/** A further entry of the list waits. */
const addition =
  (
    member:
      | 'authorization_details_types'
      | 'default_acr_values'
      | 'post_logout_redirect_uris'
      | 'redirect_uris'
      | 'request_uris'
      | 'resource_uris',
  ): Rule =>
  (current, next) =>
    (next[member] ?? []).some((entry) => !current[member]?.includes(entry));
/** The end of a requirement waits. */
const relaxation =
  (
    member:
      | 'dpop_bound_access_tokens'
      | 'dpop_nonce'
      | 'require_pkce'
      | 'require_pushed_authorization_requests'
      | 'require_signed_request_object'
      | 'tls_client_certificate_bound_access_tokens',
  ): Rule =>
  (current, next) =>
    current[member] === true && !next[member];
/** The end of encryption waits. */
const decryption =
  (response: JwtResponse): Rule =>
  (current, next) => {
    const member = `${response}_encrypted_response_alg` as const;
    return current[member] !== undefined && next[member] === undefined;
  };
/** A signature that the client could make as well waits, and so does the end of a signature. */
const weakerSignature =
  (response: JwtResponse): Rule =>
  (current, next) => {
    const member = `${response}_signed_response_alg` as const;
    if (current[member] === next[member]) return false;
    // without a registered algorithm, an authorization response that is a JWT has the usual signature
    return next[member] === 'HS256' || (next[member] === undefined && response !== 'authorization');
  };

/** One rule for each member of the metadata, so that a new member cannot be forgotten. */
const rules: Record<Member, Rule> = {
  redirect_uris: addition('redirect_uris'),
  post_logout_redirect_uris: addition('post_logout_redirect_uris'),
  response_types: (current, next) => next.response_types.some((type) => !current.response_types.includes(type)),
  grant_types: (current, next) => next.grant_types.some((type) => !current.grant_types.includes(type)),
  frontchannel_logout_uri: replacement('frontchannel_logout_uri'),
  frontchannel_logout_session_required: free,
  backchannel_logout_uri: replacement('backchannel_logout_uri'),
  backchannel_logout_session_required: free,
  application_type: anyChange('application_type'),
  token_endpoint_auth_method: (current, next) =>
    strength(next.token_endpoint_auth_method) < strength(current.token_endpoint_auth_method),
  token_endpoint_auth_signing_alg: free,
  tls_client_auth_subject_dn: anyChange('tls_client_auth_subject_dn'),
  tls_client_auth_san_dns: anyChange('tls_client_auth_san_dns'),
  tls_client_auth_san_uri: anyChange('tls_client_auth_san_uri'),
  tls_client_auth_san_ip: anyChange('tls_client_auth_san_ip'),
  tls_client_auth_san_email: anyChange('tls_client_auth_san_email'),
  id_token_signed_response_alg: weakerSignature('id_token'),
  id_token_encrypted_response_alg: decryption('id_token'),
  id_token_encrypted_response_enc: free,
  userinfo_signed_response_alg: weakerSignature('userinfo'),
  userinfo_encrypted_response_alg: decryption('userinfo'),
  userinfo_encrypted_response_enc: free,
  authorization_signed_response_alg: weakerSignature('authorization'),
  authorization_encrypted_response_alg: decryption('authorization'),
  authorization_encrypted_response_enc: free,
  introspection_signed_response_alg: weakerSignature('introspection'),
  introspection_encrypted_response_alg: decryption('introspection'),
  introspection_encrypted_response_enc: free,
  // other subject identifiers
  subject_type: (current, next) => sectorIdentifier(current) !== sectorIdentifier(next),
  sector_identifier_uri: (current, next) => sectorIdentifier(current) !== sectorIdentifier(next),
  scope: (current, next) => splitScope(next.scope).some((value) => !splitScope(current.scope).includes(value)),
  client_name: anyChange('client_name'),
  client_uri: anyChange('client_uri'),
  logo_uri: anyChange('logo_uri'),
  policy_uri: anyChange('policy_uri'),
  tos_uri: anyChange('tos_uri'),
  localized: anyChange('localized'),
  contacts: anyChange('contacts'),
  // no page leads there
  initiate_login_uri: free,
  jwks_uri: anyChange('jwks_uri'),
  jwks: anyChange('jwks'),
  request_object_signing_alg: acceptsMoreRequestObjects,
  request_uris: addition('request_uris'),
  require_signed_request_object: relaxation('require_signed_request_object'),
  require_pushed_authorization_requests: relaxation('require_pushed_authorization_requests'),
  backchannel_token_delivery_mode: free,
  backchannel_client_notification_endpoint: replacement('backchannel_client_notification_endpoint'),
  backchannel_authentication_request_signing_alg: (current, next) =>
    current.backchannel_authentication_request_signing_alg !== undefined &&
    next.backchannel_authentication_request_signing_alg === undefined,
  // a required level or age of the sign-in is given up
  default_acr_values: (current, next) => addition('default_acr_values')(next, current),
  default_max_age: ({ default_max_age: before }, { default_max_age: after }) =>
    before !== undefined && (after === undefined || after > before),
  require_auth_time: free,
  software_id: free,
  software_version: free,
  authorization_details_types: addition('authorization_details_types'),
  resource_uris: addition('resource_uris'),
  require_pkce: relaxation('require_pkce'),
  uma_profile: (current, next) => next.uma_profile && !current.uma_profile,
  dpop_bound_access_tokens: relaxation('dpop_bound_access_tokens'),
  dpop_nonce: relaxation('dpop_nonce'),
  tls_client_certificate_bound_access_tokens: relaxation('tls_client_certificate_bound_access_tokens'),
  fapi2: (current, next) => rankOf(next.fapi2) < rankOf(current.fapi2),
  // it releases nothing that UserInfo does not
  id_token_claims: free,
};

/** Whether a change of the metadata must wait for an administrator. */
export function widens(current: ClientMetadata, next: ClientMetadata): boolean {
  return Object.values(rules).some((rule) => rule(current, next));
}

/** How well a method proves the client. */
const strength = (method: string): number => ['nothing', 'shared secret', 'own key'].indexOf(methodOf(method).proves);

/** A client without a registered algorithm may use any; with `none`, anyone can write its request objects. */
function acceptsMoreRequestObjects(current: ClientMetadata, next: ClientMetadata): boolean {
  const [before, after] = [current.request_object_signing_alg, next.request_object_signing_alg];
  return before !== after && (after === undefined || after === 'none');
}
