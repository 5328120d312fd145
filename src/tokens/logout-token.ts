// Mints a Logout Token for each delivery attempt (OpenID Connect Back-Channel Logout 1.0 section 2.4).
import { randomUUID } from 'node:crypto';
import { type ResponseKey, signJwt } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

export interface LogoutTokenContent {
  issuer: string;
  clientId: string;
  sub: string;
  sid: string;
  issuedAt: Date;
}

const lifetime = 120; // seconds: the maximum that the standard recommends
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** @param key the key that signs the client's ID Tokens */
export function mintLogoutToken(ring: KeyRing, key: ResponseKey, content: LogoutTokenContent): Promise<string> {
  const issuedAt = Math.floor(content.issuedAt.getTime() / 1000);
  return signJwt(ring, key, 'logout+jwt', {
    sid: content.sid,
    events: { [logoutEvent]: {} },
    iss: content.issuer,
    sub: content.sub,
    aud: content.clientId,
    iat: issuedAt,
    exp: issuedAt + lifetime,
    jti: randomUUID(),
  });
}
