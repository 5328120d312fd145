// Decides whether an administrator gave a client rights that no registration gives (security R44).
import { isAdministratorScope, splitScope } from '../../oauth/scope.ts';

/** What only an administrator sets, and what gives the client more than users or a registration give. */
export interface Trusted {
  firstParty: boolean;
  cibaTrusted: boolean;
  introspect: 'own' | 'any';
  scimSource: string | undefined;
  upstreamTokens: readonly string[];
  claimRules: readonly unknown[];
  metadata: { scope: string };
}

/**
 * Whether the client has such rights. They are for the client that the administrator looked at. So automatic approval, which looks at nothing,
 * approves no change of this client.
 */
export const hasGivenTrust = (client: Trusted): boolean =>
  client.firstParty ||
  client.cibaTrusted ||
  client.introspect === 'any' ||
  client.scimSource !== undefined ||
  client.upstreamTokens.length > 0 ||
  client.claimRules.length > 0 ||
  splitScope(client.metadata.scope).some(isAdministratorScope);
