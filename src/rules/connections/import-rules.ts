// Decides whether an import of a directory may disable so many users without the yes of an administrator (federation FR16).

/** Fewer are always allowed, so that a small directory can lose a user. */
const alwaysAllowed = 5;
const share = 0.1;

/**
 * Whether the import has to wait for an administrator.
 * @param disabling how many users it would disable
 * @param enabled how many enabled users it looks after, these among them
 * @param approved how many an administrator has allowed
 */
export const isHeld = (disabling: number, enabled: number, approved = 0): boolean =>
  disabling > alwaysAllowed && disabling > enabled * share && disabling > approved;
