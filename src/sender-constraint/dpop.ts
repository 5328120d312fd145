// Reads the DPoP proof of a request: what it proves, and the nonces that the service asks for (RFC 9449 4, 8, 9; security R134, R135).
import { hash, type KeyObject } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createSlotNonces } from '../crypto/slot-nonces.ts';
import { digest } from '../crypto/secrets.ts';
import { isFresh } from '../oauth/dpop-proof.ts';
import { invalidDpopProof, type OAuthError, useDpopNonce } from '../oauth/errors.ts';
import type { ClientCertificates } from '../server/client-certificate.ts';
import type { UsedProof } from '../repositories/tokens/dpop-proofs.ts';
import { ProofRefused, verifyProof } from '../tokens/dpop-proof.ts';

/** What a request proves. It counts once: the code that accepts it stores its use. */
export interface DpopProof extends UsedProof {
  binding: { jkt: string };
  /** Whether it has a nonce of ours that is still good. */
  hasNonce: boolean;
  /** Whether that nonce will not be good for long. */
  needsNewNonce: boolean;
}

export interface DpopOptions {
  issuer: string;
  /** The address for clients with certificates; undefined where the service takes none. */
  certificates?: ClientCertificates | undefined;
  /** Seconds for which a proof without a nonce is valid. */
  lifetime: number;
  /** Whether every proof needs a nonce. */
  nonceRequired: boolean;
  /** One for each SECRET_KEY, the first one makes nonces. */
  nonceKeys: readonly [KeyObject, ...KeyObject[]];
  /** The database's time. */
  now: () => Date;
}

/** Seconds in which the nonce stays the same; the former one is good as well. */
const nonceSlot = 300;

export type Dpop = ReturnType<typeof createDpop>;

export function createDpop({ issuer, certificates, lifetime, nonceRequired, nonceKeys, now }: DpopOptions) {
  const { origin } = new URL(issuer);
  const nonces = createSlotNonces(nonceKeys, nonceSlot, now);

  /**
   * The proof of a request; undefined without one.
   * @param options.token that the request presents with it
   * @param options.asksNonce whether the client needs a nonce in any case
   * @throws OAuthError invalid_dpop_proof or use_dpop_nonce: 401 with a token, else 400
   */
  async function read(
    request: FastifyRequest,
    { token, asksNonce = false }: { token?: string; asksNonce?: boolean } = {},
  ): Promise<DpopProof | undefined> {
    const { dpop: sent } = request.headers;
    if (sent === undefined) return undefined;
    const status = token === undefined ? 400 : 401;
    // the configured address, never Host or Forwarded: a proof for another host must not count here
    const own = certificates?.isAtAlias(request) ? new URL(certificates.baseUrl).origin : origin;
    const address = own + request.url.replace(/\?.*$/s, '');
    const tokenDigest = token === undefined ? undefined : hash('sha256', token, 'base64url');
    const proof = await verifyProof(String(sent), { method: request.method, address, tokenDigest }).catch(
      (error: unknown) => {
        throw error instanceof ProofRefused
          ? invalidDpopProof(`the DPoP proof is not valid: ${error.message}`, status)
          : error;
      },
    );
    const nonce = proof.nonce === undefined ? undefined : nonces.read(proof.nonce);
    if (nonce === undefined && (nonceRequired || asksNonce)) throw missingNonce(status);
    // a good nonce says when the proof was made, whatever the clock of the client says (RFC 9449 4.3, item 11)
    if (nonce === undefined && !isFresh(proof.iat, now(), lifetime))
      throw invalidDpopProof('the DPoP proof is too old or from the future: check iat and your clock', status);
    const { jkt, jti, iat } = proof;
    return {
      binding: { jkt },
      hash: digest('dpop-proof', `${jkt}.${jti}`),
      iat: nonce?.end ?? iat,
      hasNonce: nonce !== undefined,
      needsNewNonce: nonce?.slot === 'former',
    };
  }

  const missingNonce = (status: 400 | 401): OAuthError => useDpopNonce(nonces.current(), status);

  return {
    read,
    missingNonce,
    /** Gives the client the nonce of this slot when it used the former one (RFC 9449 8.2). */
    renewNonce(proof: DpopProof | undefined, reply: FastifyReply): void {
      if (proof?.needsNewNonce) reply.header('dpop-nonce', nonces.current());
    },
  };
}
