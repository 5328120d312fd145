// Reads the subject token of an exchange: an access token or an ID Token of this service, of a user (RFC 8693 2.1).
import { type Binding, satisfies } from '../../oauth/binding.ts';
import type { OAuthError } from '../../oauth/errors.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { splitScope } from '../../oauth/scope.ts';
import { tokenTypes } from '../../oauth/token-exchange.ts';
import type { Subject } from '../../rules/claims/claims.ts';
import type { SubjectToken } from '../../rules/exchange/exchange.ts';
import type { Store } from '../../repositories/store.ts';
import type { PresentedSubject } from '../../repositories/tokens/token-exchange.ts';
import { isAccessToken } from '../../tokens/jwt-access-token.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import type { TokenService } from '../../tokens/token-service.ts';

export interface FoundSubject {
  token: SubjectToken;
  /** By which the statement that issues finds it again. */
  presented: PresentedSubject;
  user: Subject;
  amr: readonly string[];
  /** The level that the token names, if it is not that of its methods. */
  acr: string | undefined;
}

export interface SubjectDependencies {
  store: Pick<Store, 'accessTokens' | 'clientSessions'>;
  tokens: Pick<TokenService, 'accessTokenHash' | 'verifyIdToken'>;
}

const unknown = () =>
  invalidRequest('subject_token is unknown, expired or revoked, or not of the type of subject_token_type');

/** @returns the refusal of a token that no exchange takes */
export async function readSubject(
  { store, tokens }: SubjectDependencies,
  { token, type, held }: { token: string; type: string; held: Binding },
): Promise<FoundSubject | OAuthError> {
  if (type === tokenTypes.accessToken) return readAccessToken({ store, tokens }, token, held);
  if (type === tokenTypes.idToken) return readIdToken({ store, tokens }, token);
  // an ID Token has a type of its own, and is none of these (security R138)
  if (type === tokenTypes.jwt)
    return isAccessToken(token) ? readAccessToken({ store, tokens }, token, held) : unknown();
  return invalidRequest(
    `subject_token_type must be ${tokenTypes.accessToken}, ${tokenTypes.jwt} or ${tokenTypes.idToken}`,
  );
}

async function readAccessToken(
  { store, tokens }: SubjectDependencies,
  token: string,
  held: Binding,
): Promise<FoundSubject | OAuthError> {
  const known = await findToken({ store, tokens }, token);
  if (!known) return unknown();
  const { hash, found } = known;
  if (!found.user) return invalidRequest('subject_token has no user: a token of a client itself cannot be exchanged');
  // a bound token is of no use to a client that does not hold its key (security R134)
  if (!satisfies(held, found.binding))
    return invalidRequest(
      'subject_token is bound to a key: send a DPoP proof that is signed with this key, or come with this certificate',
    );
  const { clientId, audience, scope, act, amr = [], requested } = found;
  return {
    token: { kind: 'access_token', clientId, audience, scope: splitScope(scope), act },
    presented: { tokenHash: hash },
    user: found.user,
    amr,
    acr: requested?.acr,
  };
}

/** A token that is active, of either format. */
async function findToken({ store, tokens }: SubjectDependencies, token: string) {
  const hash =
    opaqueTokenHash('access_token', token) ?? (isAccessToken(token) ? await tokens.accessTokenHash(token) : undefined);
  const found = hash && (await store.accessTokens.find(hash));
  return found && { hash, found };
}

/** The party that acts, whose token the client presents beside that of the user. */
export interface FoundActor {
  /** The user of the actor token as the client knows the user, or the client itself. */
  sub: string;
  /** By which the statement that issues finds the token again. */
  tokenHash: Buffer;
}

/**
 * Reads the actor token: an access token that was issued to the client itself, so that nobody is named who did not come to it (RFC 8693 2.1).
 * @returns the refusal of a token that names no actor
 */
export async function readActor(
  { store, tokens }: SubjectDependencies,
  { token, type, held, clientId }: { token: string; type: string; held: Binding; clientId: string },
): Promise<FoundActor | OAuthError> {
  if (type !== tokenTypes.accessToken && !(type === tokenTypes.jwt && isAccessToken(token)))
    return invalidRequest(`actor_token must be an access token, and actor_token_type ${tokenTypes.accessToken}`);
  const known = await findToken({ store, tokens }, token);
  if (!known) return invalidRequest('actor_token is unknown, expired or revoked');
  const { hash, found } = known;
  if (found.clientId !== clientId) return invalidRequest('actor_token was issued to another client');
  if (found.act) return invalidRequest('actor_token is itself a token of an exchange');
  if (!satisfies(held, found.binding))
    return invalidRequest('actor_token is bound to a key that the request does not prove');
  return { sub: found.subject ?? clientId, tokenHash: hash };
}

async function readIdToken({ store, tokens }: SubjectDependencies, token: string): Promise<FoundSubject | OAuthError> {
  const content = await tokens.verifyIdToken(token);
  // one that its own client could have signed proves nothing about the user (security R122)
  if (!content?.vouched) return unknown();
  const { clientSessionId, sid, clientId, sub: subject, expiresAt, vouched } = content;
  if (clientSessionId === undefined) return unknown();
  const named = { id: clientSessionId, sid, clientId, subject };
  const session = await store.clientSessions.findNamed(named);
  if (!session) return unknown();
  return {
    token: { kind: 'id_token', clientId, audience: [clientId], scope: splitScope(session.scope), act: undefined },
    presented: { ...named, expiresAt },
    user: session.user,
    amr: session.amr,
    acr: vouched.acr,
  };
}
