// Declares the answers of the operations on exchange policies, trusted issuers, connected servers and types of authorization details.
import { z } from 'zod';
import { answerOf } from '../../entities/entity.ts';
import { connectedServers } from '../../entities/connected-servers.ts';
import { authorizationDetailsTypes } from '../../entities/authorization-details-types.ts';
import { exchangePolicies } from '../../entities/exchange-policies.ts';
import { trustedIssuers } from '../../entities/trusted-issuers.ts';

const policy = answerOf(exchangePolicies);
const issuer = answerOf(trustedIssuers);
const server = answerOf(connectedServers);
const detailsType = answerOf(authorizationDetailsTypes);

/** Of what a user granted to a client. */
export const grantedDetails = z
  .array(z.record(z.string(), z.unknown()))
  .optional()
  .describe('The authorization details that the user allowed and that are remembered.');

export const exchangeAnswers = {
  ExchangePolicy: policy,
  ExchangePolicyPage: z.object({ exchange_policies: z.array(policy), next_cursor: z.string().optional() }),
  TrustedIssuer: issuer,
  TrustedIssuerPage: z.object({ trusted_issuers: z.array(issuer), next_cursor: z.string().optional() }),
  ConnectedServer: server,
  ConnectedServerPage: z.object({ connected_servers: z.array(server), next_cursor: z.string().optional() }),
  AuthorizationDetailsType: detailsType,
  AuthorizationDetailsTypePage: z.object({
    authorization_details_types: z.array(detailsType),
    next_cursor: z.string().optional(),
  }),
} as const;
