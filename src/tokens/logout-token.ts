// Logout Tokens (OpenID Connect Back-Channel Logout 1.0 section 2.4): minted anew for each attempt to deliver one.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { ResponseKey } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

export interface LogoutTokenContent {
  issuer: string;
  clientId: string;
  sub: string;
  sid: string;
  issuedAt: Date;
}

const lifetime = 120; // seconds: what the standard recommends at most
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** @param key the same that signs the client's ID Tokens */
export function mintLogoutToken(ring: KeyRing, key: ResponseKey, content: LogoutTokenContent): Promise<string> {
  const issuedAt = Math.floor(content.issuedAt.getTime() / 1000);
  const token = new SignJWT({ sid: content.sid, events: { [logoutEvent]: {} } })
    .setIssuer(content.issuer)
    .setSubject(content.sub)
    .setAudience(content.clientId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetime)
    .setJti(randomUUID());
  // the explicit type keeps it from being taken for an ID Token (RFC 8725 section 3.11)
  const typ = 'logout+jwt';
  if (key.alg === 'HS256') return token.setProtectedHeader({ alg: 'HS256', typ }).sign(key.secret);
  const signing = ring.signingKey(key.alg);
  return token.setProtectedHeader({ alg: key.alg, kid: signing.kid, typ }).sign(signing.privateKey);
}
