// Serves the sign-in by a connection: the way there, its answer, and the pages that the answer may need (/login/connect, /login/name).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { Elsewhere } from '../../authenticators/connection/elsewhere.ts';
import type { ConnectionSteps, IdentityStep, StepContinuation } from '../../authenticators/connection/steps.ts';
import { recentlyAuthenticated } from '../../browser/recent-sign-in.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { ConnectionFailure, type VerifiedIdentity, type Wishes } from '../../domain/connections/kind.ts';
import type { LinkIdentity, LinkOutcome } from '../../domain/connections/link-identity.ts';
import { findPendingRequest, type PendingRequest } from '../../interaction/pending-request-view.ts';
import { continuationPath, type SignIn, signInPath } from '../../interaction/sign-in.ts';
import { domainOf, isOfDomains } from '../../oauth/mail-domain.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { connectAccount, readReturnTo, returnToOf } from '../../pages/return-to.ts';
import type { ConnectionProblem } from '../../pages/views/connections.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { logRefusal, noStore } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { readParameters, singleValued, text, textFields } from '../../server/parameters.ts';

const connectPath = '/login/connect';
const namePath = '/login/name';
const pathShape = z.object({ id: text(40) });
const startForm = textFields({ csrf: 100, transaction: 100, destination: 100 });
const nameForm = textFields({ csrf: 100, username: 1000 });
/** As long as a provider's answer may be; a code has its own bounds there. */
const answerShape = textFields({ state: 100, code: 4096, iss: 1000, error: 1000 });

/** The name of an authenticated session that is not known to be fresh: no time was asserted (federation FR10). */
const longAgo = new Date(0);

interface LoginConnectionsDependencies {
  store: Store;
  clients: ClientCache;
  sessions: BrowserSessions;
  signIn: SignIn;
  pages: PageResponses;
  elsewhere: Elsewhere;
  connectionSteps: ConnectionSteps;
  linkIdentity: LinkIdentity;
}

