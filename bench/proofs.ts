// Makes the DPoP proofs of a benchmark's client (RFC 9449 4.2): quickly, since the load must cost less than the servers.
import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto';

/** @param path of the request @param token the access token that it presents */
export type MakeProof = (method: string, path: string, token?: string) => string;

/** @param base the address of the server */
export function proofsFor(base: string): MakeProof {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } });
  return (method, path, token) => {
    const payload = {
      jti: randomUUID(),
      htm: method,
      htu: base + path,
      iat: Math.floor(Date.now() / 1000),
      ...(token !== undefined && { ath: hash('sha256', token, 'base64url') }),
    };
    const text = `${header}.${encode(payload)}`;
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
}
