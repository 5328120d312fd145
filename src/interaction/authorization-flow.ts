// The course of a sign-in, shared by /authorize and its short form /authenticate: begun by a client, interrupted by pages, ended by a response.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digest } from '../crypto/secrets.ts';
import { preferredAcr } from '../oauth/acr.ts';
import { requestedClaims } from '../oauth/claims-request.ts';
import type { ClientMetadata } from '../oauth/client-metadata.ts';
import { AuthorizationError, invalidRequest, OAuthError } from '../oauth/errors.ts';
import { parts } from '../oauth/response-type.ts';
import { sectorIdentifier } from '../oauth/subject-type.ts';
import type { AuthorizationRequestRow } from '../repositories/authorization-requests/authorization-requests.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { Visit } from '../repositories/sessions/sign-in-context.ts';
import { newOpaqueToken } from '../tokens/opaque-token.ts';
import { onlyNavigation } from '../browser/session.ts';
import { isFramed } from '../browser/cookies.ts';
import { jsonErrors } from '../server/errors.ts';
import { signInPath } from './sign-in.ts';
import { effectiveRequest } from './effective-request.ts';
import { type Asked, decide, type Facts, type NextStep, wantsPasskey } from './next-step.ts';
import { createPendingRequests } from './pending-requests.ts';
import { pushedTransaction } from './pushed-request.ts';
import { type TrustedRequest, verifyRequest } from './authorization-request.ts';
import { requestRules } from './request-rules.ts';
import { errorParameters, sendAuthorizationResponse } from './authorization-response.ts';
import type { Config } from '../config.ts';
import type { Store } from '../repositories/store.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { TokenService } from '../tokens/token-service.ts';
import type { Passkeys } from '../authenticators/passkey/passkeys.ts';
import type { BrowserSessions } from '../browser/session.ts';
import type { SecondStep } from './second-step.ts';
import type { PageResponses } from '../pages/page-response.ts';
import type { RequestRulesDependencies } from './request-rules.ts';
import type { PendingRequestsDependencies } from './pending-requests.ts';

/** At most this many unredeemed codes of one session and client live (security R19). */
const codesPerClientSession = 5;

interface Transaction extends AuthorizationRequestRow {
  id: string;
  idHash: Buffer;
}

export type AuthorizationFlow = ReturnType<typeof createAuthorizationFlow>;

type AuthorizationFlowDependencies = RequestRulesDependencies &
  PendingRequestsDependencies & {
    config: Config;
    store: Pick<Store, 'authorizationCodes' | 'authorizationRequests' | 'grants' | 'pairwiseSubjects' | 'passkeys'>;
    clients: ClientCache;
    tokens: TokenService;
    passkeys: Passkeys;
    sessions: BrowserSessions;
    secondStep: SecondStep;
    pages: PageResponses;
  };

