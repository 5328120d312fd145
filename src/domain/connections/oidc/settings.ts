// Holds the settings of a connection by OpenID Connect, and the metadata that its provider publishes (OpenID Connect Discovery 3).
import { z } from 'zod';
import { member, type ValuesOf } from '../../../entities/entity.ts';
import { rule } from '../../../oauth/refusals.ts';
import { text } from '../../../oauth/text.ts';
import { upstreamAlgorithms } from '../../../tokens/upstream-id-token.ts';
import { readerOf } from '../kind.ts';
import { authMethod, clientId, responseMode } from '../settings.ts';

export const oidcSettings = {
  issuer: member('The issuer, exactly as its discovery document says.', text(500).min(1, rule('empty')), {
    required: true,
    trust: true,
    form: 'text',
  }),
  client_id: clientId,
  scope: member('The scopes to ask for; openid is always among them.', text(500), {
    start: 'openid profile email',
    group: 'protocol',
    form: 'text',
  }),
  groups_claim: member('The path of the claim that has the groups.', text(200), {
    start: 'groups',
    group: 'groups',
    form: 'text',
  }),
  token_endpoint_auth_method: authMethod,
  response_mode: responseMode,
  client_assertion_audience: member(
    'With private_key_jwt: what the assertion names as its audience.',
    z.enum(['issuer', 'token_endpoint']),
    { start: 'issuer' },
  ),
  userinfo: member('Whether UserInfo is read, if the provider has it.', z.boolean(), { start: true }),
  id_token_signed_response_alg: member(
    'The only algorithm of ID Tokens; without it each secure one.',
    z.enum(upstreamAlgorithms),
    { trust: true },
  ),
};
export type OidcSettings = ValuesOf<typeof oidcSettings>;
/** @throws z.ZodError */
export const readSettings = readerOf(oidcSettings);

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
