// Serves GET /end-session: a client ends its own client session by a signed request, without a page (specification 4.4).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { digest } from '../../crypto/secrets.ts';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import { jsonErrors, noStore } from '../../server/errors.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { matchesRedirectUri, withQuery } from '../../oauth/redirect-uri.ts';
import { FetchRefused } from '../../outbound/guarded-fetch.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import {
  EndSessionFault,
  EndSessionRefused,
  type EndSessionRequest,
  endSessionIssuer,
  verifyEndSessionRequest,
} from '../../tokens/end-session-request.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { ClientKeys } from '../../tokens/client-keys.ts';
import type { AuditTrail } from '../../server/audit.ts';

const shape = z.object({ request: text(8000) });

interface EndSessionDependencies {
  config: Config;
  store: Pick<Store, 'transaction'>;
  clients: ClientCache;
  tokens: TokenService;
  sessions: BrowserSessions;
  clientKeys: ClientKeys;
  audit: AuditTrail;
}

export async function endSessionEndpoint(app: FastifyInstance, options: EndSessionDependencies): Promise<void> {
  const { config, store, clients, clientKeys, tokens, sessions, audit } = options;
  app.setErrorHandler(jsonErrors);

  app.get('/end-session', async (request, reply) => {
    onlyNavigation(request);
    const { request: jwt } = readParameters(shape, request.query);
    const { client, ending } = await verify(jwt);
    const { metadata } = client;
    const registered = [...(metadata.post_logout_redirect_uris ?? []), ...metadata.redirect_uris];
    if (!matchesRedirectUri(registered, ending.redirectUri, metadata.application_type, config.loopbackLocalhost))
      throw invalidRequest('redirect_uri is not registered');
    if (ending.all && !client.firstParty) throw invalidRequest('all is only for first-party clients');
    const session = await sessions.find(request, reply);
    const ended = await store.transaction(async (repositories) => {
      if (
        !(await repositories.clients.useAssertion(client.clientId, digest('end-session', ending.jti), ending.expiresAt))
      )
        return 'replayed';
      // the answer is the same for a sid or sub that is unknown, ended or another client's (security R73, R74)
      const subject = session && (await repositories.clientSessions.findSubject(session.id, client.clientId));
      if (!session || subject === undefined) return 'no-session';
      if ((ending.sid ?? session.sid) !== session.sid || (ending.sub ?? subject) !== subject) return 'no-session';
      // the client's own session ends first: the client asked for that, and needs no notification
      await repositories.clientSessions.end(session.id, client.clientId);
      if (ending.all) await repositories.sessions.end(session.id);
      await audit(
        request,
        {
          type: 'client_session.ended',
          outcome: 'success',
          actor: client.clientId,
          clientId: client.clientId,
          sub: session.user.sub,
          detail: { all: ending.all },
        },
        repositories,
      );
      return 'ended';
    });
    if (ended === 'replayed') throw faulty('jti was used before: each request needs a new one');
    if (ended === 'no-session') throw invalidRequest('there is no session of this client in this browser');
    if (ending.all) sessions.forget(reply);
    return noStore(reply).redirect(
      withQuery(ending.redirectUri, ending.state === undefined ? [] : [['state', ending.state]]),
      302,
    );
  });

  /** The answer is the same for an unknown client, a disabled one and a wrong signature (security R74); a client that signed learns its error. */
  async function verify(jwt: string): Promise<{ client: Client; ending: EndSessionRequest }> {
    const issuer = endSessionIssuer(jwt);
    const client = issuer === undefined ? undefined : await clients.find(issuer);
    if (!client || client.status !== 'enabled') throw refused('unknown or disabled client');
    const hasKeys = client.metadata.jwks !== undefined || client.metadata.jwks_uri !== undefined;
    try {
      const ending = await verifyEndSessionRequest(
        jwt,
        client.clientId,
        config.issuer,
        {
          sharedSecret: tokens.sharedSecret(client),
          jwks: hasKeys ? () => clientKeys(client.metadata, false) : undefined,
        },
        tokens.now(),
      );
      return { client, ending };
    } catch (error) {
      if (error instanceof EndSessionFault) throw faulty(error.message);
      if (error instanceof EndSessionRefused || error instanceof FetchRefused) throw refused(error.message);
      throw error;
    }
  }
}

function refused(cause?: string): OAuthError {
  return new OAuthError(
    'invalid_client',
    'the end-session request is not one that an enabled client signed with its shared_secret or a registered key',
    401,
    { cause },
  );
}

function faulty(fault: string): OAuthError {
  return new OAuthError('invalid_client', `the end-session request has a valid signature, but ${fault}`, 401);
}
