// Holds the settings of a connection by OpenID Connect, and the metadata that its provider publishes (OpenID Connect Discovery 3).
import { z } from 'zod';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { upstreamAlgorithms } from '../../../tokens/upstream-id-token.ts';
import { clientId } from '../settings.ts';

export const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

export const oidcSettings = z.strictObject({
  issuer: text(500).min(1, rule('empty')).describe('The issuer, exactly as its discovery document says.'),
  client_id: clientId,
  token_endpoint_auth_method: z
    .enum(authMethods)
    .default('client_secret_basic')
    .describe('How this service authenticates at the provider.'),
  client_assertion_audience: z
    .enum(['issuer', 'token_endpoint'])
    .default('issuer')
    .describe('With private_key_jwt: what the assertion names as its audience.'),
  scope: text(500).default('openid profile email').describe('The scopes to ask for; openid is always among them.'),
  response_mode: z
    .enum(['query', 'form_post'])
    .default('query')
    .describe('How the answer arrives: in the address, or posted by a page of the provider.'),
  groups_claim: text(200).default('groups').describe('The path of the claim that has the groups.'),
  userinfo: z.boolean().default(true).describe('Whether UserInfo is read, if the provider has it.'),
  id_token_signed_response_alg: z
    .enum(upstreamAlgorithms)
    .optional()
    .describe('The only algorithm of ID Tokens; without it each secure one.'),
});
export type OidcSettings = z.infer<typeof oidcSettings>;

const address = z.string().max(2000);
/** The members of the discovery document that the service uses. */
export const discoveryShape = z.object({
  issuer: z.string(),
  authorization_endpoint: address,
  token_endpoint: address,
  jwks_uri: address,
  userinfo_endpoint: address.optional(),
  end_session_endpoint: address.optional(),
  pushed_authorization_request_endpoint: address.optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
export type OidcDiscovery = z.infer<typeof discoveryShape>;
