// Collects the lookups and settings on which the verification of an authorization request depends.
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { RequestObjects } from '../../tokens/request-object.ts';
import { findTargets, type Target, type TargetRequest } from '../../sender-constraint/audience.ts';
import { type AskedDetail, findDetails, findTargetsOf } from '../../sender-constraint/authorization-details.ts';
import type { Fapi2Profile } from '../../oauth/fapi2.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import { promptValues } from '../../oauth/prompt.ts';

export interface VerificationContext {
  findClient: ClientCache['find'];
  /** @throws OAuthError invalid_target, invalid_scope */
  findTargets: (request: TargetRequest, details?: readonly AskedDetail[]) => Target[] | Promise<Target[]>;
  /** @throws OAuthError invalid_authorization_details */
  findDetails: (client: Client, parameter: string) => Promise<AskedDetail[]>;
  clientSecret: (client: Client) => Buffer | undefined;
  requestObjects: RequestObjects;
  requirePkce: boolean;
  /** Whether the name localhost is a loopback address (security R23). */
  localhost: boolean;
  /** The values that `prompt` may hold. */
  prompts: readonly string[];
  /** The profile that every client must follow. */
  fapi2: Fapi2Profile | undefined;
  /** Whether every request has to be pushed. */
  requirePushed: boolean;
}

export interface VerificationDependencies {
  config: Config;
  store: Store;
  clients: ClientCache;
  tokens: TokenService;
  requestObjects: RequestObjects;
}

export function verificationContext({
  config,
  store,
  clients,
  tokens,
  requestObjects,
}: VerificationDependencies): VerificationContext {
  return {
    findClient: clients.find,
    findTargets: (request, details) =>
      details ? findTargetsOf(store, config.issuer, request, details) : findTargets(store, config.issuer, request),
    findDetails: (client, parameter) => findDetails(store, client, parameter),
    clientSecret: tokens.clientSecret,
    requestObjects,
    requirePkce: config.requirePkce,
    localhost: config.loopbackLocalhost,
    prompts: promptValues(config),
    fapi2: config.fapi2,
    requirePushed: config.requirePushedRequests,
  };
}
