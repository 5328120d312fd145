// Says when a user authenticated, if that is known: a sign-in by a connection whose answer asserts no time has none (federation FR10).

/** What is stored in place of a time that nothing asserted: it is older than any demand. */
export const unknownAuthTime = new Date(0);

export const isKnownAuthTime = (at: Date): boolean => at.getTime() !== unknownAuthTime.getTime();

/** The claim `auth_time`, which is left out if the time is not known (OpenID Connect Core 2). */
export const authTimeClaim = (at: Date): { auth_time?: number } =>
  isKnownAuthTime(at) ? { auth_time: Math.floor(at.getTime() / 1000) } : {};
