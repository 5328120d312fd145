// Says when each error code is sent, and at which address a developer reads it (RFC 6749 4.1.2.1, 5.2).
import type { ErrorCode } from './errors.ts';

/** The page with all error codes. */
export const errorsPath = '/errors';

/** The `error_uri` of an error, which has only the characters that RFC 6749 allows. */
export const errorUri = (issuer: string, code: ErrorCode): string => `${issuer}${errorsPath}#${code}`;

/** In English, for developers. Backticks surround names of the wire. */
export const errorMeanings: Record<ErrorCode, string> = {
  invalid_request: 'A parameter is missing, repeated, too long or not valid. The description names it (RFC 6749)',
  invalid_client: 'The client did not authenticate, or did not sign the request (RFC 6749)',
  invalid_grant: 'The code or refresh token is unknown, used or expired, or belongs to another client (RFC 6749)',
  unauthorized_client: 'The client is not enabled, or may not use this grant or response type (RFC 6749)',
  unsupported_grant_type: 'There is no such grant type (RFC 6749)',
  invalid_scope:
    '`scope` is malformed, lacks `openid`, or a token request names more than the client may have. An authorization request leaves out other scopes that are not registered (RFC 6749)',
  access_denied: 'The End-User refused, or the client may not know this End-User (RFC 6749)',
  unsupported_response_type: 'The client did not register this response type (RFC 6749)',
  server_error: 'An error occurred in the service. Its log has the reference that the description shows (RFC 6749)',
  temporarily_unavailable:
    'The database does not answer, or a limit is reached. Retry after `Retry-After`, or after a minute if a redirect has no such header (RFC 6749)',
  invalid_token: 'The token is unknown, expired, revoked or malformed (RFC 6750)',
  insufficient_scope: 'The token is valid, but lacks the required scope (RFC 6750)',
  insufficient_user_authentication:
    'The token of a user is valid, but the sign-in is too old for this request. Send an authorization request with `max_age` (RFC 9470)',
  interaction_required: '`prompt=none`, but a page would have to be shown (OpenID Connect Core)',
  login_required: '`prompt=none`, but no user is signed in (OpenID Connect Core)',
  consent_required: '`prompt=none`, but the user has not consented (OpenID Connect Core)',
  unmet_authentication_requirements:
    'No sign-in reaches the `acr` that the request calls essential (OpenID Connect Core)',
  request_not_supported:
    'The request object is not signed, and the service accepts only signed ones (OpenID Connect Core)',
  request_uri_not_supported:
    'The request object at a `request_uri` is not signed, and the service accepts only signed ones (OpenID Connect Core)',
  invalid_request_uri: '`request_uri` is not registered, or its address returns no request object (RFC 9101)',
  invalid_request_object: 'The request object cannot be verified, or contradicts the parameters outside it (RFC 9101)',
  registration_not_supported: 'The parameter `registration` is not supported (OpenID Connect Core)',
  invalid_redirect_uri: 'A redirect URI cannot be registered (RFC 7591)',
  invalid_client_metadata: 'Another member of a registration is not valid (RFC 7591)',
  authorization_pending:
    'The user of a device, or of a backchannel request, has not decided yet. Poll again after the interval (RFC 8628)',
  unknown_user_id:
    'No user can answer a backchannel request with this hint. Only a client with `ciba_trusted` learns this (OpenID Connect CIBA)',
  invalid_binding_message:
    '`binding_message` is too long, or has characters that do not print, markup or a web address (OpenID Connect CIBA)',
  slow_down:
    'The poll came too soon. For a device or a backchannel request, wait five seconds longer between polls from now on. With status 429, too many backchannel requests wait for the user, or were made today. For a pending registration, wait `Retry-After` seconds between polls from now on (RFC 8628)',
  expired_token:
    'The codes of a device, or a backchannel request, have expired. Or no administrator decided on the registration in time, or the client did not collect its credentials. In these cases, register again (RFC 8628)',
  invalid_registration:
    'The registration code is unknown or used. Register again (draft-dellaert-oauth-approval-based-dcr)',
  unsupported_token_type: 'There is no such `token_type_hint`, or this endpoint does not support it (RFC 7009)',
  invalid_dpop_proof:
    'The DPoP proof is missing, not valid, too old, for another request or already used. The description names the reason (RFC 9449)',
  use_dpop_nonce: 'Repeat the request with a new DPoP proof that has the nonce of the header `DPoP-Nonce` (RFC 9449)',
  invalid_authorization_details:
    'The parameter `authorization_details` has an object of an unknown type, one that does not follow its type, or one that was not granted; the description names it by its index (RFC 9396)',
  invalid_target:
    'The parameter `resource` names no resource that is open to the client, or several where one token is issued (RFC 8707)',
  not_found: 'There is no page at this address, or no object of this name',
  conflict: 'The object changed since it was read, or the name is taken',
  kept_by_file: 'Configuration files manage the object. Change it in the files, or take it over',
};
