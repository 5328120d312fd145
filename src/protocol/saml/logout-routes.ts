// Serves GET|POST /saml/logout: a signed request of an application ends the sessions that it names, and is answered (SAML Profiles 4.4, federation F48).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { digest } from '../../crypto/secrets.ts';
import type { SamlKeys } from '../../domain/keys/saml-keys.ts';
import { clientView, type PageResponses, servePages } from '../../pages/page-response.ts';
import type { NamedSession } from '../../repositories/saml/saml-sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { type SamlStatus, statusUris, success } from '../../rules/saml/status.ts';
import { clockSkew } from '../../saml/message.ts';
import { checkLogoutRequest, type LogoutRequest, logoutResponse } from '../../saml/logout.ts';
import { signElement } from '../../saml/signing.ts';
import { addressWith, encodedForm, relayStateOf } from '../../saml/redirect-binding.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { noStore } from '../../server/errors.ts';
import { samlEntityId, samlPaths } from '../../rules/saml/addresses.ts';
import { newId } from './issue.ts';
import {
  admitted,
  facts,
  type MessageDependencies,
  type ReceivedMessage,
  receivedMessage,
  untrusted,
} from './message.ts';
import { formLimit } from './routes.ts';

interface SamlLogoutDependencies extends MessageDependencies {
  config: Config;
  store: Pick<Store, 'clients' | 'transaction'>;
  sessions: Pick<BrowserSessions, 'find' | 'forget'>;
  samlKeys: SamlKeys;
  pages: PageResponses;
  audit: AuditTrail;
  tokens: { now(): Date };
}

export async function samlLogoutEndpoint(app: FastifyInstance, options: SamlLogoutDependencies): Promise<void> {
  const { config, store, sessions, samlKeys, pages, audit, tokens } = options;
  await servePages(app, pages);
  const address = config.issuer + samlPaths.logout;
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    onlyNavigation(request);
    const received = await receivedMessage(options, request, 'LogoutRequest');
    const { client, element, signed } = received;
    if (!signed) throw untrusted('the logout request is not signed by a key of the application', facts(client));
    const asked = await admitted(() =>
      checkLogoutRequest(element, { sender: client.entityId, destination: address, now: tokens.now() }),
    );
    const session = await sessions.find(request, reply);
    const ended = await end(request, received, asked);
    if (session && ended.some(({ id }) => id === session.id)) sessions.forget(reply);
    const status: SamlStatus = ended.length > 0 ? success : { code: 'Requester', inner: 'UnknownPrincipal' };
    return answer(request, reply, received, asked, status);
  };
  app.get(samlPaths.logout, handle);
  app.post(samlPaths.logout, { bodyLimit: formLimit }, handle);

  /** Ends what the request names, and nothing else (federation FR19). @throws OAuthError for a request that was used before */
  async function end(
    request: FastifyRequest,
    { client: { clientId, entityId } }: ReceivedMessage,
    asked: LogoutRequest,
  ): Promise<NamedSession[]> {
    return store.transaction(async (repositories) => {
      const id = digest('saml-logout', `${entityId} ${asked.id}`);
      if (!(await repositories.clients.useAssertion(clientId, id, new Date(asked.expiresAt.getTime() + 2 * clockSkew))))
        throw untrusted('the logout request was used before');
      const named = await repositories.samlSessions.find(clientId, asked.nameId.value, asked.sessionIndexes);
      for (const { id: session, sid, sub } of named) {
        await repositories.sessions.end(session);
        const event = { type: 'saml_session.ended', outcome: 'success', actor: clientId, clientId, sub } as const;
        await audit(request, { ...event, detail: { session: sid } }, repositories);
      }
      return named;
    });
  }

  /** Answers at the registered address, by the binding of the request; without an address, by a page. */
  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    { client, binding, relayState }: ReceivedMessage,
    { id: inResponseTo }: LogoutRequest,
    status: SamlStatus,
  ): Promise<FastifyReply> {
    const { sloUri: destination } = client;
    if (destination === undefined)
      return pages.send(request, reply, 'signed-out', {
        stayed: false,
        accountUri: '/account',
        client: clientView(client, client.acsUris[0]),
      });
    const key = await samlKeys.signing();
    const content = {
      id: newId(),
      inResponseTo,
      issuer: samlEntityId(config.issuer),
      destination,
      status: statusUris(status),
      now: tokens.now(),
    };
    const state = relayStateOf(relayState);
    if (binding === 'redirect') {
      const xml = logoutResponse(content);
      const message = { name: 'SAMLResponse', xml, relayState: state } as const;
      return noStore(reply).redirect(addressWith(destination, message, key.privateKey), 302);
    }
    const parameters: [string, string][] = [
      ['SAMLResponse', encodedForm(signElement(logoutResponse(content), content.id, key))],
    ];
    if (state !== undefined) parameters.push(['RelayState', state]);
    return pages.send(request, reply, 'form-post', {
      action: destination,
      parameters,
      client: clientView(client, destination),
    });
  }
}
