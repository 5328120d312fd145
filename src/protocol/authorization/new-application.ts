// Meets a signed-in user who comes from an application that this service does not know yet: the application's document is read, and the user waits
// for an administrator on a page that goes on by itself (draft-ietf-oauth-client-id-metadata-document).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFramed } from '../../browser/cookies.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { Asked, Asker, ClientDocuments } from '../../domain/client-documents/client-documents.ts';
import { registeredUri } from '../../rules/clients/redirect-addresses.ts';
import { documentName } from '../../oauth/client-document.ts';
import { accountView, type PageResponses } from '../../pages/page-response.ts';
import type { Pages } from '../../pages/views/index.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { clientAddress } from '../../server/network.ts';

export interface NewApplicationDependencies {
  config: Config;
  clientDocuments: ClientDocuments;
  sessions: BrowserSessions;
  pages: PageResponses;
}

/** Seconds after which the page asks again. */
const interval = 5;

export function createNewApplications({ config, clientDocuments, sessions, pages }: NewApplicationDependencies) {
  const askerOf = (request: FastifyRequest, { user }: Session): Asker => ({
    sub: user.sub,
    address: clientAddress(request),
    log: request.log,
  });

  return {
    /** Reads the document of a known client again, if it is no longer fresh. */
    async refresh(request: FastifyRequest, session: Session | undefined, clientId: string): Promise<void> {
      if (session && clientDocuments.isAddress(clientId))
        await clientDocuments.ask(clientId, askerOf(request, session));
    },
    /**
     * Answers the request of a client that users cannot authorize yet. A signed-out browser and a frame get the answer for every unknown client,
     * and cause no fetch (security R2, R140).
     * @returns false if the request is to be verified like any other; no reply, since Fastify's is a promise of its end without a value
     */
    async arrive(request: FastifyRequest, reply: FastifyReply, parameters: Record<string, string>): Promise<boolean> {
      const { client_id: clientId, redirect_uri: redirectUri } = parameters;
      if (!clientDocuments.isAddress(clientId) || isFramed(request)) return false;
      const session = await sessions.find(request, reply);
      if (!session) return false;
      const asked = await clientDocuments.ask(clientId, askerOf(request, session));
      if (asked.outcome === 'known' || !fits(asked, redirectUri)) return false;
      const here = `/authorize?${new URLSearchParams(parameters).toString()}`;
      // the page asks again by its address, which a form lacks
      if (request.method === 'POST') pages.redirect(reply, here);
      else show(request, reply, session, asked, { clientId, here });
      return true;
    },
  };

  /** Whether the document lists the redirect URI of the request: else nothing is worth the wait. */
  function fits(asked: Exclude<Asked, { outcome: 'known' }>, redirectUri: string | undefined): boolean {
    if (asked.outcome !== 'waiting') return true;
    return (
      redirectUri !== undefined && registeredUri(asked.client, redirectUri, config.loopbackLocalhost) !== undefined
    );
  }

  function show(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    asked: Exclude<Asked, { outcome: 'known' }>,
    { clientId, here }: { clientId: string; here: string },
  ): FastifyReply {
    const data: Pages['new-application'] = {
      application: { name: documentName(clientId) },
      account: accountView(session.user),
      state: asked.outcome,
      againUri: here,
      accountUri: '/account',
    };
    if (asked.outcome === 'waiting' && asked.client.metadata.client_name !== undefined)
      data.application.claimedName = asked.client.metadata.client_name;
    if (asked.outcome === 'unusable') data.reason = asked.reason;
    if (asked.outcome === 'throttled') {
      data.wait = asked.wait;
      reply.header('retry-after', String(asked.wait));
    }
    // the browser asks again by itself, also without a script
    if (asked.outcome === 'waiting' || asked.outcome === 'reading') reply.header('refresh', String(interval));
    const status = { waiting: 200, reading: 200, unusable: 400, throttled: 429, many: 429, full: 503 }[asked.outcome];
    return pages.send(request, reply, 'new-application', data, { status });
  }
}
