// Verifies the logout token of a connection as strictly as its ID Tokens (OpenID Connect Back-Channel Logout 2.6, federation FR19).
import { clockTolerance, isSessionName, isSubject } from '../rules/connections/connection-answer.ts';
import type { ReadJwks } from './client-signature.ts';
import { type ExpectedIdToken, IdTokenRefused, verifiedUpstream } from './upstream-id-token.ts';

const event = 'http://schemas.openid.net/event/backchannel-logout';

/** In seconds: an older token is refused, so that its `jti` need not be kept longer. */
export const maxLogoutTokenAge = 600;

/** Which session, or whose sessions, a logout token ends. */
export interface UpstreamLogout {
  issuer: string;
  jti: string;
  sid: string | undefined;
  subject: string | undefined;
}

/** @throws IdTokenRefused, FetchRefused */
export async function verifyUpstreamLogoutToken(
  token: string,
  jwks: ReadJwks,
  expected: Omit<ExpectedIdToken, 'nonce'>,
): Promise<UpstreamLogout> {
  const { payload, typ } = await verifiedUpstream(token, jwks, expected, ['iat', 'jti', 'events']);
  // older providers use the type of every JWT
  if (typ !== undefined && !['jwt', 'logout+jwt', 'application/logout+jwt'].includes(typ.toLowerCase()))
    throw new IdTokenRefused('typ is not that of a logout token');
  const { sub, sid, jti, iat, aud, events } = payload as Record<string, unknown>;
  if (payload['nonce'] !== undefined) throw new IdTokenRefused('it has a nonce, as only ID Tokens do');
  if (!isLogoutEvent(events)) throw new IdTokenRefused('events does not name a back-channel logout');
  if (Array.isArray(aud) && aud.length > 1) throw new IdTokenRefused('aud has others');
  if (!isSessionName(jti)) throw new IdTokenRefused('jti is no text of 1 to 255 characters');
  const age = expected.now.getTime() / 1000 - Number(iat);
  if (age > maxLogoutTokenAge || age < -clockTolerance) throw new IdTokenRefused('iat is not a moment ago');
  if (sub === undefined && sid === undefined) throw new IdTokenRefused('it names neither sub nor sid');
  if (sub !== undefined && !isSubject(sub)) throw new IdTokenRefused('sub is no text of 1 to 255 bytes');
  if (sid !== undefined && !isSessionName(sid)) throw new IdTokenRefused('sid is no text of 1 to 255 characters');
  return { issuer: payload.iss!, jti, sid, subject: sub };
}

function isLogoutEvent(events: unknown): boolean {
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, event)) return false;
  const value = (events as Record<string, unknown>)[event];
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
