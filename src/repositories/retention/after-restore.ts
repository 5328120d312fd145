// Names the tables that an operator empties after a restore, because their rows have been used, revoked or sent since the dump was made, and those that stay.

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
  'known_browsers',
  'sign_up_links',
  'scim_tokens',
  'upstream_tokens',
  'device_authorizations',
  'backchannel_requests',
  'authorization_requests',
  'connection_steps',
  'outbox',
  'logout_deliveries',
  'webhook_deliveries',
] as const;

export const truncation = `TRUNCATE ${emptiedAfterRestore.join(', ')} CASCADE`;

const kept: readonly (readonly [tables: string, reason: string])[] = [
  [
    'users passkeys authenticators recovery_codes',
    'Passwords and second factors. A recovery code that was used since works again. Users who were disabled or deleted since can sign in again. Set a new password for each user whose password became known since.',
  ],
  [
    'clients client_certificates',
    'The secrets of clients and protected sites, registration access tokens, and the certificates that clients have used. Renew each secret that was renewed since, and disable each client that was disabled or deleted since.',
  ],
  [
    'connections provisioning_targets webhooks',
    'The secrets for other services, and the keys of connections. Enter each secret again that was changed since.',
  ],
  [
    'signing_keys saml_keys',
    'The keys of the service. Replace each key again that was replaced since because it became known.',
  ],
  [
    'grants linked_identities removed_links',
    'Consents, and links to other providers. Those that ended since are there again.',
  ],
  [
    'group_memberships client_role_holders exchange_policies trusted_issuers connected_servers',
    'Rights. Those that were taken away since are there again: the stream of the audit trail and your configuration files say which.',
  ],
  ['deferred_registrations', 'Registrations that wait. One that was collected or refused since waits again.'],
  [
    'used_assertions used_grant_assertions used_logout_tokens used_challenges dpop_proofs',
    'What must not be used twice. The uses since the dump are forgotten. An assertion is valid for at most an hour: start the service an hour after the last one was used.',
  ],
  [
    'client_documents registration_keys form_outcomes doctor_probes',
    'Digests of texts, and values that expire within minutes. No one signs in with them.',
  ],
];

/** The tables with secrets or rights that stay, each with what an operator does about it. The guide has these lines, too. */
export const keptAfterRestore: ReadonlyMap<string, string> = new Map(
  kept.flatMap(([tables, reason]) => tables.split(' ').map((table) => [table, reason] as const)),
);
