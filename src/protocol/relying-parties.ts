// Lists the protocols whose requests the interaction carries through the pages of a sign-in.
import type { RelyingParty } from '../interaction/relying-party.ts';
import { authorizationParty, type AuthorizationPartyDependencies } from './authorization/relying-party.ts';
import { samlParty, type SamlPartyDependencies } from './saml/relying-party.ts';

/** Everything that a protocol can depend on; each declares what it needs. */
export type RelyingPartyDependencies = AuthorizationPartyDependencies & SamlPartyDependencies;

/** One line for each protocol. */
export const relyingParties: ((dependencies: RelyingPartyDependencies) => RelyingParty)[] = [
  authorizationParty,
  samlParty,
];
