// Sends a browser to the logout of the provider at which its user signed in, and recognizes it when it returns (RP-Initiated Logout 2).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSessions } from '../../browser/session.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import type { ConnectionKinds } from '../../domain/connections/kinds.ts';
import type { UpstreamTokens } from '../../domain/connections/upstream-tokens.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import type { Store } from '../../repositories/store.ts';
import { connectionPath } from './connection.ts';
import type { ConnectionSteps } from './steps.ts';

export type UpstreamLogout = ReturnType<typeof createUpstreamLogout>;

/** The state of a logout without a stored step: afterwards the browser stays on the page of this service. */
const noState = 'none';

export function createUpstreamLogout(options: {
  store: Pick<Store, 'connections'>;
  kinds: ConnectionKinds;
  steps: ConnectionSteps;
  upstreamTokens: UpstreamTokens;
  sessions: BrowserSessions;
  issuer: string;
}) {
  const { store, kinds, steps, upstreamTokens, sessions, issuer } = options;

  return {
    /**
     * Returns the provider's address to which the browser is sent after the session here has ended; undefined if it stays here.
     * @param redirectTo the client's registered address, to which the browser is sent at the end
     */
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      { upstream, user }: Session,
      redirectTo: string | undefined,
    ): Promise<string | undefined> {
      const connection = upstream && (await store.connections.find(upstream.connectionId));
      const kind = connection && kinds.get(connection.kind);
      if (!kind?.endSession || connection?.logout !== 'propagate') return undefined;
      // the sign-out has removed the browser's id
      sessions.renewBrowserId(request, reply);
      try {
        return await kind.endSession(connection, {
          returnTo: `${issuer}${connectionPath(connection.id)}/signed-out`,
          state: (await steps.begin(request, reply, 'signed-out', connection.id, { redirectTo })) ?? noState,
          idToken: await upstreamTokens.idTokenOf(user.sub, upstream!),
        });
      } catch (error) {
        // the session here has ended, even if the provider does not answer
        if (!(error instanceof ConnectionFailure)) throw error;
        return undefined;
      }
    },
    /** Returns the address with which the browser continues, if a logout began in this browser and it returns from it. Otherwise undefined. */
    async finish(
      request: FastifyRequest,
      connectionId: string,
      state: string | undefined,
    ): Promise<string | undefined> {
      return (await steps.take(request, 'signed-out', connectionId, state))?.redirectTo;
    },
  };
}
