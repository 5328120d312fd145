// Checks which client asks for the data of which user, by the two variants of the Authorization header (specification 4.7).
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Lookup,
  presentedToken,
  type ProtectedResource,
  requireAccepted,
} from '../../sender-constraint/protected-resource.ts';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Config } from '../../config.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { Store } from '../../repositories/store.ts';
import type { AccessToken } from '../../repositories/tokens/access-tokens.ts';
import { accessDenied, insufficientScope, invalidRequest } from '../../oauth/errors.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import { mayUse } from '../../rules/access/access.ts';
import { splitScope } from '../../oauth/scope.ts';
import { opaqueTokenHash, opaqueTokenKind } from '../../tokens/opaque-token.ts';

/** A client's access to one user's data. */
export interface Access {
  variant: 'client' | 'uma';
  clientId: string;
  user: Subject;
  /** The subject by which the client knows the user. */
  subject: string;
  scopes: string[];
}

export interface UserAccessDependencies extends ProtectedResource {
  config: Config;
  store: Pick<Store, 'accessTokens' | 'clientSessionHandles' | 'grants' | 'pairwiseSubjects' | 'revocation'>;
  clients: ClientCache;
  authenticateBasic: AuthenticateClient;
  limits: Limits;
}

/**
 * Authenticates by the variant that the Authorization header has, and checks `sub` (security R84). The user is that of the header
 * alone (security R86).
 * @throws OAuthError
 */
export async function access(
  options: UserAccessDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  sub: string,
): Promise<Access> {
  await refuseTokensElsewhere(options, request);
  const header = request.headers.authorization;
  if (header !== undefined && /^Basic /i.test(header)) return clientAccess(options, request, sub);
  return umaAccess(options, request, reply, sub);
}

/** The client-authenticated variant: an enabled client, and a user who may use it and has a live grant to it (federation FR42). */
async function clientAccess(
  { store, authenticateBasic }: UserAccessDependencies,
  request: FastifyRequest,
  sub: string,
): Promise<Access> {
  const client = await authenticateBasic(request, { disabledStatus: 403 });
  const user = sub === 'me' ? undefined : await store.pairwiseSubjects.findUser(client.metadata, sub);
  const grant = user && (await store.grants.find(user.sub, client.clientId));
  // the answer is the same for a user who does not exist, is disabled, may not use the client, or has granted nothing
  if (!user || !grant || mayUse(user, client) !== 'yes')
    throw accessDenied('there is no such user with a grant to this client');
  return { variant: 'client', clientId: client.clientId, user, subject: sub, scopes: [...grant.scope] };
}

/** The UMA-profile variant: a client-session handle, or an access token with the same scopes. */
async function umaAccess(
  options: UserAccessDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  sub: string,
): Promise<Access> {
  const presented = presentedToken(request);
  const lookup = lookupOf(options.store, presented.token);
  const { user, subject, clientId, scope } = await requireAccepted(options, request, reply, presented, 'token', lookup);
  if (!user || subject === undefined) throw insufficientScope('the token was not issued for an End-User');
  if (sub !== 'me' && sub !== subject) throw accessDenied('the token was issued for another End-User');
  return { variant: 'uma', clientId, user, subject, scopes: splitScope(scope) };
}

type Found = Pick<AccessToken, 'clientId' | 'scope' | 'subject' | 'restrictedTo' | 'binding'> & {
  user: Subject | undefined;
};

/** Finds what a client may present here: an access token, a handle, or a code, which is a handle without a key. */
function lookupOf(
  { accessTokens, clientSessionHandles }: UserAccessDependencies['store'],
  token: string,
): Lookup<Found> {
  const kind = opaqueTokenKind(token);
  const hash = kind && opaqueTokenHash(kind, token);
  switch (hash && kind) {
    case 'access_token':
      return {
        asBearer: () => accessTokens.find(hash!),
        withProof: (proof) => accessTokens.findWithProof(hash!, proof),
      };
    case 'client_session_handle':
      return {
        asBearer: () => clientSessionHandles.useHandle(hash!),
        withProof: (proof) => clientSessionHandles.useHandleWithProof(hash!, proof),
      };
    case 'authorization_code':
      return { asBearer: () => clientSessionHandles.useCode(hash!), withProof: async () => undefined };
    default:
      return { asBearer: async () => undefined, withProof: async () => undefined };
  }
}

/** Refuses a token in a URL or a body, where others may have seen it, and revokes it if it is a code or handle (security R83). */
async function refuseTokensElsewhere({ store }: UserAccessDependencies, request: FastifyRequest): Promise<void> {
  const values = [request.params, request.query, request.body].flatMap((part) =>
    typeof part === 'object' && part !== null ? Object.values(part).flat() : [],
  );
  for (const value of values) {
    const kind = typeof value === 'string' ? opaqueTokenKind(value) : undefined;
    if (kind === undefined) continue;
    if (kind === 'authorization_code' || kind === 'client_session_handle') {
      await store.revocation.end(kind, opaqueTokenHash(kind, value as string)!);
      throw invalidRequest('send the code or handle only in the Authorization header: this one has been revoked');
    }
    throw invalidRequest(
      'send the token only in the Authorization header: this one is still valid, so revoke it if others may have seen it',
    );
  }
}
