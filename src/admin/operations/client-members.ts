// Declares the members that a change of a client may have, each with its meaning, for the OpenAPI document and the help of commands.
import { z } from 'zod';
import { clientMetadataShape } from '../../oauth/client-metadata.ts';
import { clientChangeShape } from '../../entities/client-settings.ts';

const encryption = (what: string) => ({
  alg: `The algorithm that encrypts the key of ${what}.`,
  enc: `The algorithm that encrypts the content of ${what}.`,
});
const [idToken, userinfo, response, introspection] = [
  encryption('the ID Token'),
  encryption('the response of UserInfo'),
  encryption('the authorization response'),
  encryption('the introspection response'),
];

/** The meanings of members whose rules have no description. */
const meanings: Readonly<Record<string, string>> = {
  redirect_uris: 'The addresses to which the client lets browsers return from a sign-in.',
  application_type: 'Whether the client runs on a server (web), or on the device of the user (native).',
  token_endpoint_auth_method: 'The method by which the client authenticates.',
  response_types: 'The response types that the client uses.',
  frontchannel_logout_uri: 'The address that the logout page opens in a frame when a session ends.',
  frontchannel_logout_session_required: 'Whether that address gets the issuer and the session.',
  backchannel_logout_session_required: 'Whether each logout token names the session.',
  token_endpoint_auth_signing_alg: 'The only algorithm that may sign the assertions by which the client authenticates.',
  id_token_signed_response_alg: 'The algorithm that signs ID Tokens.',
  id_token_encrypted_response_alg: idToken.alg,
  id_token_encrypted_response_enc: idToken.enc,
  userinfo_signed_response_alg: 'The algorithm that signs responses of UserInfo; without it they are JSON.',
  userinfo_encrypted_response_alg: userinfo.alg,
  userinfo_encrypted_response_enc: userinfo.enc,
  authorization_signed_response_alg: 'The algorithm that signs authorization responses which are JWTs.',
  authorization_encrypted_response_alg: response.alg,
  authorization_encrypted_response_enc: response.enc,
  introspection_signed_response_alg: 'The algorithm that signs introspection responses which are JWTs.',
  introspection_encrypted_response_alg: introspection.alg,
  introspection_encrypted_response_enc: introspection.enc,
  subject_type: 'Whether all clients see the same sub of a user (public), or each sector another one (pairwise).',
  sector_identifier_uri: 'The document that names the redirect URIs of all clients of a sector.',
  client_uri: 'The home page of the client.',
  logo_uri: 'The address of the logo of the client.',
  policy_uri: 'The address of the privacy policy of the client.',
  tos_uri: 'The address of the terms of service of the client.',
  initiate_login_uri: 'The address at which another site can begin a sign-in to the client.',
  contacts: 'The addresses of the contacts of the client.',
  request_object_signing_alg: 'The only algorithm that may sign request objects of the client.',
  request_uris: 'The addresses from which the service may fetch request objects of the client.',
  require_signed_request_object: 'Whether every authorization request must be a signed request object.',
  require_pushed_authorization_requests: 'Whether the client must push every authorization request.',
  default_acr_values: 'The levels of authentication (acr) that the client prefers.',
  default_max_age: 'The seconds after which a user must sign in again, if a request has no max_age.',
  require_auth_time: 'Whether each ID Token has the time of the sign-in.',
  software_id: 'The id of the software of the client.',
  software_version: 'The version of the software of the client.',
  require_pkce: 'Whether the client must use PKCE.',
  uma_profile: 'Whether the client may use codes as keys to the data of a user.',
  status: 'Whether the client may do anything: enabled or disabled.',
};

/** The schema of a member without its default. */
function withoutDefault(rule: z.ZodType): z.ZodType {
  if (rule instanceof z.ZodPipe) return withoutDefault(rule.in as z.ZodType);
  return rule instanceof z.ZodDefault ? (rule.unwrap() as z.ZodType) : rule;
}

/** A pipe or a default has the description that its rule lacks. */
const described = (member: string, rule: z.ZodType, whole: z.ZodType): z.ZodType => {
  const meaning = whole.description ?? meanings[member];
  return meaning === undefined ? rule : rule.describe(meaning);
};

/** Each member of the metadata may be absent, or null, which removes it. */
export const documentedChangeShape = z.strictObject({
  ...Object.fromEntries(
    Object.entries<z.ZodType>(clientMetadataShape.shape).map(([member, rule]) => [
      member,
      described(member, withoutDefault(rule).nullable().optional(), rule),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries<z.ZodType>(clientChangeShape.shape).map(([member, rule]) => [member, described(member, rule, rule)]),
  ),
});