export async function loginConnectionsEndpoint(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
): Promise<void> {
  const { store, sessions, signIn, pages, elsewhere, connectionSteps: steps, linkIdentity } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  const idOf = (request: FastifyRequest) => readParameters(pathShape, request.params).id;

  app.post('/connections/:id', async (request, reply) => {
    const id = idOf(request);
    const { csrf, transaction, destination } = readParameters(startForm, request.body);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const back = { transaction: pending && transaction, returnTo: returnToOf(request) };
    const form = { action: connectionPath(id), transaction, session, shown: returnToOf(request)?.value };
    if (!sessions.isOwnForm(request, csrf, form) || (transaction !== undefined && !pending))
      return pages.redirect(reply, signInPath('/login', back));
    return start(request, reply, id, { transaction, destination }, wishesOf(pending, session));
  });

  // an application, or another page, names the connection of a request that waits in this browser
  app.get('/connections/:id', async (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    if (transaction === undefined || !pending) return pages.redirect(reply, '/login');
    return start(request, reply, idOf(request), { transaction }, wishesOf(pending, session));
  });

  app.get('/connections/:id/callback', async (request, reply) => {
    onlyNavigation(request);
    return receive(request, reply, idOf(request), readParameters(answerShape, request.query));
  });

  app.get(connectPath, async (request, reply) => {
    onlyNavigation(request);
    return showConnect(request, reply, 200);
  });

  app.post(connectPath, async (request, reply) => {
    const { csrf } = readParameters(textFields({ csrf: 100 }), request.body);
    const session = await sessions.find(request, reply);
    const waiting = await steps.waiting(request, 'prove');
    if (!waiting || !session || !isProof(session, waiting.content, waiting.since))
      return showConnect(request, reply, 400);
    if (!sessions.isOwnForm(request, csrf, { action: connectPath, session, shown: shownOf(waiting.content) }))
      return showConnect(request, reply, 400);
    // used once, whatever comes of it (federation FR9)
    const content = await steps.finish(request, reply, 'prove');
    if (!content) return showConnect(request, reply, 400);
    const agreed = content.sub!;
    const outcome = await linkIdentity(waiting.connectionId, content.identity, {
      purpose: 'sign-in',
      agreed,
      by: byOf(request),
    });
    if (outcome.outcome !== 'sign-in') return decide(request, reply, waiting.connectionId, content, outcome);
    // the session by the account's own factors stays
    return pages.redirect(reply, continuationPath(continuationOf(content)));
  });

  app.get(namePath, async (request, reply) => {
    onlyNavigation(request);
    return showName(request, reply, undefined, undefined);
  });

  app.post(namePath, async (request, reply) => {
    const { csrf, username = '' } = readParameters(nameForm, request.body);
    const waiting = await steps.waiting(request, 'name');
    if (!waiting) return problem(request, reply, undefined, 'expired', {});
    const { content, connectionId } = waiting;
    if (!sessions.isOwnForm(request, csrf, { action: namePath, shown: shownOf(content) }))
      return showName(request, reply, username, undefined);
    const outcome = await linkIdentity(connectionId, content.identity, {
      purpose: 'sign-in',
      username: username.trim(),
      by: byOf(request),
    });
    if (outcome.outcome === 'name') return showName(request, reply, username, outcome.taken ? 'taken' : 'unusable');
    await steps.finish(request, reply, 'name');
    return decide(request, reply, connectionId, content, outcome);
  });

  /** Sends the browser to a connection. */
  async function start(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    continuation: StepContinuation,
    wishes: Omit<Wishes, 'loginHint'> & { hint: string | undefined },
  ): Promise<FastifyReply> {
    const connection = await elsewhere.find(id, 'sign-in');
    if (!connection) return problem(request, reply, undefined, 'closed', continuation);
    const { hint, ...others } = wishes;
    try {
      const loginHint = hint !== undefined && isOwner(connection, hint) ? hint : undefined;
      const content = { purpose: 'sign-in' as const, ...continuation };
      const uri = await elsewhere.begin(request, reply, connection, content, { ...others, loginHint });
      return noStore(reply).redirect(uri, 303);
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
      return failed(request, reply, connection, error, continuation);
    }
  }

  /** Verifies the answer of a connection and does what it leads to. */
  async function receive(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    given: Record<string, string | undefined>,
  ): Promise<FastifyReply> {
    const answer = Object.fromEntries(
      Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const answered = await elsewhere.answer(request, id, answer);
    if (!answered) return problem(request, reply, undefined, 'expired', {});
    const { connection, step, identity } = answered;
    if (identity instanceof ConnectionFailure) return failed(request, reply, connection, identity, step);
    if (step.purpose === 'sign-in') {
      const outcome = await linkIdentity(id, identity, { purpose: 'sign-in', by: byOf(request) });
      return decide(request, reply, id, { ...continuationIn(step), identity }, outcome);
    }
    // a link's answer signs no user in: the page of the account asks for one button (federation FR4, FR6)
    const present = await sessions.find(request, reply);
    const session =
      present && present.user.sub === step.sub ? { sub: step.sub, recent: recentlyAuthenticated(present) } : undefined;
    const outcome = await linkIdentity(id, identity, { purpose: 'link', session, by: byOf(request) });
    if (outcome.outcome !== 'confirm') return decide(request, reply, id, { identity }, outcome);
    await steps.wait(request, reply, 'link', id, { identity, sub: outcome.sub });
    return pages.redirect(reply, '/account/connections');
  }

  async function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    content: IdentityStep,
    outcome: LinkOutcome,
  ): Promise<FastifyReply> {
    const continuation = continuationIn(content);
    switch (outcome.outcome) {
      case 'sign-in':
        return complete(request, reply, id, content, outcome.sub);
      case 'prove':
        await steps.wait(request, reply, 'prove', id, { ...content, sub: outcome.sub });
        return pages.redirect(reply, connectPath);
      case 'name':
        await steps.wait(request, reply, 'name', id, content);
        return pages.redirect(reply, namePath);
      case 'confirm':
        return problem(request, reply, undefined, 'expired', continuation);
      case 'refused': {
        const connection = await store.connections.find(id);
        return problem(request, reply, connection, outcome.reason, continuation, outcome.leadsTo);
      }
    }
  }

  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    { identity, transaction, destination }: IdentityStep,
    sub: string,
  ): Promise<FastifyReply> {
    const connection = await store.connections.find(id);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const isExpired = transaction !== undefined && !pending;
    const continuation = {
      previous: session,
      transaction: pending && transaction,
      clientId: pending?.clientId,
      returnTo: readReturnTo(destination),
    };
    const { issuer, subject, sid, amr, authTime = longAgo } = identity;
    const upstream = { connectionId: id, issuer, subject, sid, lifetime: connection?.sessionLifetime };
    const next = await signIn.proceed(
      request,
      reply,
      { sub, passwordHash: undefined, amr, authTime, upstream },
      continuation,
    );
    if (next === undefined) return problem(request, reply, connection, 'closed', { transaction, destination });
    return pages.redirect(reply, isExpired ? signInPath('/login', { transaction }) : next);
  }

  async function failed(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection,
    failure: ConnectionFailure,
    continuation: StepContinuation,
  ): Promise<FastifyReply> {
    await store.auditEvents.insert({
      ...{ type: 'identity.refused', outcome: 'failure', actor: `connection:${connection.id}` },
      ...{ address: clientAddress(request), detail: { connection: connection.id, reason: failure.reason } },
    });
    return problem(request, reply, connection, failure.reason, continuation, undefined, failure);
  }

  /** Says in our words why the sign-in ended. Nothing that the other side said is shown (federation FR13). */
  async function problem(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection | undefined,
    reason: ConnectionProblem,
    { transaction, destination }: StepContinuation,
    leadsTo?: string,
    cause?: unknown,
  ): Promise<FastifyReply> {
    const status = reason === 'unreachable' ? 503 : 400;
    const refusal = new OAuthError('access_denied', `a sign-in by a connection ended: ${reason}`, status, { cause });
    const { session, pending } = await context(request, reply, transaction);
    const returnTo = readReturnTo(destination);
    const other = leadsTo === undefined ? undefined : await elsewhere.find(leadsTo, 'sign-in');
    const action = other && connectionPath(other.id);
    const csrf =
      action &&
      sessions.formToken(request, reply, { action, transaction: pending && transaction, session, shown: destination });
    const hidden = {
      csrf: csrf ?? '',
      ...(pending && { transaction: transaction! }),
      ...(destination !== undefined && { destination }),
    };
    const target = other?.discovery?.['authorization_endpoint'];
    return pages.send(
      request,
      reply,
      'connection-problem',
      {
        problem: reason,
        ...(connection && { name: connection.displayName }),
        ...(pending?.client && { client: pending.client }),
        signInUri: signInPath('/login', { transaction: pending && transaction, returnTo }),
        ...(other && { leadsTo: { id: other.id, name: other.displayName, form: { action: action!, hidden } } }),
        reference: logRefusal(refusal, request),
      },
      {
        ...{ status, formTarget: pending?.redirectUri, uiLocales: pending?.uiLocales },
        formTargets: typeof target === 'string' ? [target] : [],
      },
    );
  }

  async function showConnect(request: FastifyRequest, reply: FastifyReply, status: number): Promise<FastifyReply> {
    const waiting = await steps.waiting(request, 'prove');
    if (!waiting) return problem(request, reply, undefined, 'expired', {});
    const { content, connectionId, since } = waiting;
    const connection = await store.connections.find(connectionId);
    const { session, pending } = await context(request, reply, content.transaction);
    const isProven = session !== undefined && isProof(session, content, since);
    const isOther = session !== undefined && session.user.sub !== content.sub && session.authTime > since;
    const csrf =
      isProven && sessions.formToken(request, reply, { action: connectPath, session, shown: shownOf(content) });
    return pages.send(
      request,
      reply,
      'login-connect',
      {
        name: connection?.displayName ?? connectionId,
        ...(pending?.client && { client: pending.client }),
        address: content.identity.address?.value ?? '',
        signInUri: signInPath('/login', { returnTo: connectAccount }),
        ...(csrf !== false && { form: { action: connectPath, hidden: { csrf } } }),
        ...(isOther && { other: true }),
      },
      { status, formTarget: pending?.redirectUri, uiLocales: pending?.uiLocales, here: connectPath },
    );
  }

  async function showName(
    request: FastifyRequest,
    reply: FastifyReply,
    typed: string | undefined,
    fault: 'taken' | 'unusable' | undefined,
  ): Promise<FastifyReply> {
    const waiting = await steps.waiting(request, 'name');
    if (!waiting) return problem(request, reply, undefined, 'expired', {});
    const { content, connectionId } = waiting;
    const connection = await store.connections.find(connectionId);
    const { pending } = await context(request, reply, content.transaction);
    const csrf = sessions.formToken(request, reply, { action: namePath, shown: shownOf(content) });
    return pages.send(
      request,
      reply,
      'login-name',
      {
        name: connection?.displayName ?? connectionId,
        ...(pending?.client && { client: pending.client }),
        form: { action: namePath, hidden: { csrf } },
        username: typed ?? '',
        ...(fault && { fault }),
      },
      { status: fault ? 400 : 200, formTarget: pending?.redirectUri, uiLocales: pending?.uiLocales, here: namePath },
    );
  }

  async function context(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string | undefined,
  ): Promise<{ session: Session | undefined; pending: PendingRequest | undefined }> {
    const session = await sessions.find(request, reply);
    return { session, pending: await findPendingRequest(options, request, transaction) };
  }
}

