// Uses each DPoP proof once, for all instances (table dpop_proofs).
import { storedFunction } from '../../database/stored-functions.ts';

/** A verified proof of a request, as far as its use is stored. */
export interface UsedProof {
  /** Of the key and `jti`. */
  hash: Buffer;
  /** When the client made it, in seconds since 1970. */
  iat: number;
}

/** The number of tables in the ring. */
const slots = 16;

/** Returns true for a proof that was not used before. It is called where everything else allows the request. */
export const useProof = storedFunction(new URL('use_proof.sql', import.meta.url));

/** The parameter of use_proof(). */
export const usedProof = (proof: UsedProof | undefined) =>
  proof && { slot: Math.floor(proof.iat / 60) % slots, hash: proof.hash.toString('hex') };
