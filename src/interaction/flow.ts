// Carries requests through the pages of a sign-in to the response. Each protocol verifies, answers and refuses its own.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../authenticators/connection/connection.ts';
import type { ConnectionRouting } from '../authenticators/connection/routing.ts';
import { isFramed } from '../browser/cookies.ts';
import { type BrowserSessions, onlyNavigation } from '../browser/session.ts';
import type { Config } from '../config.ts';
import { digest } from '../crypto/secrets.ts';
import { invalidRequest, OAuthError, ResponseError } from '../oauth/errors.ts';
import type { PageResponses } from '../pages/page-response.ts';
import {
  type AuthorizationRequestRow,
  isCancelled,
} from '../repositories/authorization-requests/authorization-requests.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { SignInContext } from '../repositories/sessions/sign-in-context.ts';
import type { Store } from '../repositories/store.ts';
import { consoleClientId } from '../rules/clients/console-client.ts';
import { jsonErrors } from '../server/errors.ts';
import { clientAddress } from '../server/network.ts';
import { denialReference } from './denial-reference.ts';
import { askedBy, createDecision, grantedBy, type DecisionDependencies, mayLearnErrors } from './facts.ts';
import type { NextStep } from './next-step.ts';
import { shownRequest } from './pending-request-view.ts';
import type {
  ConsentQuestion,
  InteractionFlow,
  RelyingParty,
  StoredRequest,
  VerifiedRequest,
} from './relying-party.ts';
import type { SecondStep } from './second-step.ts';
import { signInPath } from './sign-in.ts';
import { createStoredRequests, type StoredRequestsDependencies } from './stored-requests.ts';

/** A request that waits in the database for a page to be answered. */
interface Transaction extends AuthorizationRequestRow {
  idHash: Buffer;
}

interface InteractionDependencies extends DecisionDependencies, StoredRequestsDependencies {
  config: Config;
  store: Pick<Store, 'authorizationRequests' | 'grants' | 'pairwiseSubjects' | 'passkeys'>;
  clients: ClientCache;
  sessions: BrowserSessions;
  secondStep: SecondStep;
  connectionRouting: Pick<ConnectionRouting, 'ofDomain' | 'takesPasswordOf'>;
  pages: PageResponses;
  relyingParties: readonly RelyingParty[];
}

