// Follows a group that gets another name, or ends, in what names groups: lists, and the entries of connected servers.

/** Each name once, with another one in the place of the first. */
export const renamedIn = (groups: readonly string[], name: string, to: string): string[] => [
  ...new Set(groups.map((each) => (each === name ? to : each))),
];

/** The groups, and a second one where the first is among them. */
export const alsoIn = (groups: readonly string[], name: string, second: string): string[] =>
  groups.includes(name) ? [...new Set([...groups, second])] : [...groups];

/**
 * Removes a group from entries that admit its members. An entry with no other group goes with it: without a group it would admit all users.
 */
export const endedIn = <Entry extends { groups: string[] }>(entries: readonly Entry[], name: string): Entry[] =>
  entries.flatMap((entry) => {
    if (!entry.groups.includes(name)) return [entry];
    const groups = entry.groups.filter((each) => each !== name);
    return groups.length > 0 ? [{ ...entry, groups }] : [];
  });
