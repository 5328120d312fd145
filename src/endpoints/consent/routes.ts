// GET|POST /consent: what a client asks for, and the End-User's answer, which is remembered.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest } from '../../crypto/secrets.ts';
import { onlyNavigation } from '../../http/browser-session.ts';
import { onlyForms } from '../../http/form-body.ts';
import { accountView, clientView } from '../../http/page-response.ts';
import { singleValued, text } from '../../http/parameters.ts';
import type { ServerOptions } from '../../http/server-options.ts';
import type { Pages } from '../../http/views.ts';
import { releasedClaims } from '../../oauth/claims.ts';
import { OAuthError } from '../../oauth/errors.ts';
import { registeredRedirectUri } from '../../oauth/redirect-uri.ts';
import { splitScope } from '../../oauth/scope.ts';
import type { Client } from '../../repositories/clients.ts';
import type { Session } from '../../repositories/sessions.ts';
import type { User } from '../../repositories/users.ts';

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
  uiLocales: string | undefined;
}

export async function consentEndpoint(app: FastifyInstance, options: ServerOptions): Promise<void> {
  const { store, clients, sessions, pages, audit } = options;
  await onlyForms(app);
  app.setErrorHandler((error, request, reply) => pages.errors(error, request, reply));

  app.get('/consent', async (request, reply) => {
    onlyNavigation(request);
    const { transaction } = singleValued(request.query);
    const pending = transaction === undefined ? undefined : await findPending(request, transaction);
    if (transaction === undefined || !pending) return pages.refuse(reply, 'expired');
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, `/login?transaction=${transaction}`);
    return show(request, reply, transaction, pending, session);
  });

  app.post('/consent', async (request, reply) => {
    const parsed = form.safeParse(singleValued(request.body));
    if (!parsed.success) throw new OAuthError('invalid_request', 'the form could not be read');
    const { csrf, transaction, decision } = parsed.data;
    const pending = await findPending(request, transaction);
    if (!pending) return pages.refuse(reply, 'expired');
    const session = await sessions.find(request, reply);
    if (!session) return pages.redirect(reply, `/login?transaction=${transaction}`);
    if (
      !sessions.isOwnForm(request, csrf, { action: '/consent', transaction, session, shown: pending.scope.join(' ') })
    ) {
      return show(request, reply, transaction, pending, session, 'tampered');
    }
    const { sub } = session.user;
    const { clientId } = pending.client;
    const allowed = decision === 'allow';
    await store.transaction(async (repositories) => {
      if (!(await repositories.authorizationRequests.decide(digest('transaction', transaction), sub, allowed))) return;
      if (allowed) await repositories.grants.add(sub, clientId, pending.scope, pending.registeredUri);
      await audit(
        request,
        {
          type: allowed ? 'consent.granted' : 'consent.denied',
          outcome: 'success',
          actor: sub,
          sub,
          clientId,
          detail: { scope: pending.scope },
        },
        repositories,
      );
    });
    return pages.redirect(reply, `/authorize?transaction=${transaction}`);
  });

  async function findPending(request: FastifyRequest, transaction: string): Promise<Pending | undefined> {
    const browserHash = sessions.browserHash(request);
    const stored =
      browserHash && (await store.authorizationRequests.find(digest('transaction', transaction), browserHash));
    const client = stored && (await clients.find(stored.clientId));
    if (!stored || !client || client.status !== 'enabled') return undefined;
    const registered = splitScope(client.metadata.scope);
    const refreshes = client.metadata.grant_types.includes('refresh_token');
    const redirectUri = stored.parameters['redirect_uri'] ?? '';
    return {
      client,
      redirectUri,
      registeredUri: registeredRedirectUri(client.metadata.redirect_uris, redirectUri) ?? redirectUri,
      scope: splitScope(stored.parameters['scope'] ?? '').filter(
        (scope) => registered.includes(scope) && (scope !== 'offline_access' || refreshes),
      ),
      uiLocales: stored.parameters['ui_locales']?.slice(0, 200),
    };
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    transaction: string,
    pending: Pending,
    session: Session,
    problem?: 'tampered',
  ): Promise<FastifyReply> {
    const granted = (await store.grants.find(session.user.sub, pending.client.clientId))?.scope ?? [];
    const asked = pending.scope.filter((scope) => !granted.includes(scope));
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
            shown: pending.scope.join(' '),
          }),
          transaction,
        },
      },
      switchAccountUri: `/login?transaction=${transaction}`,
      scopes: (asked.length > 0 ? asked : pending.scope).map((scope) => ({
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

/** The values that a scope would release, as a person reads them. */
function releasedValues(user: User, scope: string): { claim: string; value: string }[] {
  return Object.entries(releasedClaims(user, [scope])).map(([claim, value]) => ({ claim, value: readable(value) }));
}

function readable(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object' && value !== null) return String((value as { formatted?: unknown }).formatted ?? '');
  return String(value);
}
