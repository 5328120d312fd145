// Serves POST and GET /connections/{id}: sends the browser to the provider of a connection.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import type { StepContinuation } from '../../authenticators/connection/steps.ts';
import { wishesOf } from '../../authenticators/connection/wishes.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { ConnectionFailure, type Wishes } from '../../domain/connections/kind.ts';
import { shownRequest } from '../../interaction/pending-request-view.ts';
import { signInPath } from '../../interaction/sign-in.ts';
import { domainOf, isOfDomains } from '../../rules/connections/mail-domain.ts';
import { returnToOf } from '../../pages/return-to.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Connection } from '../../entities/connections.ts';
import { noStore } from '../../server/errors.ts';
import { readParameters, singleValued, textFields } from '../../server/parameters.ts';
import { idOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { ConnectionProblems } from './problem.ts';

const startForm = textFields({ csrf: 100, transaction: 100, destination: 100, remember: 2 });

export function beginRoutes(
  app: FastifyInstance,
  { sessions, clients, pages, elsewhere }: LoginConnectionsDependencies,
  { failed, problem }: ConnectionProblems,
): void {
  app.post('/connections/:id', async (request, reply) => {
    const id = idOf(request);
    const { csrf, transaction, destination, remember } = readParameters(startForm, request.body);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const form = { action: connectionPath(id), transaction, session, shown: returnToOf(request)?.value };
    const refused = sessions.isOwnForm(request, csrf, form) ? undefined : faultOf(request);
    const fault = refused ?? (transaction !== undefined && !pending ? 'expired' : undefined);
    if (fault !== undefined || !(await allows(pending, id)))
      return problem(request, reply, undefined, fault ?? 'closed', { transaction, destination });
    const left = await start(
      request,
      reply,
      id,
      { transaction, destination, remember: remember !== undefined },
      wishesOf(pending?.parameters, session),
      session !== undefined,
    );
    if (left === undefined) return reply;
    // browsers check each redirect of a form against the page's policy, so a page leads to the provider
    const { name, uri } = left;
    const client = pending && (await shownRequest(clients, pending));
    const data = { name, uri, ...(client?.client && { client: client.client }) };
    return pages.send(request, reply, 'login-leave', data, { uiLocales: client?.uiLocales });
  });

  // an application or a page names the connection for a request that waits in this browser
  app.get('/connections/:id', async (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    const { session, pending } = await sessions.findContext(request, reply, { transaction });
    const id = idOf(request);
    if (transaction === undefined || !pending) return pages.redirect(reply, '/login');
    // a request cannot name a connection that the client does not allow (federation 4)
    if (!(await elsewhere.find(id, 'sign-in')) || !(await allows(pending, id)))
      return pages.redirect(reply, signInPath('/login', { transaction }));
    const left = await start(
      request,
      reply,
      id,
      { transaction },
      wishesOf(pending?.parameters, session),
      session !== undefined,
    );
    return left === undefined ? reply : noStore(reply).redirect(left.uri, 303);
  });

  /** The problem of a form that does not belong to this browser. */
  const faultOf = (request: FastifyRequest) =>
    sessions.browserHash(request) === undefined ? ('cookies' as const) : ('tampered' as const);

  /** Whether users may sign in to the client of a request by a connection. */
  async function allows(pending: AuthorizationRequestRow | undefined, id: string): Promise<boolean> {
    const { connections = [] } = (pending && (await clients.find(pending.clientId))) ?? {};
    return connections.length === 0 || connections.includes(id);
  }

  /** Begins a sign-in by a connection. @returns its name and the provider's address; undefined if a page says why the sign-in cannot begin */
  async function start(
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    continuation: StepContinuation,
    wishes: Omit<Wishes, 'loginHint'> & { hint: string | undefined },
    isSignedIn: boolean,
  ): Promise<{ name: string; uri: string } | undefined> {
    const connection = await elsewhere.find(id, 'sign-in');
    if (!connection) {
      await problem(request, reply, undefined, 'closed', continuation);
      return undefined;
    }
    const { hint, ...others } = wishes;
    try {
      const loginHint = hint !== undefined && isOwner(connection, hint) ? hint : undefined;
      const content = { purpose: 'sign-in' as const, ...continuation };
      const uri = await elsewhere.begin(request, reply, connection, content, { ...others, loginHint }, isSignedIn);
      return { name: connection.displayName, uri };
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
      await failed(request, reply, connection, error, continuation);
      return undefined;
    }
  }
}

/** Whether the domain of a name belongs to the connection. Only then the provider learns the name (federation 4). */
function isOwner({ domains, authoritativeDomains, subdomains }: Connection, hint: string): boolean {
  const domain = domainOf(hint);
  return domain !== undefined && isOfDomains(domain, [...domains, ...authoritativeDomains], subdomains);
}
