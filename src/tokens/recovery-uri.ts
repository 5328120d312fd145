// Builds the address of a recovery link.

/** The address that an administrator hands to a user who lost the password. */
export const recoveryUri = (issuer: string, token: string): string => `${issuer}/password/reset?token=${token}`;
