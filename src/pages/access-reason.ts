// Names the reason for which a user may not use a client, as its page says it.
import type { AccessRefusal, AccessSituation } from '../rules/access/access.ts';
import { displayName } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { Pages } from './views/index.ts';

/** A user cannot tell more apart; a user who may use the client meanwhile reads the most common reason. */
export function refusedReason(access: 'yes' | AccessRefusal): NonNullable<Pages['access-denied']['reason']> {
  if (access === 'network') return 'network';
  return access === 'connection_not_allowed' ? 'connection' : 'group';
}

/** The refusal behind the page, for an administrator whom the user asks. */
export function notAdmitted(
  access: 'yes' | AccessRefusal,
  { clientId, metadata }: Client,
  sub: string,
  { from, by }: AccessSituation,
): OAuthError {
  const facts = {
    client_id: clientId,
    client_name: displayName(clientId, metadata),
    sub,
    ...(from?.address !== undefined && { address: from.address }),
    ...(by?.connection !== undefined && { connection: by.connection }),
  };
  return new OAuthError('access_denied', 'the user may not use this client', 403, { cause: access, facts });
}
