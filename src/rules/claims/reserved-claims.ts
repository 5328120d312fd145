// Lists the claims that no attribute, scope or rule of an operator may make (federation 7, FR41).

/** Claims that only the service states: about the token, the sign-in, and verified values. */
export const reservedClaims: readonly string[] = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'nonce',
  'azp',
  'sid',
  'auth_time',
  'acr',
  'amr',
  'at_hash',
  'c_hash',
  's_hash',
  'cnf',
  'act',
  'may_act',
  'events',
  'sub_jwk',
  'sub_id',
  'email_verified',
  'phone_number_verified',
  '_claim_names',
  '_claim_sources',
  // the members of an introspection response (RFC 7662 2.2), and those of Gatehouse's own
  'active',
  'client_id',
  'username',
  'scope',
  'token_type',
  'extension_field',
  'extended_claims',
  'authorization_details',
];

/**
 * Whether an operator's rule may make a claim of this name. A reserved name in other case is refused, too: some applications compare names
 * regardless of case.
 */
export const mayMakeClaim = (name: string): boolean =>
  /^[!#-[\]-~]{1,255}$/.test(name) && !reservedClaims.includes(name.toLowerCase()) && !(name in Object.prototype);
