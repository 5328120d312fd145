// Serves the pages and forms of the account: session, anti-forgery token, frame, and the notice after an operation.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { z } from 'zod';
import { invalidRequest } from '../oauth/errors.ts';
import { text } from '../oauth/text.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import { onlyNavigation, type BrowserSessions } from '../browser/session.ts';
import { languagesOf } from '../server/accept-language.ts';
import { clientAddress } from '../server/network.ts';
import { accountView, type PageOptions, type PageResponses } from '../pages/page-response.ts';
import { readParameters, singleValued } from '../server/parameters.ts';
import { reauthenticationPath, recentlyAuthenticated } from '../browser/recent-sign-in.ts';
import type { ReturnTo } from '../pages/return-to.ts';
import { accountNotices, type AccountFrame, type AccountNotice } from '../pages/views/account.ts';
import type { FormView, Pages } from '../pages/views/index.ts';

/** The pages inside the account's frame. */
export type AccountPage = { [N in keyof Pages]: Pages[N] extends AccountFrame ? N : never }[keyof Pages];

/** The session of the user who asked for a page of the account or sent a form of it. */
export interface AccountSession {
  session: Session;
  /** The user as the actor of an operation. */
  by: ReturnType<typeof ownActor>;
  form(action: string): FormView;
  /** Shows a page in the account's frame, with the notice that the address names. */
  send<N extends AccountPage>(name: N, data: Omit<Pages[N], keyof AccountFrame>, options?: PageOptions): FastifyReply;
  /** Redirects to a page of the account that shows a notice. */
  done(path: string, notice: AccountNotice): FastifyReply;
}

type Answer = FastifyReply | Promise<FastifyReply>;

interface Demands {
  /** The page to which the user returns after a sign-in; the sign-in leads to the account otherwise. */
  returnTo?: ReturnTo;
  /** Whether a sign-in that is not recent is repeated first, so that an unattended browser cannot change the account. */
  recent?: boolean | ((session: Session) => boolean);
  /** Whether a double click sends a form again: then its token may be older than the time of the session, which the form has changed. */
  isRepeated?: (request: FastifyRequest) => Promise<boolean>;
}

/** The most items of a list that a page of the account shows. */
export const firstPage = { limit: 200, after: undefined };

const antiForgery = z.object({ csrf: text(100).optional() });

/** Makes the functions that serve pages and forms with the same demands. */
export function createAccountPages(
  { sessions, pages }: { sessions: BrowserSessions; pages: PageResponses },
  { returnTo, recent = false, isRepeated }: Demands = {},
) {
  const pagePaths = new Set<string>();
  const own = (request: FastifyRequest, reply: FastifyReply, session: Session, path: string): AccountSession => ({
    session,
    by: ownActor(request, session),
    form: (action) => ({ action, hidden: { csrf: sessions.formToken(request, reply, { action, session }) } }),
    send<N extends AccountPage>(name: N, data: Omit<Pages[N], keyof AccountFrame>, options: PageOptions = {}) {
      const frame: AccountFrame = { account: accountView(session.user), accountUri: '/account' };
      const done = request.method === 'GET' ? singleValued(request.query)['done'] : undefined;
      const notice = accountNotices.find((known) => known === done);
      if (notice) frame.done = notice;
      // a form that posts to another address than its page cannot be shown again by a link
      const here = pagePaths.has(path) ? { here: path } : {};
      // the compiler does not see that data and frame are all of a generic N
      return pages.send(request, reply, name, { ...data, ...frame } as unknown as Pages[N], { ...here, ...options });
    },
    done: (path, notice) => pages.redirect(reply, `${path}?done=${notice}`),
  });

  const isStale = (session: Session) =>
    typeof recent === 'function' ? !recent(session) : recent && !recentlyAuthenticated(session);

  const signIn = (reply: FastifyReply, session: Session | undefined) =>
    pages.redirect(reply, returnTo ? reauthenticationPath(session, returnTo) : '/login');

  return {
    /** Serves a page; a browser without the demanded session is redirected to the sign-in. */
    page(
      app: FastifyInstance,
      path: string,
      show: (own: AccountSession, request: FastifyRequest, reply: FastifyReply) => Answer,
      options: RouteShorthandOptions = {},
    ): void {
      pagePaths.add(path);
      app.get(path, options, async (request, reply) => {
        onlyNavigation(request);
        const session = await sessions.find(request, reply);
        if (!session || isStale(session)) return signIn(reply, session);
        return show(own(request, reply, session, path), request, reply);
      });
    },
    /** Serves a form of a page: `submit` runs only for the own form of the session (security R55). */
    form<S extends z.ZodType>(
      app: FastifyInstance,
      action: string,
      fields: S,
      submit: (own: AccountSession, typed: z.infer<S>, request: FastifyRequest, reply: FastifyReply) => Answer,
      options: RouteShorthandOptions = {},
    ): void {
      app.post(action, options, async (request, reply) => {
        const { csrf } = readParameters(antiForgery, request.body);
        const typed = readParameters(fields, request.body);
        const present = await sessions.find(request, reply);
        const isOwn = present !== undefined && sessions.isOwnForm(request, csrf, { action, session: present });
        // a form that strengthens the session gives it another cookie
        const mayRepeat = !present || (!isOwn && (await isRepeated?.(request)));
        const session = mayRepeat ? await sessions.findRepeated(request, reply) : isOwn ? present : undefined;
        if (!session && present) throw invalidRequest('the form has expired or came from another site');
        if (!session) return signIn(reply, session);
        if (isStale(session)) return signIn(reply, session);
        return submit(own(request, reply, session, action), typed, request, reply);
      });
    },
  };
}

/** The user as the actor of an operation on their own account. */
export const ownActor = (request: FastifyRequest, session: Session) => ({
  actor: session.user.sub,
  address: clientAddress(request),
  languages: languagesOf(request),
});
