// Sends a browser to the logout of the connection by which its user signed in, and knows it again when it comes back (RP-Initiated Logout 2).
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

/** The state of a logout that nothing waits for: the browser ends on the page of this service. */
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
     * The address to which the browser goes once the session here has ended; undefined if it stays here.
     * @param redirectTo the client's registered address, to which the browser comes at the end
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
      // the sign-out took the id that the browser had
      sessions.renewBrowserId(request, reply);
      try {
        return await kind.endSession(connection, {
          returnTo: `${issuer}${connectionPath(connection.id)}/signed-out`,
          state: (await steps.begin(request, reply, 'signed-out', connection.id, { redirectTo })) ?? noState,
          idToken: await upstreamTokens.idTokenOf(user.sub, upstream!),
        });
      } catch (error) {
        // the session here is over, whatever the other side does
        if (!(error instanceof ConnectionFailure)) throw error;
        return undefined;
      }
    },
    /** Where the browser goes on, if it comes back from a logout that began in it; undefined for any other request. */
    async finish(
      request: FastifyRequest,
      connectionId: string,
      state: string | undefined,
    ): Promise<string | undefined> {
      return (await steps.take(request, 'signed-out', connectionId, state))?.redirectTo;
    },
  };
}
