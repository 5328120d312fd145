// Carries an authorization request from the client through the pages of a sign-in to the response.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFramed } from '../../browser/cookies.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { ConnectionRouting } from '../../authenticators/connection/routing.ts';
import type { Config } from '../../config.ts';
import { digest } from '../../crypto/secrets.ts';
import type { AuthorizationFlow, ConsentQuestion } from '../../interaction/authorization-flow.ts';
import type { NextStep } from '../../interaction/next-step.ts';
import { shownRequest } from '../../interaction/pending-request-view.ts';
import type { SecondStep } from '../../interaction/second-step.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { AuthorizationError, invalidRequest, OAuthError, type ResponseTarget } from '../../oauth/errors.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import {
  type AuthorizationRequestRow,
  isCancelled,
} from '../../repositories/authorization-requests/authorization-requests.ts';
import type { SignInContext } from '../../repositories/sessions/sign-in-context.ts';
import type { Store } from '../../repositories/store.ts';
import { resourceGrants } from '../../sender-constraint/audience.ts';
import { jsonErrors } from '../../server/errors.ts';
import { clientAddress } from '../../server/network.ts';
import { createDecision, type DecisionDependencies, mayLearnErrors } from './facts.ts';
import { createIssue, type IssueDependencies } from './issue.ts';
import { createNewApplications, type NewApplicationDependencies } from './new-application.ts';
import { pushedTransaction } from './pushed-request.ts';
import { verifyRequest } from './request.ts';
import { effectiveRequest } from './request-object.ts';
import { createAuthorizationResponse, type ResponseDependencies } from './response.ts';
import { verificationContext, type VerificationDependencies } from './verification-context.ts';
import { createStoredRequests, type StoredRequestsDependencies } from './stored-requests.ts';
import type { TrustedRequest } from './trusted-request.ts';

/** A request that waits in the database for a page to be answered. */
interface Transaction extends AuthorizationRequestRow {
  idHash: Buffer;
}

type AuthorizationFlowDependencies = VerificationDependencies &
  StoredRequestsDependencies &
  DecisionDependencies &
  IssueDependencies &
  ResponseDependencies &
  NewApplicationDependencies & {
    config: Config;
    store: Pick<Store, 'authorizationRequests' | 'grants'>;
    sessions: BrowserSessions;
    secondStep: SecondStep;
    connectionRouting: Pick<ConnectionRouting, 'ofDomain'>;
    pages: PageResponses;
  };

