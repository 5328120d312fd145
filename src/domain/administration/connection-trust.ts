// Decides which settings of a connection move what the service trusts, for the events of a change and for what a change ends.
import { isDeepStrictEqual } from 'node:util';
import type { ConnectionMembers } from '../../entities/connections.ts';
import type { ConnectionVariant } from '../connections/kind.ts';

type Trust = Record<string, string | boolean | string[]>;
type Kept = Pick<ConnectionMembers, 'settings'>;

/** The settings that decide which identities the connection accepts, as text. */
export const sideOf = (variant: ConnectionVariant, { settings }: Kept): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variant.settings).flatMap(([name, { trust }]) =>
      trust ? [[name, String(settings[name] ?? '')]] : [],
    ),
  );

/** The name of a changed setting that changes the subjects of the answers: a linked subject could then be another user (security R165). */
export const otherSubject = (before: Kept, after: Kept): string | undefined =>
  ['subject_claim', 'id_attribute', 'subject_attribute', 'name_id_format'].find(
    (name) => before.settings[name] !== after.settings[name],
  );

/** The old and the new values of what differs, for the event of a change. */
export function differences(before: Trust, after: Trust): Trust {
  const which = Object.keys(after).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(
    which.flatMap((name) => [[`${name}_before`, before[name]!] as const, [name, after[name]!] as const]),
  );
}
