// Names the tables that an operator empties after a restore: their rows have been used, revoked or sent since the dump was made.

/** In the order of the documents; `CASCADE` empties the codes, tokens and handles of the sessions, too. */
export const emptiedAfterRestore = [
  'sessions',
  'client_sessions',
  'site_sessions',
  'saml_sessions',
  'access_tokens',
  'initial_access_tokens',
  'mailed_links',
  'sign_in_codes',
  'device_authorizations',
  'authorization_requests',
  'connection_steps',
  'outbox',
  'logout_deliveries',
  'webhook_deliveries',
] as const;

export const truncation = `TRUNCATE ${emptiedAfterRestore.join(', ')} CASCADE`;