export function createAuthorizationFlow(options: AuthorizationFlowDependencies): AuthorizationFlow {
  const { config, store, sessions, secondStep, connectionRouting, pages } = options;
  const verification = verificationContext(options);
  const stored = createStoredRequests(options);
  const decideNext = createDecision(options);
  const issue = createIssue(options);
  const prepareResponse = createAuthorizationResponse(options);
  const newApplications = createNewApplications(options);

  /**
   * Answers the client if the next step is to issue.
   * @param confirmed false if the user has to confirm that first
   * @returns undefined once the client is answered, else the next step
   * @throws AuthorizationError, OAuthError
   */
  async function advance(
    request: FastifyRequest,
    reply: FastifyReply,
    authorization: TrustedRequest,
    context: Pick<SignInContext, 'session' | 'grant'>,
    endpoint: AuthorizationRequestRow['endpoint'],
    { transaction, confirmed }: { transaction?: Transaction; confirmed: boolean },
  ): Promise<NextStep['step'] | undefined> {
    const { client, target } = authorization;
    const { session } = context;
    if (authorization.error) {
      if ((transaction && isCancelled(transaction)) || mayLearnErrors(config, authorization, session))
        throw authorization.error;
      return 'login';
    }
    const next = await decideNext(authorization, context, transaction, clientAddress(request));
    if (next.step === 'error') throw new AuthorizationError(target, next.code, next.description);
    if (next.step !== 'issue' || !session || !confirmed) return next.step;
    const { claims, registeredUri, targets } = authorization;
    const scope = authorization.scope.filter(isServiceScopeOf(client));
    if (next.recordGrant)
      await store.grants.add(
        session.user.sub,
        client.clientId,
        scope,
        registeredUri,
        claims.beside,
        resourceGrants(targets),
      );
    const idHash = transaction?.idHash;
    const send = await prepareResponse(request, reply, target);
    const response = await issue(request, reply, authorization, session, { endpoint, idHash });
    if (!response) return 'login';
    await send(response);
    return undefined;
  }

  function toPage(request: FastifyRequest, reply: FastifyReply, step: NextStep['step'], transaction: string) {
    if (step === 'consent') return pages.redirect(reply, `/consent?transaction=${transaction}`);
    if (step === 'access-denied') return pages.redirect(reply, `/access-denied?transaction=${transaction}`);
    if (step === 'passkey') return pages.redirect(reply, `/account/passkeys?transaction=${transaction}`);
    if (step === 'select-account') return pages.redirect(reply, signInPath('/login/accounts', { transaction }));
    if (step === 'sign-up') return pages.redirect(reply, signInPath('/sign-up', { transaction }));
    if (step !== 'second-factor') return pages.redirect(reply, signInPath('/login', { transaction }));
    // the second step must be that of the session's user, even if another user has begun to sign in in this browser
    secondStep.close(request, reply);
    return pages.redirect(reply, signInPath('/login/second-factor', { transaction }));
  }

  /** The connection that a request names, by its id or by a domain; whether the client allows it is decided there. */
  async function namedConnection({ connection, domain_hint: domain }: Record<string, string>) {
    if (connection !== undefined) return /^[a-z][a-z0-9-]{1,39}$/.test(connection) ? connection : undefined;
    return domain === undefined ? undefined : (await connectionRouting.ofDomain(domain))?.id;
  }

  /** Redirects a browser that has just arrived: to the connection that the request names if the user has to sign in, else to the page of the step. */
  async function arriveAt(
    request: FastifyRequest,
    reply: FastifyReply,
    step: NextStep['step'],
    { error }: Pick<TrustedRequest, 'error'>,
    parameters: Record<string, string>,
    transaction: string,
  ): Promise<FastifyReply> {
    const named = step === 'login' && !error ? await namedConnection(parameters) : undefined;
    return named === undefined
      ? toPage(request, reply, step, transaction)
      : pages.redirect(reply, `${connectionPath(named)}?transaction=${transaction}`);
  }

  const resume: AuthorizationFlow['resume'] = (request, reply, id, here) => proceed(request, reply, id, false, here);

  /** @param arrives whether the client has just sent the browser */
  async function proceed(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    arrives: boolean,
    here: Parameters<AuthorizationFlow['resume']>[3],
  ): Promise<FastifyReply> {
    const idHash = digest('transaction', id);
    const { session, pending, grant } = await sessions.findContext(request, reply, { transaction: id });
    if (!pending) return expired(request, reply);
    await newApplications.refresh(request, session, pending.clientId);
    // browsers check each redirect of a form: a form that leads here cannot be redirected to another site, but a page of ours can lead on
    const staysHere = here === undefined || pending.clientId === consoleClientId;
    const mayAnswer = ({ delivery }: ResponseTarget) => staysHere || delivery === 'form_post';
    try {
      const authorization = await verifyRequest(pending.parameters, verification, pending.problem, isFramed(request));
      const at = { transaction: { ...pending, idHash }, confirmed: mayAnswer(authorization.target) };
      const step = await advance(request, reply, authorization, { session, grant }, pending.endpoint, at);
      if (step === undefined) return reply;
      if (step === 'issue') return await lead(request, reply, id, pending);
      if (isFramed(request)) throw needsPage(authorization);
      const show = step === 'consent' || step === 'access-denied' ? here?.[step] : undefined;
      if (show && session) return show(questionOf(authorization), session, grant);
      return arrives
        ? arriveAt(request, reply, step, authorization, pending.parameters, id)
        : toPage(request, reply, step, id);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      if (!mayAnswer(error.target)) return lead(request, reply, id, pending);
      await store.authorizationRequests.delete(idHash);
      throw error;
    }
  }

  /** Shows the page that leads to the address where the request is answered, once. */
  async function lead(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    pending: AuthorizationRequestRow,
  ): Promise<FastifyReply> {
    const { client, uiLocales } = await shownRequest(options.clients, pending);
    const uri = `/authorize?transaction=${id}`;
    return pages.send(request, reply, 'leave', { uri, ...(client && { client }) }, { uiLocales });
  }

  /** A stored request, if it is still valid. */
  const trusted = (row: AuthorizationRequestRow): Promise<TrustedRequest | undefined> =>
    verifyRequest(row.parameters, verification, row.problem).catch((error: unknown) => {
      if (error instanceof OAuthError) return undefined;
      throw error;
    });

  /** Answers a request that was answered before, has expired, or belongs to another browser. @throws OAuthError in a frame */
  async function expired(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (isFramed(request)) throw invalidRequest('the request has ended, or belongs to another browser');
    return pages.refuse(request, reply, 'expired');
  }

  /** Answers an error that the client must not learn. */
  async function pageOf(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // a frame gets no page (security R8), but learns that it is no navigation
    const refused = error instanceof OAuthError && error.status === 403;
    if (isFramed(request) && !refused) return jsonErrors(error, request, reply);
    if (error instanceof OAuthError && error.status === 400)
      return pages.refuse(request, reply, error.cause === undefined ? 'request' : 'client', error);
    return pages.errors(error, request, reply);
  }

  return {
    async begin(request, reply, endpoint, parameters, confirm) {
      // a request may be stored, and PostgreSQL stores no NUL (security R107)
      if (Object.entries(parameters).some(([name, value]) => name.includes('\0') || value.includes('\0')))
        throw invalidRequest('a parameter contains a NUL character');
      const pushed = pushedTransaction(parameters['request_uri']);
      if (pushed !== undefined) {
        // the first browser that names a pushed request owns it, and can load it again until it is answered
        const taken = await stored.take(request, reply, pushed, parameters['client_id']);
        return taken ? proceed(request, reply, pushed, true, undefined) : expired(request, reply);
      }
      if (endpoint === 'authorization' && (await newApplications.arrive(request, reply, parameters))) return reply;
      const { reason, ...effective } = await effectiveRequest(parameters, verification, false);
      if (reason !== undefined) request.log.info({ ...effective.problem, reason }, 'request object refused');
      const framed = isFramed(request);
      const authorization = await verifyRequest(effective.parameters, verification, effective.problem, framed);
      // a request object without prompt=none (security R8)
      if (framed && !authorization.prompts.includes('none')) onlyNavigation(request);
      const { clientId } = authorization.client;
      const context = await sessions.findContext(request, reply, { clientId });
      const confirmed = confirm === undefined;
      const step = await advance(request, reply, authorization, context, endpoint, { confirmed });
      if (step === undefined) return reply;
      if (framed) throw needsPage(authorization);
      const transaction = await stored.store(request, reply, { clientId, endpoint, ...effective });
      if (confirm && context.session && step === 'issue')
        return confirm(authorization.target.redirectUri, context.session, transaction);
      return arriveAt(request, reply, step, authorization, effective.parameters, transaction);
    },

    resume,

    async isSatisfied(request, id, { session, pending, grant }) {
      if (!session || !pending) return false;
      const authorization = await trusted(pending);
      if (!authorization || authorization.error) return false;
      const transaction = { ...pending, idHash: digest('transaction', id) };
      const next = await decideNext(authorization, { session, grant }, transaction, clientAddress(request));
      return next.step === 'issue' || next.step === 'consent';
    },

    async questionOf(row) {
      const authorization = await trusted(row);
      return authorization && !authorization.error ? questionOf(authorization) : undefined;
    },

    async errors(error, request, reply) {
      if (error instanceof AuthorizationError) {
        const { code, description, target } = error;
        request.log.info({ code, description }, 'authorization refused');
        try {
          const send = await prepareResponse(request, reply, target);
          await send({ error: code, error_description: description });
          return reply;
        } catch (failure) {
          return pageOf(failure, request, reply);
        }
      }
      return pageOf(error, request, reply);
    },
  };
}

const questionOf = ({
  client,
  target,
  registeredUri,
  scope,
  targets,
  claims,
  uiLocales,
}: TrustedRequest): ConsentQuestion => ({
  ...{ client, redirectUri: target.redirectUri, registeredUri, claims: claims.beside, uiLocales },
  scope: scope.filter(isServiceScopeOf(client)),
  apis: targets.flatMap(({ api, scope: values }) => (api && values.length > 0 ? [{ api, scope: values }] : [])),
});

/** The error of a request with prompt=none that needs a page. */
function needsPage({ target }: TrustedRequest): AuthorizationError {
  return new AuthorizationError(target, 'interaction_required', 'a page has to be shown, and none is in a frame');
}
