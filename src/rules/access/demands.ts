// Decides what a sign-in to a client has to reach whatever its request asks for: the level of client, resource and service, and consent.
import { multiFactor, preferredAcr } from '../../oauth/acr.ts';
import { covers, type Granted } from '../../oauth/granted.ts';

/** The settings REQUIRE_SECOND_FACTOR and REQUIRE_SECOND_FACTOR_GROUPS. */
export interface SecondFactorPolicy {
  of: 'off' | 'administrators' | 'everyone';
  groups: readonly string[];
}

/** A user, as far as the policy asks. */
export interface Member {
  admin: boolean;
  groups: readonly string[];
}

/** Who demands a level. */
export type DemandedBy = 'client' | 'resource' | 'service';

/** Whether the service itself demands a second factor of a user, whatever the client asks for. */
export function demandsSecondFactor({ of, groups }: SecondFactorPolicy, user: Member): boolean {
  if (of === 'everyone' || (of === 'administrators' && user.admin)) return true;
  return user.groups.some((group) => groups.includes(group));
}

/** Whether a sign-in continues with the second step: always for a user who has a second factor of any kind (security R127). */
export function needsSecondFactor(policy: SecondFactorPolicy, user: Member & { enrolled: boolean }): boolean {
  return user.enrolled || demandsSecondFactor(policy, user);
}

/** Whether the service may demand a second factor of a user who has none. */
export function mayNeedSecondFactor({ of, groups }: SecondFactorPolicy): boolean {
  return of !== 'off' || groups.length > 0;
}

/** The first demanded level that a sign-in by these methods does not reach. */
export function missingDemand(
  client: { requiredAcr: string | undefined },
  resourceAcrs: readonly string[],
  policy: SecondFactorPolicy,
  user: Member,
  amr: readonly string[],
): { level: string; by: DemandedBy } | undefined {
  const misses = (level: string) => preferredAcr([level], amr) === undefined;
  if (client.requiredAcr !== undefined && misses(client.requiredAcr))
    return { level: client.requiredAcr, by: 'client' };
  const ofResource = resourceAcrs.find(misses);
  if (ofResource !== undefined) return { level: ofResource, by: 'resource' };
  return demandsSecondFactor(policy, user) && misses(multiFactor) ? { level: multiFactor, by: 'service' } : undefined;
}

/** Whether an earlier consent covers what is asked. A client that no administrator has reviewed asks again for each redirect URI (security R11, A25). */
export function grantCovers(
  grant: (Granted & { redirectUris: readonly string[] }) | undefined,
  client: { selfRegistered: boolean },
  asked: Granted & { redirectUri: string },
): boolean {
  if (!grant || !covers(grant, asked)) return false;
  return !client.selfRegistered || grant.redirectUris.includes(asked.redirectUri);
}
