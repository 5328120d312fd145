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
import type { LinkPurpose } from '../repositories/mailed-links/mailed-links.ts';
import type { Store } from '../repositories/store.ts';
import { findUsedLink } from './mailed-link.ts';
import { continuationPath, type SignIn } from './sign-in.ts';

export interface RememberedRequest {
  transaction: string;
  pending: PendingRequest;
}

const noticed = (path: string, notice: AccountNotice): string =>
  path === continuationPath({}) ? `${path}?done=${notice}` : path;

export type RememberedRequests = ReturnType<typeof createRememberedRequests>;

interface RememberedRequestsDependencies extends FindPendingRequestDependencies {
  config: Config;
  store: Pick<Store, 'authorizationRequests' | 'mailedLinks' | 'users' | 'usedForms'>;
  signIn: SignIn;
}

/** The links by which a user sets a password, and is then signed in. */
const signInPurposes: LinkPurpose[] = ['reset_password', 'recovery', 'sign_up', 'invitation'];

export function createRememberedRequests(options: RememberedRequestsDependencies) {
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
      const continuation = { transaction: begun?.transaction, clientId: begun?.pending.clientId };
      const next = await options.signIn.repeat(request, reply, continuation, await provenBefore(request));
      if (next === undefined) return undefined;
      this.remember(request, reply, undefined);
      return noticed(next, notice);
    },
  };

  /** The user whose password this form has just set by a link; undefined if it has not, or if the password has changed since. */
  async function provenBefore(request: FastifyRequest): Promise<VerifiedUser | undefined> {
    const { store, sessions } = options;
    const link = await findUsedLink(store, request, signInPurposes);
    if (!link) return undefined;
    // the user of a sign-up did not exist when the link was sent
    const user = await (link.sub === undefined ? store.users.findByEmail(link.email!) : store.users.find(link.sub));
    const passwordHash = user?.passwordHash;
    if (passwordHash === undefined || !(await store.usedForms.isKept(sessions.formHash(request, passwordHash))))
      return undefined;
    return { sub: user!.sub, passwordHash, amr: ['pwd'] };
  }
}
