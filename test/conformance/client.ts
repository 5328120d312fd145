// Holds a client of a module, and authenticates it at the token endpoint (OpenID Connect Core 9, RFC 6749 2.3.1, RFC 7523).
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { KeyPair } from './bed/bed.ts';
import type { Variant } from './plans.ts';

export interface Client {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  authentication: Variant['authentication'];
  /** The registered metadata that decides about its tokens. */
  metadata: Record<string, unknown>;
  /** Its registration's own address and token, for a dynamic client. */
  configuration: { uri: string; token: string } | undefined;
  key: KeyPair;
  /** kid of its assertions, when its registered key has one. */
  kid: string | undefined;
}

/** The credentials of a request to the token endpoint. */
export async function proofOf(
  { clientId, clientSecret, authentication, key, kid }: Client,
  audience: string,
): Promise<{ fields: Record<string, string>; headers: Record<string, string> }> {
  switch (authentication) {
    case 'client_secret_basic': {
      // form-urlencoded before base64: every octet is written as %XX, so that a server that does not decode fails
      const credentials = `${percentEncode(clientId)}:${percentEncode(clientSecret)}`;
      return { fields: {}, headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
    }
    case 'client_secret_post':
      return { fields: { client_id: clientId, client_secret: clientSecret }, headers: {} };
    case 'private_key_jwt': {
      const now = Math.floor(Date.now() / 1000);
      const jwt = await new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg: 'RS256', ...(kid !== undefined && { kid }) })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(audience)
        .setNotBefore(now)
        .setIssuedAt(now)
        .setExpirationTime(now + 60)
        .sign(key.privateKey);
      const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
      return { fields: { client_assertion_type: type, client_assertion: jwt }, headers: {} };
    }
  }
}

function percentEncode(text: string): string {
  return [...Buffer.from(text)].map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
