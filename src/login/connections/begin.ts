// Serves POST and GET /connections/{id}: sends the browser to a connection.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { StepContinuation } from '../../authenticators/connection/steps.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { ConnectionFailure, type Wishes } from '../../domain/connections/kind.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { domainOf, isOfDomains } from '../../oauth/mail-domain.ts';
import { returnToOf } from '../../pages/return-to.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { noStore } from '../../server/errors.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';
import { idOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { ConnectionProblems } from './problem.ts';

const startForm = textFields({ csrf: 100, transaction: 100, destination: 100 });

export function beginRoutes(
  app: FastifyInstance,
  { sessions, pages, elsewhere }: LoginConnectionsDependencies,
  { failed, problem }: ConnectionProblems,
): void {
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
}

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