export function createInteractionFlow(options: InteractionDependencies): InteractionFlow {
  const { config, store, sessions, secondStep, connectionRouting, pages, relyingParties } = options;
  const stored = createStoredRequests(options);
  const decideNext = createDecision(options);
  const parties = new Map(relyingParties.flatMap((party) => party.endpoints.map((endpoint) => [endpoint, party])));

  /** @throws OAuthError for a request that a later version has stored */
  function partyOf({ endpoint }: Pick<StoredRequest, 'endpoint'>): RelyingParty {
    const party = parties.get(endpoint);
    if (!party) throw invalidRequest('the protocol of the request is not served here');
    return party;
  }

  /**
   * Answers the client if the next step is to issue.
   * @param confirmed false if the user has to confirm that first
   * @returns undefined once the client is answered, else the next step
   * @throws ResponseError, OAuthError
   */
  async function advance(
    request: FastifyRequest,
    reply: FastifyReply,
    verified: VerifiedRequest,
    context: Pick<SignInContext, 'session' | 'grant'>,
    { endpoint, transaction, confirmed }: { endpoint: string; transaction?: Transaction; confirmed: boolean },
  ): Promise<NextStep['step'] | undefined> {
    const { client } = verified;
    const { session } = context;
    const party = partyOf({ endpoint });
    if (verified.error) {
      if ((transaction && isCancelled(transaction)) || mayLearnErrors(config, verified, session)) throw verified.error;
      return 'login';
    }
    const next = await decideNext(verified, context, transaction, clientAddress(request));
    if (next.step === 'error') throw party.errorOf(verified, next.code, described(next, transaction));
    if (next.step !== 'issue' || !session || !confirmed) return next.step;
    if (next.recordGrant)
      await store.grants.add(session.user.sub, client.clientId, grantedBy(verified), verified.registeredUri);
    const at = { endpoint, idHash: transaction?.idHash, details: transaction?.decision?.details };
    return (await party.respond(request, reply, verified, session, at)) ? undefined : 'login';
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
    { error }: Pick<VerifiedRequest, 'error'>,
    parameters: Record<string, string>,
    transaction: string,
  ): Promise<FastifyReply> {
    const named = step === 'login' && !error ? await namedConnection(parameters) : undefined;
    return named === undefined
      ? toPage(request, reply, step, transaction)
      : pages.redirect(reply, `${connectionPath(named)}?transaction=${transaction}`);
  }

  /** @param arrives whether the client has just sent the browser */
  async function proceed(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    arrives: boolean,
    here?: Parameters<InteractionFlow['resume']>[3],
  ): Promise<FastifyReply> {
    const idHash = digest('transaction', id);
    const { session, pending, grant } = await sessions.findContext(request, reply, { transaction: id });
    if (!pending) return expired(request, reply);
    const party = partyOf(pending);
    await party.returns?.(request, session, pending.clientId);
    // browsers check each redirect of a form: a form that leads here cannot be redirected to another site, but a page of ours can lead on
    const staysHere = here === undefined || pending.clientId === consoleClientId;
    const verified = await party.verify(pending, isFramed(request));
    const mayAnswer = staysHere || verified.target.delivery === 'form_post';
    try {
      const at = { endpoint: pending.endpoint, transaction: { ...pending, idHash }, confirmed: mayAnswer };
      const step = await advance(request, reply, verified, { session, grant }, at);
      if (step === undefined) return reply;
      if (step === 'issue') return await lead(request, reply, id, pending);
      if (isFramed(request)) throw needsPage(party, verified);
      const show = step === 'consent' || step === 'access-denied' ? here?.[step] : undefined;
      if (show && session) return show(questionOf(verified), session, grant);
      return arrives
        ? arriveAt(request, reply, step, verified, pending.parameters, id)
        : toPage(request, reply, step, id);
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error;
      if (!mayAnswer) return lead(request, reply, id, pending);
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
  const trusted = (row: StoredRequest): Promise<VerifiedRequest | undefined> =>
    partyOf(row)
      .verify(row, false)
      .catch((error: unknown) => {
        if (error instanceof OAuthError) return undefined;
        throw error;
      });

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
    async begin(request, reply, sent, confirm) {
      const framed = isFramed(request);
      const party = partyOf(sent);
      const verified = await party.verify(sent, framed);
      // a request object without prompt=none (security R8)
      if (framed && !verified.prompts.includes('none')) onlyNavigation(request);
      const { clientId } = verified.client;
      const context = await sessions.findContext(request, reply, { clientId });
      const at = { endpoint: sent.endpoint, confirmed: confirm === undefined };
      const step = await advance(request, reply, verified, context, at);
      if (step === undefined) return reply;
      if (framed) throw needsPage(party, verified);
      const transaction = await stored.store(request, reply, { clientId, ...sent });
      if (confirm && context.session && step === 'issue')
        return confirm(verified.target.redirectUri, context.session, transaction);
      return arriveAt(request, reply, step, verified, sent.parameters, transaction);
    },

    resume: (request, reply, id, here) => proceed(request, reply, id, false, here),
    arrive: (request, reply, id) => proceed(request, reply, id, true),
    expired,

    async isSatisfied(request, id, { session, pending, grant }) {
      if (!session || !pending) return false;
      const verified = await trusted(pending);
      if (!verified || verified.error) return false;
      const transaction = { ...pending, idHash: digest('transaction', id) };
      const next = await decideNext(verified, { session, grant }, transaction, clientAddress(request));
      return next.step === 'issue' || next.step === 'consent';
    },

    async questionOf(row) {
      const verified = await trusted(row);
      return verified && !verified.error ? questionOf(verified) : undefined;
    },

    async errors(error, request, reply) {
      if (!(error instanceof ResponseError)) return pageOf(error, request, reply);
      try {
        for (const party of relyingParties) if (await party.refuse(request, reply, error)) return reply;
        return await pageOf(error, request, reply);
      } catch (failure) {
        return pageOf(failure, request, reply);
      }
    },
  };
}

const questionOf = (verified: VerifiedRequest): ConsentQuestion => {
  const { client, target, registeredUri, targets, uiLocales } = verified;
  const apis = targets.flatMap(({ api, scope }) => (api && scope.length > 0 ? [api] : []));
  const { details = [] } = verified;
  return { client, redirectUri: target.redirectUri, registeredUri, asked: askedBy(verified), apis, details, uiLocales };
};

/** The error of a request with prompt=none that needs a page. */
const needsPage = (party: RelyingParty, verified: VerifiedRequest): ResponseError =>
  party.errorOf(verified, 'interaction_required', 'a page has to be shown, and none is in a frame');

/** Names to the client the reference of what the user denied, by which an administrator finds it. */
function described(
  { code, description }: Extract<NextStep, { step: 'error' }>,
  transaction: Transaction | undefined,
): string {
  const decision = transaction?.decision;
  if (!transaction || decision?.allowed !== false || code !== 'access_denied') return description;
  return `${description} (reference ${denialReference(transaction, decision.sub)})`;
}
