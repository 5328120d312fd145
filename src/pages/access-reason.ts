// Names the reason for which a user may not use a client, as its page says it.
import type { AccessRefusal } from '../oauth/access.ts';
import type { Pages } from './views/index.ts';

/** A user cannot tell more apart; a user who may use the client meanwhile reads the most common reason. */
export function refusedReason(access: 'yes' | AccessRefusal): NonNullable<Pages['access-denied']['reason']> {
  if (access === 'network') return 'network';
  return access === 'connection_not_allowed' ? 'connection' : 'group';
}
