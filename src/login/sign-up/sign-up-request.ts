// What a sign-up is for: a cookie names the pending authorization request until the mailed link was used in the same browser.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { carries, single } from '../../browser/cookies.ts';
import { findPendingRequest, type PendingRequest } from '../../interaction/pending-request-view.ts';
import type { Config } from '../../config.ts';
import type { FindPendingRequestDependencies } from '../../interaction/pending-request-view.ts';

export const signUpCookie = 'GATEHOUSE_SIGN_UP';

export interface SignUpCourse {
  transaction: string;
  pending: PendingRequest;
}

export type SignUpCourseDependencies = FindPendingRequestDependencies & {
  config: Config;
};

export function createSignUpCourse(options: SignUpCourseDependencies) {
  const { basePath, secureCookies: secure, lifetimes } = options.config;
  const cookie: CookieSerializeOptions = { httpOnly: true, sameSite: 'lax', secure, path: `${basePath}/sign-up` };

  /** The request of that name, if it is this browser's and lives. */
  async function find(request: FastifyRequest, transaction: string | undefined): Promise<SignUpCourse | undefined> {
    if (transaction === undefined || transaction.length > 100) return undefined;
    const pending = await findPendingRequest(options, request, transaction);
    return pending && { transaction, pending };
  }

  return {
    find,
    /** The name is worth nothing in another browser: each request is bound to its own (security R4). */
    remember(request: FastifyRequest, reply: FastifyReply, course: SignUpCourse | undefined): void {
      if (course) reply.setCookie(signUpCookie, course.transaction, { ...cookie, maxAge: lifetimes.form });
      // what somebody asked for before is not what this sign-up is for
      else if (carries(request, signUpCookie)) reply.clearCookie(signUpCookie, cookie);
    },
    /** What the sign-up was begun for in this browser. */
    recall: (request: FastifyRequest): Promise<SignUpCourse | undefined> =>
      find(request, single(request, signUpCookie)),
  };
}
