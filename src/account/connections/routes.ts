// Serves /account/connections, where a user links identities of connections to the account, and removes links.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Elsewhere } from '../../authenticators/connection/elsewhere.ts';
import type { ConnectionSteps, IdentityStep } from '../../authenticators/connection/steps.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import { digest } from '../../crypto/secrets.ts';
import { createAdministration } from '../../domain/administration/administration.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import type { LinkIdentity } from '../../domain/connections/link-identity.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { text } from '../../oauth/text.ts';
import { markOf } from '../../pages/connection-mark.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { ownConnections } from '../../pages/return-to.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Store } from '../../repositories/store.ts';
import { type AccountSession, createAccountPages } from '../account-pages.ts';

const path = '/account/connections';
const fields = z.object({
  act: text(20).optional(),
  connection: text(40).optional(),
  identity: text(100).optional(),
});

interface AccountConnectionsDependencies {
  store: Store;
  sessions: BrowserSessions;
  pages: PageResponses;
  elsewhere: Elsewhere;
  connectionKinds: ConnectionKinds;
  connectionSteps: ConnectionSteps;
  linkIdentity: LinkIdentity;
}

export async function accountConnectionsEndpoint(
  app: FastifyInstance,
  options: AccountConnectionsDependencies,
): Promise<void> {
  const { store, pages, elsewhere, connectionKinds, connectionSteps: steps, linkIdentity } = options;
  const administration = createAdministration(store);
  const account = createAccountPages(options, { returnTo: ownConnections });
  // a stranger must not link an identity in an unattended browser (federation FR6)
  const changes = createAccountPages(options, { returnTo: ownConnections, recent: true });

  account.page(app, path, (own, request) => show(own, request, undefined, 200));

  changes.form(app, path, fields, async (own, { act, connection: id = '', identity }, request, reply) => {
    const { sub } = own.session.user;
    switch (act) {
      case 'begin':
        return begin(own, request, reply, id);
      case 'confirm': {
        const waiting = await steps.waiting(request, 'link');
        // another identity than the one on the page may wait in the meantime (federation FR6)
        if (waiting && identity !== nameOfStep(waiting)) return show(own, request, undefined, 409);
        // each step is used once, whatever the outcome (federation FR9)
        const content = waiting && (await steps.finish(request, reply, 'link'));
        if (!waiting || !content) return show(own, request, 'expired', 400);
        const session = { sub, recent: true };
        const by = { address: own.by.address, languages: own.by.languages };
        const asked = { purpose: 'link' as const, session, agreed: content.sub, by };
        const outcome = await linkIdentity(waiting.connectionId, content.identity, asked);
        if (outcome.outcome === 'sign-in') return own.done(path, 'connection-linked');
        return show(
          own,
          request,
          outcome.outcome === 'refused' ? outcome.reason : 'expired',
          409,
          waiting.connectionId,
        );
      }
      case 'leave':
        await steps.finish(request, reply, 'link');
        return pages.redirect(reply, path);
      case 'remove':
        try {
          await administration.unlinkIdentity(own.by, sub, id, true);
        } catch (error) {
          if (!(error instanceof OAuthError) || !['conflict', 'not_found'].includes(error.code)) throw error;
          if (error.code === 'conflict') return show(own, request, 'only-way', 409, id);
        }
        return own.done(path, 'connection-removed');
      default:
        throw invalidRequest('there is no such action');
    }
  });

  async function begin(
    own: AccountSession,
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
  ): Promise<FastifyReply> {
    const connection = await elsewhere.find(id, 'link');
    if (!connection) return show(own, request, 'closed', 400, id);
    try {
      const content = { purpose: 'link' as const, sub: own.session.user.sub };
      const wishes = { login: false, maxAge: undefined, loginHint: undefined, uiLocales: undefined };
      const uri = await elsewhere.begin(request, reply, connection, content, wishes, true);
      // browsers check each redirect of a form against the page's policy, so a page leads to the provider
      return pages.send(request, reply, 'login-leave', { name: connection.displayName, uri });
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
      return show(own, request, error.reason, error.reason === 'unreachable' ? 503 : 400, id);
    }
  }

  async function show(
    own: AccountSession,
    request: FastifyRequest,
    problem: Pages['account-connections']['problem'],
    status: number,
    about?: string,
  ): Promise<FastifyReply> {
    const { sub } = own.session.user;
    const [links, all, waiting] = await Promise.all([
      store.linkedIdentities.ofUser(sub),
      store.connections.list(),
      problem === undefined ? steps.waiting(request, 'link') : undefined,
    ]);
    const find = (id: string) => all.find((one) => one.id === id);
    const nameOf = (id: string) => find(id)?.displayName ?? id;
    const open = all.filter(
      ({ id, kind, status: state }) =>
        state !== 'disabled' &&
        connectionKinds.get(kind)?.begin &&
        !links.some(({ connectionId }) => connectionId === id),
    );
    const own_ = waiting?.content.sub === sub ? waiting : undefined;
    const form = own.form(path);
    return own.send(
      'account-connections',
      {
        links: links.map(({ connectionId, createdAt, lastUsedAt }) => ({
          connection: connectionId,
          name: nameOf(connectionId),
          ...(find(connectionId) && markOf(find(connectionId)!)),
          since: createdAt,
          ...(lastUsedAt && { usedAt: lastUsedAt }),
        })),
        open: open.map((one) => ({ connection: one.id, name: one.displayName, ...markOf(one) })),
        form: own_ ? { ...form, hidden: { ...form.hidden, identity: nameOfStep(own_) } } : form,
        ...(own_ && {
          waiting: {
            connection: own_.connectionId,
            name: nameOf(own_.connectionId),
            identity: calledIn(own_.content.identity.claims, own_.content.identity.subject),
          },
        }),
        ...(problem && { problem }),
        ...(about !== undefined && { name: nameOf(about) }),
      },
      { status },
    );
  }
}

/** A digest of the waiting identity. The form sends it back, so that it confirms the identity on its page. */
const nameOfStep = ({ connectionId, content: { identity } }: { connectionId: string; content: IdentityStep }): string =>
  digest('identity to link', JSON.stringify([connectionId, identity.issuer, identity.subject])).toString('base64url');

/** The name of an identity on the page where the user confirms it. */
function calledIn(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const said = [claims['preferred_username'], claims['email'], claims['name']].find((one) => typeof one === 'string');
  return String(said ?? subject).slice(0, 255);
}
