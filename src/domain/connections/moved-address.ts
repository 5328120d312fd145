// Decides whether a connection keeps its secret when its address changes: no other site gets the secret (security R162).
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { ConnectionMembers } from '../../entities/connections.ts';
import type { ConnectionVariant } from './kind.ts';

type Settings = Pick<ConnectionMembers, 'settings'>;

/**
 * Decides about the stored secret of a connection that moves. The service never sends a secret that one site issued to another site (security R162).
 * @returns null: the secret is removed
 * @throws OAuthError invalid_request if the administrator must enter the secret again
 */
export function secretAfterMove(variant: ConnectionVariant, { settings }: Settings): null {
  // the new site must not get an unused secret later either
  if (variant.profile(settings).credential !== 'secret') return null;
  throw invalidRequest(refusal('connection.secret-moved', 'secret'));
}

/** Whether an address among the settings has another origin than before, so that the secret would go to another site. */
export function hasMoved(variant: ConnectionVariant, before: Settings, after: Settings): boolean {
  if (variant.profile(after.settings).keepsSecret) return false;
  // an older version may have stored no defaults
  const stored = variant.shape.safeParse(before.settings).data ?? before.settings;
  return Object.entries(after.settings).some(([name, value]) => {
    const origin = originIn(value);
    return origin !== undefined && origin !== originIn(stored[name]);
  });
}

function originIn(value: unknown): string | undefined {
  // a URL may begin with a space, which is no part of it
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^(https?|ldaps?):$/.test(url.protocol) ? `${url.protocol}//${url.host}` : undefined;
}
