// Decides which members of a connection move what the service trusts, for the events of a change and for what a change ends.
import { isDeepStrictEqual } from 'node:util';
import type { ConnectionMembers } from '../../repositories/connections/connections.ts';
import type { ConnectionVariant } from '../connections/kind.ts';

type Trust = Record<string, string | boolean | string[]>;

/** The settings that decide which identities the connection accepts, as text. */
export const sideOf = ({ trusted }: ConnectionVariant, { settings }: ConnectionMembers): Record<string, string> =>
  Object.fromEntries(trusted.map((name) => [name, String(settings[name] ?? '')]));

/** The name of a changed setting that changes the subjects of the answers: a linked subject could then be another user (security R165). */
export const otherSubject = (before: ConnectionMembers, after: ConnectionMembers): string | undefined =>
  ['subject_claim', 'id_attribute'].find((name) => before.settings[name] !== after.settings[name]);

/** The members and settings that decide about trust, as text for the audit event. Never a secret (federation FR14). */
export function trustOf(variant: ConnectionVariant, members: ConnectionMembers): Trust {
  const { domains, authoritativeDomains, trustEmail, trustMfa, mfaValues, subdomains, enforced, linking } = members;
  return {
    authoritative_domains: authoritativeDomains,
    trust_mfa: trustMfa,
    mfa_values: mfaValues,
    subdomains,
    linking,
    domains,
    enforced,
    trust_email: trustEmail,
    ...sideOf(variant, members),
  };
}

export function differences(before: Trust, after: Trust): Trust {
  const which = Object.keys(after).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(
    which.flatMap((name) => [[`${name}_before`, before[name]!] as const, [name, after[name]!] as const]),
  );
}
