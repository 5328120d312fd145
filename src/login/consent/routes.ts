// GET|POST /consent: a sign-in goes on here, with what the client asks for, and with the End-User's answer, which is remembered (security R11).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest } from '../../crypto/secrets.ts';
import { type TrustedRequest, verifyRequest } from '../../interaction/authorization-request.ts';
import { requestRules } from '../../interaction/request-rules.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { legible } from '../../pages/claim-text.ts';
import { onlyForms } from '../../server/form-body.ts';
import { clientAddress } from '../../server/network.ts';
import { accountView, clientView } from '../../pages/page-response.ts';
import { singleValued, text } from '../../server/parameters.ts';
import type { Pages } from '../../pages/views/index.ts';
import { namedClaims, releasedClaims } from '../../oauth/claims.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { claimsOfScopes } from '../../oauth/scope.ts';
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { User } from '../../repositories/users/users.ts';
import type { Visit } from '../../repositories/sessions/sign-in-context.ts';
import type { Store } from '../../repositories/store.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { AuthorizationFlow } from '../../interaction/authorization-flow.ts';
import type { RequestRulesDependencies } from '../../interaction/request-rules.ts';

const form = z.object({
  csrf: text(100).optional(),
  transaction: text(100),
  decision: z.enum(['allow', 'deny']),
});

interface Pending {
  client: Client;
  redirectUri: string;
  /** The registered one that it is: what the grant remembers. */
  registeredUri: string;
  scope: string[];
  /** Single claims beside those of the scopes. */
  claims: string[];
  uiLocales: string | undefined;
}

type ConsentDependencies = RequestRulesDependencies & {
  store: Pick<Store, 'authorizationRequests'>;
  sessions: BrowserSessions;
  pages: PageResponses;
  flow: AuthorizationFlow;
};

export async function consentEndpoint(app: FastifyInstance, options: ConsentDependencies): Promise<void> {
  const { store, sessions, pages, flow } = options;
  const rules = requestRules(options);
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/consent', { errorHandler: flow.errors }, (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    if (transaction === undefined) return pages.refuse(reply, 'expired');
    return flow.resume(request, reply, transaction, (authorization, session, grant) =>
      show(request, reply, transaction, pendingOf(authorization), session, grant),
    );
  });

  app.post('/consent', async (request, reply) => {
    const parsed = form.safeParse(singleValued(request.body));
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { csrf, transaction, decision } = parsed.data;
    const { session, pending: stored, grant } = await sessions.visit(request, reply, { transaction });
    const pending = stored && (await verified(stored));
    if (!pending) return pages.refuse(reply, 'expired');
    if (!session) return pages.redirect(reply, `/login?transaction=${transaction}`);
    if (!sessions.isOwnForm(request, csrf, { action: '/consent', transaction, session, shown: shown(pending) })) {
      return show(request, reply, transaction, pending, session, grant, 'tampered');
    }
    const { sub } = session.user;
    const { clientId } = pending.client;
    const allowed = decision === 'allow';
    const { scope, claims, registeredUri: redirectUri } = pending;
    await store.authorizationRequests.decide(
      {
        idHash: digest('transaction', transaction),
        sub,
        allowed,
        asked: { clientId, scope, redirectUri, claims },
        event: {
          type: allowed ? 'consent.granted' : 'consent.denied',
          outcome: 'success',
          actor: sub,
          sub,
          clientId,
          address: clientAddress(request),
          detail: { scope, ...(claims.length > 0 && { claims }) },
        },
      },
      request.log,
    );
    return pages.redirect(reply, `/authorize?transaction=${transaction}`);
  });

  async function verified(stored: AuthorizationRequestRow): Promise<Pending | undefined> {
    const authorization = await verifyRequest(stored.parameters, rules, stored.problem).catch((error: unknown) => {
      if (error instanceof OAuthError) return undefined;
      throw error;
    });
    return authorization && !authorization.error ? pendingOf(authorization) : undefined;
  }

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    pending: Pending,
    session: Session,
    granted: Visit['grant'],
    problem?: 'tampered',
  ): FastifyReply {
    const scopes = pending.scope.filter((scope) => !granted?.scope.includes(scope));
    const known = [...(granted?.claims ?? []), ...claimsOfScopes(granted?.scope ?? [])];
    const claims = pending.claims.filter((claim) => !known.includes(claim));
    // what was granted before is shown again only where nothing else is asked
    const asked =
      scopes.length + claims.length > 0 ? { scopes, claims } : { scopes: pending.scope, claims: pending.claims };
    const data: Pages['consent'] = {
      client: clientView(pending.client, pending.redirectUri),
      account: accountView(session.user),
      form: {
        action: `/consent`,
        hidden: {
          csrf: sessions.formToken(request, reply, {
            action: '/consent',
            transaction,
            session,
            shown: shown(pending),
          }),
          transaction,
        },
      },
      switchAccountUri: `/login?transaction=${transaction}`,
      claims: asked.claims.map((claim) => legible(claim, namedClaims(session.user, [claim])[claim])),
      scopes: asked.scopes.map((scope) => ({
        scope,
        claims: releasedValues(session.user, scope),
      })),
    };
    if (problem) data.problem = problem;
    return pages.send(request, reply, 'consent', data, {
      status: problem ? 400 : 200,
      formTarget: pending.redirectUri,
      uiLocales: pending.uiLocales,
    });
  }
}

function pendingOf(authorization: TrustedRequest): Pending {
  return {
    client: authorization.client,
    redirectUri: authorization.target.redirectUri,
    registeredUri: authorization.registeredUri,
    scope: authorization.scope,
    claims: authorization.claims.beside,
    uiLocales: authorization.uiLocales,
  };
}

/** What the page shows and the answer is about. */
function shown({ scope, claims }: Pending): string {
  return [...scope, ...claims.map((claim) => `claim:${claim}`)].join(' ');
}

/** The values that a scope would release, as a person reads them. */
function releasedValues(user: User, scope: string): Pages['consent']['scopes'][number]['claims'] {
  return Object.entries(releasedClaims(user, [scope]))
    .map(([claim, value]) => legible(claim, value))
    .filter(({ value }) => value !== '');
}
