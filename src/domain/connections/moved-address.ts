// Decides whether a connection keeps its secret when its address changes: no other site gets the secret (security R162).
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Connection, ConnectionMembers } from '../../entities/connections.ts';
import type { ConnectionVariant } from './kind.ts';

/**
 * Decides about the secret. The service never sends a secret that one site issued to another site (security R162).
 * @throws OAuthError invalid_request if the administrator must enter the secret again
 */
export function secretAt(
  variant: ConnectionVariant,
  { settings }: ConnectionMembers,
  { secretEncrypted }: Connection,
  secret: string | null | undefined,
  isMoved: boolean,
): string | null | undefined {
  if (!isMoved || secret !== undefined || !secretEncrypted) return secret;
  // the new site must not get an unused secret later either
  if (variant.profile(settings).credential !== 'secret') return null;
  throw invalidRequest(refusal('connection.secret-moved', 'secret'));
}

/** Whether an address among the settings has another origin than before. */
export function hasMoved(variant: ConnectionVariant, before: ConnectionMembers, after: ConnectionMembers): boolean {
  // an older version may have stored no defaults
  const stored = variant.shape.safeParse(before.settings).data ?? before.settings;
  return Object.entries(after.settings).some(([name, value]) => {
    const origin = originIn(value);
    return origin !== undefined && origin !== originIn(stored[name]);
  });
}

function originIn(value: unknown): string | undefined {
  const url = typeof value === 'string' && /^(https?|ldaps?):/i.test(value) ? URL.parse(value) : null;
  return url ? `${url.protocol}//${url.host}` : undefined;
}
