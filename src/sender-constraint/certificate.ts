// Decides by which key the tokens of a request are bound: that of its DPoP proof, else that of its certificate (RFC 8705 3, security R134).
import { type Binding, isBoundFor, satisfies } from '../oauth/binding.ts';
import { certificateMissing, invalidRequest, invalidToken, proofMissing } from '../oauth/errors.ts';
import type { Client } from '../repositories/clients/clients.ts';
import type { PresentedCertificate } from '../server/client-certificate.ts';
import type { DpopProof } from './dpop.ts';

/** The keys of a token request. */
export interface Keys {
  /** The key to which its tokens are bound. */
  binding: Binding;
  /** The key that the request proves, to which a resource may demand that its tokens are bound. */
  held: Binding;
}

/**
 * The keys of a token request. A certificate binds only where the client, its profile or the resource wants it. Both kinds are never combined: a
 * proof counts before a certificate.
 * @throws OAuthError invalid_dpop_proof or invalid_request, where the client needs bound tokens
 */
export function keysOf(
  { rules, metadata }: Pick<Client, 'rules' | 'metadata'>,
  proof: Pick<DpopProof, 'binding'> | undefined,
  presented: PresentedCertificate | undefined,
): Keys {
  const { neededBinding } = rules;
  if (proof) return { binding: proof.binding, held: proof.binding };
  if (presented && !presented.isCurrent)
    throw invalidRequest('the client certificate has expired, or is not valid yet');
  const held: Binding = presented ? { x5t: presented.certificate.x5t } : 'none';
  if (!isBoundFor(neededBinding, held))
    throw metadata.tls_client_certificate_bound_access_tokens === true && neededBinding !== 'dpop'
      ? certificateMissing()
      : proofMissing('client');
  return { binding: neededBinding === 'none' ? 'none' : held, held };
}

/** Refuses a token that is bound to another certificate than that of the request. @throws OAuthError invalid_token */
export function requireCertificate(
  presented: PresentedCertificate | undefined,
  binding: Binding,
  name: 'token' | 'access token',
): void {
  if (!presented)
    throw invalidToken(`the ${name} is bound to a certificate: send it to the mTLS address, with this certificate`);
  if (!presented.isCurrent) throw invalidToken('the client certificate has expired, or is not valid yet');
  if (!satisfies({ x5t: presented.certificate.x5t }, binding))
    throw invalidToken(`the ${name} is bound to another certificate than that of the connection`);
}
