// Uses each DPoP proof once, for all instances (table dpop_proofs).
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';

/** A verified proof of a request, as far as its use is stored. */
export interface UsedProof {
  /** Of the key and `jti`. */
  hash: Buffer;
  /** When it was made, in seconds since 1970: its `iat`, or with a nonce of the service the end of the nonce's slot. */
  iat: number;
  /** Whether it has a nonce of the service, which some clients need. */
  hasNonce?: boolean;
}

/** A proof that goes with a token. */
export interface PresentedProof extends UsedProof {
  binding: { jkt: string };
  hasNonce: boolean;
}

/** What became of a proof that goes with a token: it is used only where the token is bound to its key. */
export type ProofUse = 'used' | 'replayed' | 'needs nonce' | 'of another key';

/** The number of tables in the ring. */
const slots = 16;

const proofIsKnown = storedFunction(new URL('proof_is_known.sql', import.meta.url));
/** Returns true for a proof that was not used before. It is called where everything else allows the request. */
export const useProof = storedFunction(new URL('use_proof.sql', import.meta.url), [proofIsKnown]);

/** The parameter of use_proof(). */
export const usedProof = (proof: UsedProof | undefined) =>
  proof && {
    slot: Math.floor(proof.iat / 60) % slots,
    hash: proof.hash.toString('hex'),
    iat: proof.iat,
    has_nonce: proof.hasNonce ?? false,
  };

/** The columns that a statement returns which uses a proof. */
export interface ProofUseRow {
  /** Null where the proof was not used. */
  proof_is_new: boolean | null;
  wants_nonce: boolean;
}

/** The values of the parameters of proofUse(). */
export const proofValues = (proof: PresentedProof) => [usedProof(proof), proof.binding.jkt, proof.hasNonce];
/** The types of these parameters. */
export const proofTypes = ['jsonb', 'text', 'boolean'] as const;

/**
 * Selects a token, and uses the proof if the token is bound to its key.
 * @param found makes the SELECT of the token, with its `cnf` and `wants_nonce`
 */
export const withProofUse = (found: string, [proof, jkt, hasNonce]: readonly [string, string, string]) =>
  `SELECT found.*, CASE WHEN found.cnf ->> 'jkt' = ${jkt} AND (${hasNonce} OR NOT found.wants_nonce)
                        THEN ${useProof.name}(${proof}) END AS proof_is_new
     FROM (${found}) AS found`;

/** Whether the client of a token needs a nonce in each proof. */
export const wantsNonce = `c.metadata -> 'dpop_nonce' IS NOT DISTINCT FROM 'true' AS wants_nonce`;

export function toProofUse(
  { proof_is_new: isNew, wants_nonce: wantsNonce }: ProofUseRow,
  { hasNonce }: PresentedProof,
): ProofUse {
  if (isNew !== null) return isNew ? 'used' : 'replayed';
  return wantsNonce && !hasNonce ? 'needs nonce' : 'of another key';
}

const emptyOldProofs = storedFunction(new URL('empty_old_proofs.sql', import.meta.url));
const empty = statement('dpop_proofs.empty', `SELECT ${emptyOldProofs.name}() AS emptied`);

export function dpopProofsRepository(sql: Sql) {
  return {
    /** Empties the tables of minutes whose proofs are no longer accepted, and returns their number. Called every minute or more often. */
    async empty(): Promise<number> {
      const [row] = await sql.query<{ emptied: number }>(empty);
      return row!.emptied;
    },
  };
}
