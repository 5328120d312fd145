// Holds the settings of a connection by OpenID Connect, and what its provider publishes about itself (OpenID Connect Discovery 3).
import { z } from 'zod';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { upstreamAlgorithms } from '../../../tokens/upstream-id-token.ts';

export const authMethods = ['client_secret_basic', 'client_secret_post'] as const;

export const oidcSettings = z.strictObject({
  issuer: text(500).min(1, rule('empty')).describe('The issuer, exactly as its discovery document says.'),
  client_id: text(500).min(1, rule('empty')).describe('The id of this service at the provider.'),
  token_endpoint_auth_method: z
    .enum(authMethods)
    .default('client_secret_basic')
    .describe('How this service authenticates at the provider.'),
  scope: text(500).default('openid profile email').describe('The scopes to ask for; openid is always among them.'),
  groups_claim: text(200).default('groups').describe('The path of the claim that has the groups.'),
  userinfo: z.boolean().default(true).describe('Whether UserInfo is read, if the provider has it.'),
  id_token_signed_response_alg: z
    .enum(upstreamAlgorithms)
    .optional()
    .describe('The only algorithm of ID Tokens; without it each secure one.'),
});
export type OidcSettings = z.infer<typeof oidcSettings>;

/** The part of the discovery document that is used. */
export interface OidcDiscovery {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  userinfo_endpoint?: string | undefined;
  end_session_endpoint?: string | undefined;
  pushed_authorization_request_endpoint?: string | undefined;
  authorization_response_iss_parameter_supported?: boolean | undefined;
}

const address = z.string().max(2000);
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
