// Serves the addresses of a connection by SAML: its metadata, the answers that are posted, and logout from both sides (federation 9).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { connectionPath } from '../../authenticators/connection/connection.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { digest } from '../../crypto/secrets.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import type { SamlService } from '../../domain/connections/saml/service.ts';
import type { Connection } from '../../entities/connections.ts';
import { notFound, OAuthError } from '../../oauth/errors.ts';
import { SamlRefused } from '../../saml/refused.ts';
import { noStore } from '../../server/errors.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { idOf, type LoginConnectionsDependencies } from './login-connections.ts';
import type { ConnectionProblems } from './problem.ts';

/** The base64 of the largest message. */
const maxMessage = 349_528;
/** A form encodes some characters of base64 with three. */
const bodyLimit = 524_288;
const answerShape = textFields({ SAMLResponse: maxMessage, SAMLRequest: maxMessage, RelayState: 10_000 });

export function samlRoutes(
  app: FastifyInstance,
  options: LoginConnectionsDependencies,
  { failed, problem }: ConnectionProblems,
): void {
  const { store, pages, elsewhere, limits, upstreamLogout, audit, saml } = options;

  /** @throws OAuthError not_found */
  async function find(request: FastifyRequest): Promise<Connection> {
    const id = idOf(request);
    const found = /^[a-z][a-z0-9-]{1,39}$/.test(id) ? await store.connections.find(id) : undefined;
    if (found?.kind !== 'saml') throw notFound('there is no such connection');
    return found;
  }

  app.get('/connections/:id/saml/metadata', async (request, reply) => {
    const metadata = saml.metadata(await find(request));
    if (metadata === undefined) throw notFound('there is no such metadata');
    return reply
      .header('cache-control', 'public, max-age=300')
      .type('application/samlmetadata+xml; charset=utf-8')
      .send(metadata);
  });

  // a page of the identity provider posts this, without a cookie that is SameSite=Lax: the next request tells which browser it is
  app.post('/connections/:id/saml/acs', { bodyLimit }, async (request, reply) => {
    const id = idOf(request);
    const { SAMLResponse, RelayState } = readParameters(answerShape, request.body);
    const connection = SAMLResponse === undefined ? undefined : await elsewhere.find(id, 'link');
    if (connection?.kind !== 'saml') return problem(request, reply, undefined, 'expired', {});
    try {
      // what no reader admits is not kept
      saml.admit(SAMLResponse!);
    } catch (error) {
      return failed(request, reply, connection, failureOf(error), {});
    }
    const answer = { SAMLResponse: SAMLResponse!, ...(RelayState !== undefined && { state: RelayState }) };
    const kept = (await elsewhere.keep(id, answer)) ?? (await elsewhere.keepUnsolicited(request, id, answer));
    const query = kept === undefined ? '' : `?answer=${kept}`;
    return pages.redirect(reply, `${connectionPath(encodeURIComponent(id))}/continue${query}`);
  });

  app.get('/connections/:id/saml/logout', async (request, reply) => {
    const connection = await find(request);
    await count(request);
    const [, query = ''] = /\?([^#]*)/.exec(request.raw.url ?? '') ?? [];
    return receive(request, reply, connection, () => saml.readLogoutQuery(connection, query));
  });

  app.post('/connections/:id/saml/logout', { bodyLimit }, async (request, reply) => {
    const connection = await find(request);
    await count(request);
    const { SAMLRequest, SAMLResponse, RelayState } = readParameters(answerShape, request.body);
    // the browser brings its cookie with the next request only
    if (SAMLRequest === undefined && SAMLResponse !== undefined)
      return pages.redirect(reply, `${connectionPath(connection.id)}/signed-out${stateOf(RelayState)}`);
    return receive(request, reply, connection, () => saml.readLogoutForm(connection, SAMLRequest ?? '', RelayState));
  });

  /** Ends what a request names, and answers at the registered address; or continues after a logout that began here. */
  async function receive(
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection,
    read: () => ReturnType<SamlService['readLogoutQuery']>,
  ): Promise<FastifyReply> {
    let received;
    try {
      received = read();
    } catch (error) {
      return failed(request, reply, connection, failureOf(error), {});
    }
    if ('answered' in received) {
      onlyNavigation(request);
      // whatever the other side says: the session here has ended before (federation 4)
      const redirectTo = await upstreamLogout.finish(request, connection.id, received.answered);
      if (redirectTo !== undefined) return noStore(reply).redirect(redirectTo, 303);
      return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account' });
    }
    const { logout, named, lifetime, answer } = received;
    const isNew = await store.transaction(async (repositories) => {
      if (!(await repositories.upstreamLogouts.use(connection.id, digest('saml logout', logout.id), lifetime)))
        return false;
      for (const one of named)
        for (const { sub } of await repositories.upstreamLogouts.end(one)) {
          const actor = `connection:${connection.id}`;
          const detail = { connection: connection.id, by: 'saml' };
          await audit(request, { type: 'user.signed_out', outcome: 'success', actor, sub, detail }, repositories);
        }
      return true;
    });
    if (!isNew)
      return failed(request, reply, connection, new ConnectionFailure('answer', 'the request was used before'), {});
    if (answer !== undefined) return noStore(reply).redirect(answer, 303);
    return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account' });
  }

  /** Counts a request, apart from the answers of sign-ins: other sites can make a browser send these requests (security R160). */
  async function count(request: FastifyRequest): Promise<void> {
    const wait = await limits.consume('connectionLogouts', networkOf(clientAddress(request)));
    if (wait > 0)
      throw new OAuthError('temporarily_unavailable', 'too many requests from this network: try again soon', 429, {
        headers: { 'retry-after': String(wait) },
      });
  }
}

/** A state of ours, as a query; anything else is dropped (federation FR29). */
const stateOf = (given: string | undefined): string =>
  given !== undefined && /^[A-Za-z0-9_-]{43}$/.test(given) ? `?state=${given}` : '';

function failureOf(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  if (error instanceof SamlRefused) return new ConnectionFailure('answer', error.message, error);
  throw error;
}
