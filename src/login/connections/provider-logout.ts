// Serves the addresses at which a provider reports that its session has ended, and to which a browser returns from a logout at the provider.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { digest } from '../../crypto/secrets.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import type { Connection } from '../../entities/connections.ts';
import type { EndedUpstream } from '../../repositories/connections/upstream-logouts.ts';
import type { Repositories } from '../../repositories/store.ts';
import { jsonErrors, noStore } from '../../server/errors.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { readParameters, textFields } from '../../server/parameters.ts';
import { onlyNavigation } from '../../browser/session.ts';
import { idOf, type LoginConnectionsDependencies } from './login-connections.ts';

const tokenShape = textFields({ logout_token: 16_384 });
const frameShape = textFields({ iss: 1000, sid: 255 });
const returnShape = textFields({ state: 100 });
/** Seconds for which a second use of a logout token is detected. No token is accepted for so long. */
const usedFor = 900;

export function providerLogoutRoutes(app: FastifyInstance, options: LoginConnectionsDependencies): void {
  const { store, pages, limits, connectionKinds: kinds, upstreamLogout, audit } = options;

  // the provider's server sends this request, and reads JSON (OpenID Connect Back-Channel Logout 2.8)
  app.post('/connections/:id/backchannel-logout', { errorHandler: jsonErrors }, async (request, reply) => {
    noStore(reply);
    await count(request);
    const { logout_token: token } = readParameters(tokenShape, request.body);
    const connection = await store.connections.find(idOf(request));
    const readLogout = connection && kinds.get(connection.kind)?.readLogout;
    if (!readLogout || token === undefined) throw refused(request, 'there is no such connection, or no logout_token');
    const named = await readLogout(connection, token).catch((error: unknown) => {
      if (!(error instanceof ConnectionFailure)) throw error;
      if (error.reason === 'unreachable')
        throw new OAuthError('temporarily_unavailable', 'the keys of the provider cannot be read now', 503, {
          cause: error,
        });
      throw refused(request, error.message);
    });
    // a provider may end very many sessions at once, so only requests without a valid token count
    await limits.refund('connectionLogouts', networkOf(clientAddress(request)));
    const { issuer, jti, sid, subject } = named;
    const ended = { connectionId: connection.id, issuer, sid, subject };
    await store.transaction(async (repositories) => {
      const { upstreamLogouts } = repositories;
      if (await upstreamLogouts.isMismatch(ended)) throw refused(request, 'sid is the session of another subject');
      if (!(await upstreamLogouts.use(connection.id, digest('logout token', jti), usedFor)))
        throw refused(request, 'jti was used before');
      await end(repositories, request, ended, 'back-channel');
    });
    return reply.code(200).send();
  });

  // a page of the provider loads this in a frame, for which the browser sends no cookie: the provider's session names the sessions here
  app.get('/connections/:id/frontchannel-logout', { errorHandler: jsonErrors }, async (request, reply) => {
    noStore(reply);
    const destination = request.headers['sec-fetch-dest'];
    if (destination !== undefined && destination !== 'iframe') throw refused(request, 'it was not loaded in a frame');
    const { iss, sid = '' } = readParameters(frameShape, request.query);
    const connection = await store.connections.find(idOf(request));
    const issuer = connection && kinds.get(connection.kind)?.issuerOf?.(connection);
    if (!connection || issuer === undefined || iss !== issuer || sid === '')
      throw refused(request, 'iss is not that of the connection, or sid is missing');
    await count(request);
    const ended = { connectionId: connection.id, issuer, sid, subject: undefined };
    await store.transaction((repositories) => end(repositories, request, ended, 'front-channel'));
    return reply
      .removeHeader('x-frame-options')
      .header(
        'content-security-policy',
        `default-src 'none'; base-uri 'none'; frame-ancestors ${frameOriginsOf(connection, issuer).join(' ')}`,
      )
      .type('text/html; charset=utf-8')
      .send('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed out</title></head></html>\n');
  });

  app.get('/connections/:id/signed-out', async (request, reply) => {
    onlyNavigation(request);
    const { state } = readParameters(returnShape, request.query);
    // redirects only to the registered address, and only the browser that signed out (federation F33)
    const redirectTo = await upstreamLogout.finish(request, idOf(request), state);
    if (redirectTo !== undefined) return noStore(reply).redirect(redirectTo, 303);
    return pages.send(request, reply, 'signed-out', { stayed: false, accountUri: '/account' });
  });

  /** Counts a request, apart from the answers of sign-ins: other sites can make a browser send these requests (security R160). */
  async function count(request: FastifyRequest): Promise<void> {
    const wait = await limits.consume('connectionLogouts', networkOf(clientAddress(request)));
    if (wait > 0)
      throw new OAuthError('temporarily_unavailable', 'too many requests from this network: try again soon', 429, {
        headers: { 'retry-after': String(wait) },
      });
  }

  async function end(
    repositories: Repositories,
    request: FastifyRequest,
    ended: EndedUpstream,
    by: 'back-channel' | 'front-channel',
  ): Promise<void> {
    const { connectionId } = ended;
    for (const { sub } of await repositories.upstreamLogouts.end(ended)) {
      const actor = `connection:${connectionId}`;
      const detail = { connection: connectionId, by };
      await audit(request, { type: 'user.signed_out', outcome: 'success', actor, sub, detail }, repositories);
    }
  }
}

/** Refuses a logout with the same answer for every cause. The log has the cause (OpenID Connect Back-Channel Logout 2.8). */
function refused(request: FastifyRequest, cause: string): OAuthError {
  request.log.info({ cause }, 'a logout of a connection was refused');
  return invalidRequest('the logout was refused');
}

/** The origins whose pages may frame the answer: the origin of the issuer, and those of its endpoints. */
function frameOriginsOf({ discovery }: Connection, issuer: string): string[] {
  const addresses = [issuer, discovery?.['authorization_endpoint'], discovery?.['end_session_endpoint']];
  const origins = addresses
    .filter((one) => typeof one === 'string' && URL.canParse(one))
    .map((one) => new URL(one as string).origin);
  return [...new Set(origins)];
}
