// Decides whether the access token of a request is live, meant for this address, and sent as it has to be.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Binding } from '../oauth/binding.ts';
import { satisfies } from '../oauth/binding.ts';
import { invalidRequest, invalidToken, OAuthError, proofReused } from '../oauth/errors.ts';
import { type Audience, servesAt } from '../oauth/own-resource.ts';
import type { AccessToken } from '../repositories/tokens/access-tokens.ts';
import type { PresentedProof, ProofUse } from '../repositories/tokens/dpop-proofs.ts';
import type { Store } from '../repositories/store.ts';
import type { AuditTrail } from '../server/audit.ts';
import { bearerChallenge, resourceChallenge } from '../server/errors.ts';
import { opaqueTokenHash } from '../tokens/opaque-token.ts';
import type { ClientCertificates } from '../server/client-certificate.ts';
import { requireCertificate } from './certificate.ts';
import type { Dpop } from './dpop.ts';

/** What a token is checked against. */
export interface ProtectedResource {
  config: { readonly issuer: string };
  store: Pick<Store, 'accessTokens'>;
  dpop: Dpop;
  /** Undefined where the service takes no certificates. */
  certificates: ClientCertificates | undefined;
  audit: AuditTrail;
}

/** A token, and how the request presents it. */
export interface Presented {
  token: string;
  scheme: 'Bearer' | 'DPoP';
}

/** A token as it is found: what its use depends on. */
interface FoundToken {
  clientId: string;
  user: { sub: string } | undefined;
  restrictedTo: Audience | undefined;
  binding: Binding;
}

/** The two ways to find a token. */
export interface Lookup<Token extends FoundToken> {
  asBearer(): Promise<Token | undefined>;
  /** Uses the proof, if its key is that of the token. */
  withProof(proof: PresentedProof): Promise<{ token: Token; proof: ProofUse } | undefined>;
}

const anyScheme = /^(Bearer|DPoP) +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * The token in the Authorization header, under the scheme Bearer (RFC 6750 section 2.1).
 * @throws OAuthError 401 without an error code's details when there is none (RFC 6750 section 3.1)
 */
export function bearerToken(request: FastifyRequest): string {
  const match = anyScheme.exec(request.headers.authorization ?? '');
  if (match?.[1]!.toLowerCase() !== 'bearer')
    throw noToken('send the token as: Authorization: Bearer TOKEN', bearerChallenge);
  return match[2]!;
}

/**
 * The token in the Authorization header, under either scheme (RFC 6750 2.1, RFC 9449 7.1).
 * @throws OAuthError as bearerToken()
 */
export function presentedToken(request: FastifyRequest): Presented {
  const match = anyScheme.exec(request.headers.authorization ?? '');
  if (!match)
    throw noToken('send the token as: Authorization: Bearer TOKEN, or DPoP TOKEN with a proof', resourceChallenge);
  return { token: match[2]!, scheme: match[1]!.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer' };
}

const noToken = (description: string, challenge: string) =>
  new OAuthError('invalid_request', description, 401, { headers: { 'www-authenticate': challenge } });

/**
 * The access token of a request.
 * @param presented where the request carries it elsewhere than in the Authorization header
 * @throws OAuthError invalid_token, invalid_dpop_proof or use_dpop_nonce; 401 without a token
 */
export function requireAccessToken(
  resource: ProtectedResource,
  request: FastifyRequest,
  reply: FastifyReply,
  presented = presentedToken(request),
): Promise<AccessToken> {
  const hash = opaqueTokenHash('access_token', presented.token);
  const { accessTokens } = resource.store;
  return requireAccepted(resource, request, reply, presented, 'access token', {
    asBearer: async () => hash && accessTokens.find(hash),
    withProof: async (proof) => hash && accessTokens.findWithProof(hash, proof),
  });
}

/**
 * The token that a request presents, if the request proves the key that it is bound to, and if it serves at this address (security R115,
 * security R134).
 * @param name of what the address takes, for the refusal
 * @throws OAuthError
 */
export async function requireAccepted<Token extends FoundToken>(
  { config, dpop, certificates, audit }: Omit<ProtectedResource, 'store'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { token, scheme }: Presented,
  name: 'token' | 'access token',
  lookup: Lookup<Token>,
): Promise<Token> {
  const unknown = () => invalidToken(`the ${name} is unknown, expired or revoked`);
  if (scheme === 'Bearer') {
    const found = await lookup.asBearer();
    if (!found) throw unknown();
    const { binding } = found;
    if (binding !== 'none' && 'jkt' in binding)
      throw invalidToken(`the ${name} is bound to a key: send it as Authorization: DPoP, with a proof of this key`);
    if (binding !== 'none') requireCertificate(certificates?.of(request), binding, name);
    if (request.headers.dpop !== undefined)
      throw invalidRequest(`the ${name} is not bound to a key: leave out the DPoP header`);
    return atThisAddress(config.issuer, request, found);
  }
  const proof = await dpop.read(request, { token });
  if (!proof) throw invalidToken('the scheme DPoP needs a proof: send it in the DPoP header');
  const found = await lookup.withProof(proof);
  if (!found) throw unknown();
  const { binding, clientId, user } = found.token;
  if (binding === 'none')
    throw invalidToken(`the ${name} is not bound to a key: send it as Authorization: Bearer, without a proof`);
  if (!satisfies(proof.binding, binding))
    throw invalidToken(`the ${name} is bound to another key than that of the proof`);
  if (found.proof === 'needs nonce') throw dpop.missingNonce(401);
  if (found.proof === 'replayed') {
    await audit(request, { type: 'dpop.replayed', outcome: 'failure', actor: clientId, clientId, sub: user?.sub });
    throw proofReused(401);
  }
  dpop.renewNonce(proof, reply);
  return atThisAddress(config.issuer, request, found.token);
}

function atThisAddress<Token extends FoundToken>(issuer: string, request: FastifyRequest, found: Token): Token {
  const { restrictedTo } = found;
  // usually undefined: a token without a resource serves everywhere, and the comparison costs time
  if (restrictedTo !== undefined && !servesAt(issuer, restrictedTo, request.url, request.routeOptions.url))
    throw invalidToken(
      'the token was issued for another resource: request one for this resource, or one without resource',
    );
  return found;
}
