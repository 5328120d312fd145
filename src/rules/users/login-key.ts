// Compares texts that name users as the database does: the readable form of the SQL function login_key().

/** A text in the form in which names, addresses and subs are compared (security R153). */
export const loginKey = (typed: string): string =>
  typed.normalize('NFKC').trim().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ');

/** Whether a text looks like a sub that the service makes: the sub of another user must not be the name of anyone. */
export const looksLikeSub = (typed: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(loginKey(typed));
