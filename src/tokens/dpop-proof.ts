// Verifies the signature of a DPoP proof by the key that it names (RFC 9449 4.3).
import { calculateJwkThumbprint, compactVerify, importJWK, type JWK } from 'jose';
import { faultOfHeader, type ProofClaims, type ProvedRequest, readProofClaims } from '../oauth/dpop-proof.ts';
import { hasUniqueNames } from '../oauth/json-text.ts';

/** The proof does not count. The message is for the client. */
export class ProofRefused extends Error {}

export interface SignedProof extends ProofClaims {
  /** The thumbprint of the key that signed it (RFC 7638). */
  jkt: string;
}

/** A compact JWS. Two headers of a request arrive as one text with a comma. */
const compact = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;
/** Characters: more than a proof with the largest key needs. */
const maxLength = 8192;

/** @throws ProofRefused */
export async function verifyProof(proof: string, request: ProvedRequest): Promise<SignedProof> {
  const parts = compact.exec(proof);
  if (!parts || proof.length > maxLength) throw new ProofRefused('send one DPoP header with one compact JWS');
  const header = readPart(parts[1]!, 'the header');
  const fault = faultOfHeader(header);
  if (fault !== undefined) throw new ProofRefused(fault);
  const claims = readProofClaims(readPart(parts[2]!, 'the payload'), request);
  if (typeof claims === 'string') throw new ProofRefused(claims);
  const { kty, crv, x, y, n, e } = header['jwk'] as JWK;
  const alg = header['alg'] as string;
  const key = { kty, crv, x, y, n, e } as JWK;
  try {
    await compactVerify(proof, await importJWK(key, alg), { algorithms: [alg] });
    return { ...claims, jkt: await calculateJwkThumbprint(key) };
  } catch (error) {
    // a key of the client can cause any error in the cryptography
    throw new ProofRefused('the signature cannot be verified by jwk', { cause: error });
  }
}

/** An object whose names are unique: of two equal ones, readers could take either. */
function readPart(part: string, name: string): Record<string, unknown> {
  try {
    const text = Buffer.from(part, 'base64url').toString();
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && hasUniqueNames(text, value))
      return value as Record<string, unknown>;
  } catch {
    // refused below
  }
  throw new ProofRefused(`${name} must be a JSON object without a repeated member`);
}
