// Decides what the sign-in page shows where domains lead to connections, and sends the browser to the connection of a name (federation 4).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ElsewhereWay } from '../../authenticators/authenticator.ts';
import type { Elsewhere } from '../../authenticators/connection/elsewhere.ts';
import { wishesOf } from '../../authenticators/connection/wishes.ts';
import { ConnectionFailure } from '../../domain/connections/kind.ts';
import type { PendingRequest } from '../../interaction/pending-request-view.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';
import { logRefusal } from '../../server/errors.ts';
import { textFields } from '../../server/parameters.ts';

/** Where the form of the name posts. */
export const namePath = '/login/user';
export const nameForm = textFields({ csrf: 100, transaction: 100, destination: 100, username: 320, remember: 2 });

/** `name` asks for the name alone; `local` was asked for by its address; `connection` shows one connection alone. */
export type SignInPageKind = 'name' | 'all' | 'local' | { connection: string; name: string };

/** Whether users may sign in to the client of a request by a connection. */
export const isAllowed = (pending: PendingRequest | undefined, id: string): boolean =>
  !pending || pending.connections.length === 0 || pending.connections.includes(id);

/** Whether the page shows the button of a connection: of a client that names connections, these. */
export function isShown(pending: PendingRequest | undefined, kind: SignInPageKind): (way: ElsewhereWay) => boolean {
  if (typeof kind === 'object') return ({ id }) => id === kind.connection && isAllowed(pending, id);
  return ({ id, hidden }) => (pending && pending.connections.length > 0 ? isAllowed(pending, id) : !hidden);
}

/** Whether a sign-in by the service itself can help. */
export const isLocal = (pending: PendingRequest | undefined, kind: SignInPageKind): boolean =>
  typeof kind !== 'object' && (!pending || pending.connections.length === 0);

interface LeaveDependencies {
  elsewhere: Elsewhere;
  pages: PageResponses;
}

export function createLeave({ elsewhere, pages }: LeaveDependencies) {
  /** Shows the page that leads to a connection by itself. @returns false if that fails; no reply, since Fastify's is a promise of its end without a value */
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    connection: Connection,
    sign: {
      page: {
        transaction: string | undefined;
        pending: PendingRequest | undefined;
        session: Session | undefined;
        remember: boolean;
      };
      name: string;
      destination: string | undefined;
    },
  ): Promise<boolean> => {
    const { transaction, pending, session, remember } = sign.page;
    try {
      const step = { purpose: 'sign-in' as const, transaction, destination: sign.destination, remember };
      const { login, maxAge, uiLocales } = wishesOf(pending?.parameters, session);
      // the domain of the name belongs to the connection
      const uri = await elsewhere.begin(
        request,
        reply,
        connection,
        step,
        {
          login,
          maxAge,
          uiLocales,
          loginHint: sign.name,
        },
        session !== undefined,
      );
      // no redirect: the policy of the page before would have to name the address of each connection
      pages.send(
        request,
        reply,
        'login-leave',
        { name: connection.displayName, uri, ...(pending?.client && { client: pending.client }) },
        { uiLocales: pending?.uiLocales },
      );
      return true;
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
      logRefusal(
        new OAuthError('access_denied', `a connection failed: ${error.reason}, ${error.message}`, 503),
        request,
      );
      await elsewhere.recordFailure(request, connection, error);
      return false;
    }
  };
}
