// Decides what becomes of the secret of a connection whose address is changed: no other site gets it (security R162).
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Connection, ConnectionMembers } from '../../repositories/connections/connections.ts';
import type { ConnectionVariant } from './kind.ts';

/**
 * What becomes of the secret: one that was given to the other side of an address never goes to another one (security R162).
 * @throws OAuthError invalid_request if it has to be entered again
 */
export function secretAt(
  variant: ConnectionVariant,
  { settings }: ConnectionMembers,
  { secretEncrypted }: Connection,
  secret: string | null | undefined,
  isMoved: boolean,
): string | null | undefined {
  if (!isMoved || secret !== undefined || !secretEncrypted) return secret;
  // one that is not in use now must not be used there later
  if (variant.profile(settings).credential !== 'secret') return null;
  throw invalidRequest(refusal('connection.secret-moved', 'secret'));
}

/** Whether an address among the settings leads to another origin than before. */
export function hasMoved(variant: ConnectionVariant, before: ConnectionMembers, after: ConnectionMembers): boolean {
  // an older version may have stored no defaults
  const stored = variant.settings.safeParse(before.settings).data ?? before.settings;
  return Object.entries(after.settings).some(([name, value]) => {
    const origin = originIn(value);
    return origin !== undefined && origin !== originIn(stored[name]);
  });
}

function originIn(value: unknown): string | undefined {
  const url = typeof value === 'string' && /^(https?|ldaps?):/i.test(value) ? URL.parse(value) : null;
  return url ? `${url.protocol}//${url.host}` : undefined;
}
