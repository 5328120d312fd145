// Who has to show a second factor whatever an application asks for: the settings REQUIRE_SECOND_FACTOR and REQUIRE_SECOND_FACTOR_GROUPS.
import type { Config } from '../config.ts';

export type SecondFactorPolicy = Config['secondFactor'];

/** Whether the service demands it of this person. */
export function mustShowSecondFactor(
  { of, groups }: SecondFactorPolicy,
  person: { admin: boolean; groups: readonly string[] },
): boolean {
  if (of === 'everyone' || (of === 'administrators' && person.admin)) return true;
  return person.groups.some((group) => groups.includes(group));
}