export function createAuthorizationFlow(options: AuthorizationFlowDependencies) {
  const { config, store, clients, tokens, sessions, secondStep, passkeys, pages } = options;
  const rules = requestRules(options);
  const pending = createPendingRequests(options);

  /** Answers the client if nothing is left to ask; false when a page has to come first. Not the reply: awaiting that yields nothing. */
  async function proceed(
    request: FastifyRequest,
    reply: FastifyReply,
    authorization: TrustedRequest,
    session: Session | undefined,
    step: NextStep,
    endpoint: AuthorizationRequestRow['endpoint'],
    transaction: Transaction | undefined,
  ): Promise<boolean> {
    const { client, scope, target } = authorization;
    if (step.step === 'error') {
      if (transaction) await store.authorizationRequests.delete(transaction.idHash);
      throw new AuthorizationError(target, step.code, step.description);
    }
    if (step.step !== 'issue' || !session) return false;
    if (step.recordGrant) {
      const { beside } = authorization.claims;
      await store.grants.add(session.user.sub, client.clientId, scope, authorization.registeredUri, beside);
    }
    const wanted = parts(authorization.responseType);
    const code = wanted.code ? newOpaqueToken('authorization_code') : undefined;
    const accessToken = wanted.token ? newOpaqueToken('access_token') : undefined;
    const offline = code !== undefined && scope.includes('offline_access');
    const granted = offline ? scope : scope.filter((value) => value !== 'offline_access');
    const lives = tokens.lifetimes(client);
    const requested = requestedClaims(authorization.claims, preferredAcr(authorization.acr.values, session.amr));
    const recipient = wanted.idToken ? await recipientOf(request, authorization, transaction) : undefined;
    const subject = await store.pairwiseSubjects.obtain(client.metadata, session.user.sub);
    const issuedAt = await store.authorizationCodes.issue({
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
      nonce: authorization.nonce,
      codeChallenge: authorization.codeChallenge,
      audience: authorization.audience,
      subject,
      lifetime: lives.authorizationCode,
      accessTokenLifetime: lives.accessToken,
      clientSessionLifetime: Math.max(
        // until a token that the code buys is over: so its redemption need not say so
        code ? lives.authorizationCode + lives.accessToken : 1,
        accessToken ? lives.accessToken : 1,
        wanted.idToken ? lives.idToken : 1,
      ),
      requestHash: transaction?.idHash,
      // the short form renews the client session: its code takes the place of those before it (security A110)
      kept: endpoint === 'authentication' ? 1 : codesPerClientSession,
      perMinute: config.limits.codesPerSession,
    });
    if (!issuedAt) {
      const wait = await store.authorizationCodes.findWait(session.id, config.limits.codesPerSession);
      if (wait > 0) throw await tooMany(authorization, wait, transaction);
      // the session came to its end since it was looked at
      if (!(await sessions.find(request, reply))) {
        if (!authorization.prompts.includes('none')) return false;
        if (transaction) await store.authorizationRequests.delete(transaction.idHash);
        throw new AuthorizationError(target, 'login_required', 'the session is over: the user has to sign in');
      }
      // answered in another tab, or client, session or grant changed within the last second
      clients.forget(client.clientId);
      throw new OAuthError('conflict', 'the request was answered before, or something changed meanwhile', 409);
    }
    const response: Record<string, string> = {};
    if (code) response['code'] = code.token;
    if (accessToken) {
      Object.assign(response, {
        access_token: accessToken.token,
        token_type: 'Bearer',
        expires_in: String(lives.accessToken),
        scope: granted.join(' '),
      });
    }
    if (wanted.idToken) {
      response['id_token'] = await tokens.idToken(
        client,
        {
          sid: session.sid,
          subject: subject ?? session.user.sub,
          scope: granted.join(' '),
          authTime: session.authTime,
          amr: session.amr,
          requested,
          user: session.user,
        },
        { at: issuedAt, recipient, accessToken: accessToken?.token, code: code?.token, nonce: authorization.nonce },
      );
    }
    response['session_state'] = sessions.sessionState(session, client.clientId, target.redirectUri);
    request.log.info(
      { client_id: client.clientId, sub: session.user.sub, response_type: authorization.responseType },
      'authorization response issued',
    );
    sendAuthorizationResponse(request, reply, pages, config.issuer, target, response);
    return true;
  }

  /** What past its limit a session gets: the person a page, and may come back to it; a client that wants no page an error. */
  async function tooMany(
    { prompts, target }: TrustedRequest,
    wait: number,
    transaction: Transaction | undefined,
  ): Promise<Error> {
    const description = `too many sign-ins to applications in this browser at once: wait ${wait} seconds`;
    if (!prompts.includes('none')) {
      return new OAuthError('temporarily_unavailable', description, 429, { headers: { 'retry-after': String(wait) } });
    }
    if (transaction) await store.authorizationRequests.delete(transaction.idHash);
    return new AuthorizationError(target, 'temporarily_unavailable', description);
  }

  /** The key that the client's ID Token is encrypted to, before anything is issued; without it the client gets an error. */
  async function recipientOf(
    request: FastifyRequest,
    { client, target }: TrustedRequest,
    transaction: Transaction | undefined,
  ) {
    try {
      return await tokens.idTokenRecipient(client);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      request.log.info({ client_id: client.clientId, err: error.cause }, error.description);
      if (transaction) await store.authorizationRequests.delete(transaction.idHash);
      throw new AuthorizationError(target, error.code, error.description);
    }
  }

  /** The session's user, if that is whom every demand names. */
  async function expected(
    metadata: ClientMetadata,
    demands: string[][],
    session: Session | undefined,
  ): Promise<string[]> {
    if (!session) return [];
    const subject = await store.pairwiseSubjects.find(metadata, session.user.sub);
    return subject !== undefined && demands.every((names) => names.includes(subject)) ? [session.user.sub] : [];
  }

  async function stepOf(
    authorization: TrustedRequest,
    session: Session | undefined,
    grant: Visit['grant'],
    transaction: Transaction | undefined,
  ): Promise<NextStep> {
    const { client } = authorization;
    /** Whom the request may be about, each by the client's names for users. */
    const demands = authorization.subjects ? [authorization.subjects] : [];
    if (authorization.idTokenHint !== undefined) {
      const hint = await tokens.readIdTokenHint(authorization.idTokenHint);
      if (!hint) {
        if (!mayTell(authorization, session)) return { step: 'login' };
        return {
          step: 'error',
          code: 'invalid_request',
          description: 'id_token_hint is not an ID Token of this issuer',
        };
      }
      // another sector's name for somebody is nobody's here: it would tell both clients that they mean the same person
      const hinted = await clients.find(hint.clientId);
      const sameNames = hinted && sectorIdentifier(hinted.metadata) === sectorIdentifier(client.metadata);
      demands.push(sameNames ? [hint.sub] : []);
    }
    const request: Asked = {
      prompts: authorization.prompts,
      maxAge: authorization.maxAge,
      expectedSubs: demands.length > 0 ? await expected(client.metadata, demands, session) : undefined,
      scope: authorization.scope,
      claims: authorization.claims.beside,
      redirectUri: authorization.registeredUri,
      acr: authorization.acr,
    };
    const { firstParty, approvedBy, requiredAcr } = client;
    const facts = {
      session,
      grant,
      client: { firstParty, selfRegistered: approvedBy === 'automatic', requiredAcr },
      secondFactor: config.secondFactor,
      transaction,
    };
    return decide({ ...facts, passkeys: await passkeysOf(facts, request) }, request);
  }

  /** The fact about passkeys, which costs a statement only if the decision depends on it. */
  async function passkeysOf(facts: Omit<Facts, 'passkeys'>, request: Asked): Promise<Facts['passkeys']> {
    if (!passkeys.available || !facts.session || !wantsPasskey(facts, request)) return 'unavailable';
    return (await store.passkeys.list(facts.session.user.sub)).length > 0 ? 'some' : 'none';
  }

  /** A signed-out browser is sent nowhere but to the sign-in page (RFC 9700 4.11.2, security R3), whatever is wrong with the request. */
  const mayTell = ({ prompts }: TrustedRequest, session: Session | undefined): boolean =>
    session !== undefined || prompts.includes('none') || config.errorDelivery === 'standard';

  function toPage(
    request: FastifyRequest,
    reply: FastifyReply,
    step: NextStep | undefined,
    transaction: string,
  ): FastifyReply {
    if (step?.step === 'consent') return pages.redirect(reply, `/consent?transaction=${transaction}`);
    if (step?.step === 'passkey') return pages.redirect(reply, `/account/passkeys?transaction=${transaction}`);
    if (step?.step === 'sign-up') return pages.redirect(reply, signInPath('/sign-up', { transaction }));
    if (step?.step !== 'second-factor') return pages.redirect(reply, signInPath('/login', { transaction }));
    // of the session's person, whoever else began to sign in here
    secondStep.close(request, reply);
    return pages.redirect(reply, signInPath('/login/second-factor', { transaction }));
  }

  /**
   * A stored request, after a page or a push: validated again, then answered or sent to the next page (security R4). Throws as begin() does.
   * @param ask shows what the client asks for, where that is next and the browser is at its address already
   */
  async function resume(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    ask?: (authorization: TrustedRequest, session: Session, grant: Visit['grant']) => FastifyReply,
  ): Promise<FastifyReply> {
    const idHash = digest('transaction', id);
    const { session, pending: stored, grant } = await sessions.visit(request, reply, { transaction: id });
    if (!stored) return expired(request, reply);
    const transaction: Transaction = { ...stored, id, idHash };
    const authorization = await verifyRequest(stored.parameters, rules, stored.problem, isFramed(request));
    if (authorization.error && mayTell(authorization, session)) {
      await store.authorizationRequests.delete(idHash);
      throw authorization.error;
    }
    const step = authorization.error ? undefined : await stepOf(authorization, session, grant, transaction);
    if (step && (await proceed(request, reply, authorization, session, step, stored.endpoint, transaction)))
      return reply;
    if (isFramed(request)) {
      await store.authorizationRequests.delete(idHash);
      throw needsPage(authorization);
    }
    if (ask && session && step?.step === 'consent') return ask(authorization, session, grant);
    return toPage(request, reply, step, id);
  }

  /** A request that is answered, over, or another browser's. @throws OAuthError in a frame */
  function expired(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (isFramed(request)) throw invalidRequest('the request is over, or not of this browser');
    return pages.refuse(reply, 'expired');
  }

  /** A pushed request belongs to the browser that brings its name first: there it can be loaded again until it is answered. */
  async function take(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    clientId: string | undefined,
  ): Promise<FastifyReply> {
    const taken = await pending.take(request, reply, id, clientId);
    return taken ? resume(request, reply, id) : expired(request, reply);
  }

  return {
    /**
     * A request as it arrives from a client: answered at once where nothing is to ask, else stored until a page was.
     * @param confirm shows a question of the endpoint's own before a code is issued; it gets the stored request's id
     * @throws AuthorizationError for the client, OAuthError when the request cannot be trusted
     */
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      endpoint: AuthorizationRequestRow['endpoint'],
      parameters: Record<string, string>,
      confirm?: (authorization: TrustedRequest, session: Session, transaction: string) => FastifyReply,
    ): Promise<FastifyReply> {
      // what waits for the End-User is stored, and PostgreSQL stores no NUL (security R107)
      if (Object.entries(parameters).some(([name, value]) => name.includes('\0') || value.includes('\0')))
        throw invalidRequest('a parameter holds a NUL character');
      const pushed = pushedTransaction(parameters['request_uri']);
      if (pushed !== undefined) return take(request, reply, pushed, parameters['client_id']);
      const { reason, ...effective } = await effectiveRequest(parameters, rules, false);
      if (reason !== undefined) request.log.info({ ...effective.problem, reason }, 'request object refused');
      const framed = isFramed(request);
      const authorization = await verifyRequest(effective.parameters, rules, effective.problem, framed);
      // a request object without prompt=none (security R8)
      if (framed && !authorization.prompts.includes('none')) onlyNavigation(request);
      const { session, grant } = await sessions.visit(request, reply, { clientId: authorization.client.clientId });
      if (authorization.error && mayTell(authorization, session)) throw authorization.error;
      const step = authorization.error ? undefined : await stepOf(authorization, session, grant, undefined);
      const asks = confirm !== undefined && session !== undefined && step?.step === 'issue';
      if (step && !asks) {
        if (await proceed(request, reply, authorization, session, step, endpoint, undefined)) return reply;
      }
      if (framed) throw needsPage(authorization);
      const { clientId } = authorization.client;
      const transaction = await pending.store(request, reply, { clientId, endpoint, ...effective });
      return asks ? confirm(authorization, session, transaction) : toPage(request, reply, step, transaction);
    },

    resume,

    /** The error dialect of both addresses: to the client if it is known and safe, else to the sign-in page. */
    errors(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
      if (error instanceof AuthorizationError) {
        request.log.info({ code: error.code, description: error.description }, 'authorization refused');
        return sendAuthorizationResponse(request, reply, pages, config.issuer, error.target, errorParameters(error));
      }
      // prompt=none is never answered by a page (security R8); what is no visit is told so
      const refused = error instanceof OAuthError && error.status === 403;
      if (isFramed(request) && !refused) return jsonErrors(error, request, reply);
      if (error instanceof OAuthError && error.status === 400) {
        request.log.info({ description: error.description, err: error.cause }, 'authorization request not trusted');
        return pages.refuse(reply, error.cause === undefined ? 'request' : 'client');
      }
      return pages.errors(error, request, reply);
    },
  };
}

/** Of a request with prompt=none nothing is ever asked; this is told if something had to be. */
function needsPage({ target }: TrustedRequest): AuthorizationError {
  return new AuthorizationError(target, 'interaction_required', 'a page has to be shown, and none is in a frame');
}
