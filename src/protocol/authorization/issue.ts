// Issues an authorization response: stores its tokens if session, client and limits allow it, else refuses.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSessions } from '../../browser/session.ts';
import { createRefusedResponse, type RefusedResponseDependencies } from '../../interaction/refused-response.ts';
import type { Config } from '../../config.ts';
import { preferredAcr } from '../../oauth/acr.ts';
import type { Binding } from '../../oauth/binding.ts';
import { requestedClaims } from '../../oauth/claims-request.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import { AuthorizationError, type ErrorCode, OAuthError } from '../../oauth/errors.ts';
import { parts } from '../../oauth/response-type.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { clientAddress } from '../../server/network.ts';
import { authorizedFor, formatOf, subjectAt } from '../../sender-constraint/audience.ts';
import { type PreparedTokens, type TokenKind, withLifetimeOf } from '../../tokens/token-issuer.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { TrustedRequest } from './trusted-request.ts';

/** How many unredeemed codes one session and client may have (security R19). */
const codesPerClientSession = 5;

export interface IssueDependencies extends RefusedResponseDependencies {
  config: Config;
  store: Pick<Store, 'authorizationCodes' | 'clients' | 'pairwiseSubjects'>;
  tokens: TokenService;
  sessions: BrowserSessions;
}

/** The details of the authorization, each with an identifier: those that the user kept, or all of them without the page. */
function grantedDetails(
  { details }: Pick<TrustedRequest, 'details'>,
  allowed: readonly Detail[] | undefined,
): Detail[] | undefined {
  const kept = details?.filter(({ detail }) => !allowed || allowed.some((one) => isDeepStrictEqual(one, detail)));
  return kept && kept.length > 0 ? kept.map(({ detail }) => ({ ...detail, id: randomUUID() })) : undefined;
}

export function createIssue(options: IssueDependencies) {
  const { config, store, tokens, sessions } = options;
  const refusedResponse = createRefusedResponse(options);
  /** Makes the tokens of a response. @throws AuthorizationError if the client publishes no key for its ID Token */
  async function prepare(
    request: FastifyRequest,
    { client, target, responseType }: TrustedRequest,
  ): Promise<PreparedTokens> {
    const wanted = parts(responseType);
    const kinds: TokenKind[] = [];
    if (wanted.code) kinds.push('code');
    if (wanted.token) kinds.push('access_token');
    if (wanted.idToken) kinds.push('id_token');
    // a browser cannot prove that the client holds a key
    const binding: Binding = 'none';
    try {
      return await tokens.prepare(client, binding, kinds);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      request.log.info({ client_id: client.clientId, err: error.cause }, error.description);
      throw new AuthorizationError(target, error.code, error.description);
    }
  }

  /**
   * @param stored the stored request that the response answers, if the browser was sent to a page
   * @returns the parameters of the response; undefined if the session is over and the user has to sign in
   * @throws AuthorizationError, OAuthError
   */
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    authorization: TrustedRequest,
    session: Session,
    {
      endpoint,
      idHash,
      details: allowed,
    }: {
      endpoint: AuthorizationRequestRow['endpoint'];
      idHash: Buffer | undefined;
      details?: readonly Detail[] | undefined;
    },
  ): Promise<Record<string, string> | undefined> => {
    const { client, scope, target, targets, nonce } = authorization;
    const { user } = session;
    // a code may be for several targets, and its token request decides
    const format = formatOf(parts(authorization.responseType).token ? targets[0] : undefined, client);
    const prepared = withLifetimeOf(format, await prepare(request, authorization));
    const { code, accessToken, idToken, lifetimes } = prepared;
    const offline = code !== undefined && scope.includes('offline_access');
    const granted = offline ? scope : scope.filter((value) => value !== 'offline_access');
    const requested = requestedClaims(authorization.claims, preferredAcr(authorization.acr.values, session.amr));
    const subject = await store.pairwiseSubjects.obtain(client.metadata, user.sub);
    const issued = await store.authorizationCodes.issue({
      codeHash: code?.hash,
      accessTokenHash: accessToken?.hash,
      sessionId: session.id,
      clientId: client.clientId,
      clientVersion: client.version,
      scope: granted,
      claims: authorization.claims.beside,
      requested,
      offline,
      redirectUri: target.redirectUri,
      nonce,
      codeChallenge: authorization.codeChallenge,
      codeBinding: authorization.codeBinding,
      ...authorizedFor(targets),
      details: grantedDetails(authorization, allowed),
      subject,
      lifetime: lifetimes.authorizationCode,
      accessTokenLifetime: lifetimes.accessToken,
      clientSessionLifetime: Math.max(
        // the client session lasts until the access token of the code expires, so that a redemption need not prolong it
        code ? lifetimes.authorizationCode + lifetimes.accessToken : 1,
        accessToken ? lifetimes.accessToken : 1,
        idToken ? lifetimes.idToken : 1,
      ),
      requestHash: idHash,
      // the short form renews the client session: its code replaces earlier ones (security A110)
      maxCodes: endpoint === 'authentication' ? 1 : codesPerClientSession,
      maxPerMinute: config.limits.codesPerSession,
      address: clientAddress(request),
    });
    if ('refusal' in issued) {
      const errorOf = (code: ErrorCode, description: string) => new AuthorizationError(target, code, description);
      const refused = await refusedResponse(issued.refusal, request, reply, authorization, session, errorOf);
      if (refused) throw refused;
      return undefined;
    }
    const { sid, authTime, amr } = session;
    const facts = { sid, subject: subject ?? user.sub, scope: granted.join(' '), authTime, amr, requested, user };
    const { jwt } = format;
    const response = await tokens.respond(client, prepared, {
      jwt: jwt && { ...jwt, sub: await subjectAt(jwt, store, user.sub) },
      scope: facts.scope,
      authorization: { ...facts, ...issued, nonce },
      direct: false,
    });
    request.log.info(
      { client_id: client.clientId, sub: user.sub, response_type: authorization.responseType },
      'authorization response issued',
    );
    return {
      ...Object.fromEntries(Object.entries(response).map(([name, value]) => [name, String(value)])),
      session_state: sessions.sessionState(session, client.clientId, target.redirectUri),
    };
  };
}
