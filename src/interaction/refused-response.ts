// Says why the database did not issue a response: too many, a session that is over, or something that changed meanwhile.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSessions } from '../browser/session.ts';
import type { Config } from '../config.ts';
import type { ResponseRefusal } from '../oauth/authorization-response.ts';
import { type ErrorCode, OAuthError, type ResponseError } from '../oauth/errors.ts';
import type { ClientCache } from '../repositories/clients/client-cache.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { Store } from '../repositories/store.ts';
import type { VerifiedRequest } from './relying-party.ts';

export interface RefusedResponseDependencies {
  config: Config;
  store: Pick<Store, 'authorizationCodes'>;
  clients: ClientCache;
  sessions: Pick<BrowserSessions, 'find'>;
}

export function createRefusedResponse({ config, store, clients, sessions }: RefusedResponseDependencies) {
  /**
   * @param errorOf makes an error that the client gets
   * @returns undefined if the session is over and the user has to sign in
   */
  return async (
    refusal: ResponseRefusal,
    request: FastifyRequest,
    reply: FastifyReply,
    { client, prompts }: Pick<VerifiedRequest, 'client' | 'prompts'>,
    session: Session,
    errorOf: (code: ErrorCode, description: string) => ResponseError,
  ): Promise<Error | undefined> => {
    const silent = prompts.includes('none');
    if (refusal === 'limit') {
      const wait = Math.max(1, await store.authorizationCodes.findWait(session.id, config.limits.codesPerSession));
      const description = `too many sign-ins to applications in this browser: wait ${wait} seconds`;
      // the user sees a page and can load the request again
      const headers = { 'retry-after': String(wait) };
      return silent
        ? errorOf('temporarily_unavailable', description)
        : new OAuthError('temporarily_unavailable', description, 429, { headers });
    }
    if (!(await sessions.find(request, reply)))
      return silent ? errorOf('login_required', 'the session is over: the user has to sign in') : undefined;
    // another tab answered the request, or the client, session or grant changed within the last second
    clients.forget(client.clientId);
    return new OAuthError('conflict', 'the request was already answered, or something changed in the meantime', 409);
  };
}