/** Whether a session proves the account of a step: every factor of that account, shown since the step began (federation FR9). */
function isProof(session: Session, { sub }: IdentityStep, since: Date): boolean {
  return session.user.sub === sub && session.authTime > since && recentlyAuthenticated(session);
}

/** A form confirms what its page showed: the identity, and the account (federation FR9). */
const shownOf = ({
  identity: { issuer, subject },
  sub = '',
}: {
  identity: VerifiedIdentity;
  sub?: string | undefined;
}) => JSON.stringify([issuer, subject, sub]);

const continuationIn = ({ transaction, destination }: StepContinuation): StepContinuation => ({
  transaction,
  destination,
});

const continuationOf = ({ transaction, destination }: StepContinuation) => ({
  transaction,
  returnTo: readReturnTo(destination),
});

const byOf = (request: FastifyRequest) => ({ address: clientAddress(request), languages: languagesOf(request) });

/** Whether the domain of a name is one of the connection: only then it learns the name (federation 4). */
function isOwner({ domains, authoritativeDomains, subdomains }: Connection, hint: string): boolean {
  const domain = domainOf(hint);
  return domain !== undefined && isOfDomains(domain, [...domains, ...authoritativeDomains], subdomains);
}

/** A signed-in user who comes here again, or whose application wants a new sign-in, has to sign in there again, too. */
function wishesOf(pending: AuthorizationRequestRow | undefined, session: Session | undefined) {
  const { prompt, max_age: maxAge, login_hint: hint, ui_locales: uiLocales } = pending?.parameters ?? {};
  const age = maxAge !== undefined && /^\d{1,9}$/.test(maxAge) ? Number(maxAge) : undefined;
  return {
    login: session !== undefined || (prompt ?? '').split(' ').includes('login') || age === 0,
    ...{ maxAge: age, hint, uiLocales: uiLocales?.slice(0, 200) },
  };
}
