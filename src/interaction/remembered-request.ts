// Remembers in a cookie the authorization request of a user who has to open a mailed link first, and continues it once the link has signed the user in.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VerifiedUser } from '../authenticators/authenticator.ts';
import { carries, internalCookie, single } from '../browser/cookies.ts';
import type { Config } from '../config.ts';
import type { AccountNotice } from '../pages/views/account.ts';
import {
  findPendingRequest,
  type FindPendingRequestDependencies,
  type PendingRequest,
} from './pending-request-view.ts';
import { continuationPath, type SignIn } from './sign-in.ts';

export interface RememberedRequest {
  transaction: string;
  pending: PendingRequest;
}

const noticed = (path: string, notice: AccountNotice): string =>
  path === continuationPath({}) ? `${path}?done=${notice}` : path;

export type RememberedRequests = ReturnType<typeof createRememberedRequests>;

export function createRememberedRequests(options: FindPendingRequestDependencies & { config: Config; signIn: SignIn }) {
  const { issuer, basePath, secureCookies: secure, lifetimes } = options.config;
  const cookieName = internalCookie('PENDING_REQUEST', issuer);
  const cookie: CookieSerializeOptions = { httpOnly: true, sameSite: 'lax', secure, path: basePath || '/' };

  return {
    /** The pending request, if it is this browser's and has not expired. */
    async find(request: FastifyRequest, transaction: string | undefined): Promise<RememberedRequest | undefined> {
      if (transaction === undefined || transaction.length > 100) return undefined;
      const pending = await findPendingRequest(options, request, transaction);
      return pending && { transaction, pending };
    },
    /** The cookie is useless in another browser, since each request is bound to one (security R4). */
    remember(request: FastifyRequest, reply: FastifyReply, transaction: string | undefined): void {
      if (transaction !== undefined) reply.setCookie(cookieName, transaction, { ...cookie, maxAge: lifetimes.form });
      // a cookie that is left would name another request
      else if (carries(request, cookieName)) reply.clearCookie(cookieName, cookie);
    },
    recall(request: FastifyRequest): Promise<RememberedRequest | undefined> {
      return this.find(request, single(request, cookieName));
    },
    /**
     * Signs in the user of a link that was just used, after the second factor if one is demanded. The session is new (security R52).
     * @param notice what the account page reports if no request continues
     * @returns the path at which the sign-in continues
     */
    async signIn(
      request: FastifyRequest,
      reply: FastifyReply,
      user: VerifiedUser,
      notice: AccountNotice,
    ): Promise<string> {
      const begun = await this.recall(request);
      this.remember(request, reply, undefined);
      const previous = await options.sessions.find(request, reply);
      const continuation = { previous, transaction: begun?.transaction, clientId: begun?.pending.clientId };
      const next = await options.signIn.proceed(request, reply, user, continuation);
      // the account was disabled, or its password changed, after the link was used
      if (next === undefined) return '/login';
      return noticed(next, notice);
    },
    /** The same path for a form that was sent twice, whose first request used the link up; undefined for any other form. */
    async repeat(request: FastifyRequest, reply: FastifyReply, notice: AccountNotice): Promise<string | undefined> {
      const begun = await this.recall(request);
      const next = await options.signIn.repeat(request, reply, { transaction: begun?.transaction });
      return next === undefined ? undefined : noticed(next, notice);
    },
  };
}
