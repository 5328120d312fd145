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
  return invalidRequest(`subject_token_type must be ${tokenTypes.accessToken} or ${tokenTypes.idToken}`);
}

async function readAccessToken(
  { store, tokens }: SubjectDependencies,
  token: string,
  held: Binding,
): Promise<FoundSubject | OAuthError> {
  const hash =
    opaqueTokenHash('access_token', token) ?? (isAccessToken(token) ? await tokens.accessTokenHash(token) : undefined);
  const found = hash && (await store.accessTokens.find(hash));
  if (!found) return unknown();
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

async function readIdToken({ store, tokens }: SubjectDependencies, token: string): Promise<FoundSubject | OAuthError> {
  const content = await tokens.verifyIdToken(token);
  // one that its own client could have signed proves nothing about the user (security R122)
  if (!content?.vouched) return unknown();
  const { sid, clientId, sub: subject, expiresAt, vouched } = content;
  const session = await store.clientSessions.findBySid(sid, clientId, subject);
  if (!session) return unknown();
  return {
    token: { kind: 'id_token', clientId, audience: [clientId], scope: splitScope(session.scope), act: undefined },
    presented: { sid, clientId, subject, expiresAt },
    user: session.user,
    amr: session.amr,
    acr: vouched.acr,
  };
}
