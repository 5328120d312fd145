// Decides whether an import of a directory may disable users without the approval of an administrator (federation FR16).

/** An import may always disable this many users, so that users can leave a small directory. */
const alwaysAllowed = 5;
const share = 0.1;

/**
 * Whether the import must wait for an administrator.
 * @param disabling the number of users that it would disable
 * @param enabled the number of enabled users who are linked to the directory, including these
 * @param approved the number that an administrator has approved
 */
export const isHeld = (disabling: number, enabled: number, approved = 0): boolean =>
  disabling > alwaysAllowed && disabling > enabled * share && disabling > approved;
