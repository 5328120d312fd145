// Mints the assertion by which the application of a protected site learns who its user is without trust in headers (federation 13).
import { authTimeClaim } from '../oauth/acr.ts';
import { signJwt } from './id-token.ts';
import type { KeyRing } from './key-ring.ts';

export interface SiteAssertionContent {
  issuer: string;
  host: string;
  sub: string;
  sid: string;
  authTime: Date;
  amr: string[];
  /** The claims of the user, as the headers have them. */
  claims: Readonly<Record<string, unknown>>;
}

const lifetime = 60; // seconds

/** Has a type of its own, and the host as its audience, so that no other reader takes it for a token (RFC 8725 3.11). */
export function mintSiteAssertion(ring: KeyRing, content: SiteAssertionContent): Promise<string> {
  const issuedAt = Math.floor(ring.now().getTime() / 1000);
  return signJwt(ring, { alg: 'ES256' }, 'gatehouse-assertion+jwt', {
    ...content.claims,
    sid: content.sid,
    ...authTimeClaim(content.authTime),
    amr: content.amr,
    iss: content.issuer,
    sub: content.sub,
    aud: `https://${content.host}`,
    iat: issuedAt,
    exp: issuedAt + lifetime,
  });
}
