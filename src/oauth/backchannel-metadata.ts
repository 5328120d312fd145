// Declares and checks the metadata of clients that ask users by backchannel requests (OpenID Connect CIBA Core 4).
import { z } from 'zod';
import { isWebUri } from './redirect-uri.ts';
import { type Refusal, refusal, rule } from './refusals.ts';
import { cibaGrant } from './registrable-values.ts';

/** How a client learns of the decision. Push is not built: FAPI-CIBA 5.2.2 forbids it. */
export const deliveryModes = ['poll', 'ping'] as const;
/** The algorithms of signed backchannel requests (FAPI-CIBA 5.2.2). */
export const backchannelSigningAlgorithms = ['PS256', 'ES256'] as const;

export const backchannelMembers = {
  backchannel_token_delivery_mode: z
    .enum(deliveryModes, rule('choice.delivery'))
    .optional()
    .describe('How the client learns of the answer of a user (CIBA): it polls, or gets a ping.'),
  backchannel_client_notification_endpoint: z
    .string(rule('string'))
    .refine(isWebUri, rule('web-address'))
    .optional()
    .describe('The address that gets the pings.'),
  backchannel_authentication_request_signing_alg: z
    .enum(backchannelSigningAlgorithms, rule('choice.algorithm'))
    .optional()
    .describe('The client signs its backchannel requests with this algorithm, and can send no others.'),
};

type Members = z.infer<z.ZodObject<typeof backchannelMembers>> & {
  grant_types: string[];
  jwks?: unknown;
  jwks_uri?: string | undefined;
};

/** What is wrong with these members together. A client that names no mode polls: the member is then set. */
export function backchannelRefusal(metadata: Members): Refusal | undefined {
  const alg = metadata.backchannel_authentication_request_signing_alg;
  if (metadata.grant_types.includes(cibaGrant)) metadata.backchannel_token_delivery_mode ??= 'poll';
  if (
    metadata.backchannel_token_delivery_mode === 'ping' &&
    metadata.backchannel_client_notification_endpoint === undefined
  )
    return refusal('backchannel.endpoint', 'backchannel_client_notification_endpoint');
  if (alg !== undefined && !metadata.jwks && metadata.jwks_uri === undefined)
    return refusal('backchannel.keys', 'jwks', { alg });
  return undefined;
}
