// Remembers in a cookie the authorization request from which a sign-up began, until the mailed link is used in this browser.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { carries, single } from '../../browser/cookies.ts';
import type { Config } from '../../config.ts';
import {
  findPendingRequest,
  type FindPendingRequestDependencies,
  type PendingRequest,
} from '../../interaction/pending-request-view.ts';

export const signUpCookie = 'GATEHOUSE_SIGN_UP';

export interface SignUpRequest {
  transaction: string;
  pending: PendingRequest;
}

export type SignUpRequestDependencies = FindPendingRequestDependencies & {
  config: Config;
};

export function createSignUpRequests(options: SignUpRequestDependencies) {
  const { basePath, secureCookies: secure, lifetimes } = options.config;
  const cookie: CookieSerializeOptions = { httpOnly: true, sameSite: 'lax', secure, path: `${basePath}/sign-up` };

  /** The pending request, if it is this browser's and has not expired. */
  async function find(request: FastifyRequest, transaction: string | undefined): Promise<SignUpRequest | undefined> {
    if (transaction === undefined || transaction.length > 100) return undefined;
    const pending = await findPendingRequest(options, request, transaction);
    return pending && { transaction, pending };
  }

  return {
    find,
    /** The cookie is useless in another browser, since each request is bound to one (security R4). */
    remember(request: FastifyRequest, reply: FastifyReply, begun: SignUpRequest | undefined): void {
      if (begun) reply.setCookie(signUpCookie, begun.transaction, { ...cookie, maxAge: lifetimes.form });
      // the cookie of an earlier sign-up names another request
      else if (carries(request, signUpCookie)) reply.clearCookie(signUpCookie, cookie);
    },
    /** The request from which the sign-up in this browser began. */
    recall: (request: FastifyRequest): Promise<SignUpRequest | undefined> =>
      find(request, single(request, signUpCookie)),
  };
}
