// Plays another authorization server: makes its keys, and signs assertions about users, good ones and crafted ones (RFC 7523).
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { jwtBearerGrant } from '../../src/oauth/registrable-values.ts';
import type { Answer } from './grants.ts';
import type { TestClient } from './service.ts';
import { tokenRequest } from './user-agent.ts';

export interface Issuer {
  issuer: string;
  jwks: { keys: JWK[] };
  /** An assertion for an audience. Claims and members of the header replace or, as undefined, remove those of a good one. */
  sign(audience: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

export async function createIssuer(issuer: string): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = randomUUID();
  return {
    issuer,
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }] },
    sign(audience, claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const content = {
        iss: issuer,
        sub: 'them',
        aud: audience,
        iat: now,
        exp: now + 200,
        jti: randomUUID(),
        ...claims,
      };
      return new SignJWT(content).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(privateKey);
    },
  };
}

export const assertionMetadata = { redirect_uris: [], response_types: [], grant_types: [jwtBearerGrant] };

/** Presents an assertion. */
export const present = (
  base: string,
  client: Pick<TestClient, 'basic'>,
  assertion: string,
  fields: Record<string, string> = {},
): Promise<Answer> => tokenRequest(base, client, { grant_type: jwtBearerGrant, assertion, ...fields });
