// Makes what this service shows to the other side of a connection to authenticate as its client: assertions by a key of the connection's own, and Apple's secret.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, importPKCS8, type JWK, SignJWT } from 'jose';
import { randomSecret } from '../crypto/secrets.ts';

const alg = 'ES256';
/** An assertion serves one request. */
const assertionLifetime = 60; // seconds
const appleLifetime = 300; // seconds

export interface ConnectionKey {
  /** A private JWK as JSON. */
  privateKey: string;
  publicKey: JWK;
}

/** Makes the key by which a connection authenticates. */
export async function makeConnectionKey(): Promise<ConnectionKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const shown = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(shown);
  return {
    privateKey: JSON.stringify({ ...(await exportJWK(privateKey)), kid }),
    publicKey: { ...shown, kid, alg, use: 'sig' },
  };
}

/** Signs a client assertion (RFC 7523 3, OpenID Connect Core 9). @param key a private JWK as JSON */
export async function signClientAssertion(
  key: string,
  { clientId, audience, now }: { clientId: string; audience: string; now: Date },
): Promise<string> {
  const jwk = JSON.parse(key) as JWK & { kid: string };
  const seconds = Math.floor(now.getTime() / 1000);
  return new SignJWT({ jti: randomSecret() })
    .setProtectedHeader({ alg, kid: jwk.kid, typ: 'JWT' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + assertionLifetime)
    .sign(await importJWK(jwk, alg));
}

/** Makes the client secret that Apple asks for: a JWT of five minutes by the key that Apple gave. @param pem the .p8 file */
export async function signAppleSecret(
  pem: string,
  {
    teamId,
    keyId,
    clientId,
    audience,
    now,
  }: { teamId: string; keyId: string; clientId: string; audience: string; now: Date },
): Promise<string> {
  const seconds = Math.floor(now.getTime() / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg, kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + appleLifetime)
    .sign(await importPKCS8(pem.trim(), alg));
}

/** Whether a text is a private key for ES256, as a .p8 file has it. */
export const isAppleKey = (pem: string): Promise<boolean> =>
  importPKCS8(pem.trim(), alg).then(
    () => true,
    () => false,
  );
