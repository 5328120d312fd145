// Helps the pages of the account: session, anti-forgery token, frame, and the notice after an operation.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalidRequest } from '../oauth/errors.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import { onlyNavigation, type BrowserSessions } from '../browser/session.ts';
import { languagesOf } from '../server/accept-language.ts';
import { clientAddress } from '../server/network.ts';
import { accountView, type PageOptions, type PageResponses } from '../pages/page-response.ts';
import { singleValued } from '../server/parameters.ts';
import { accountNotices, type AccountFrame, type AccountNotice } from '../pages/views/account.ts';
import type { FormView, Pages } from '../pages/views/index.ts';

/** The pages inside the account's frame. */
export type AccountPage = { [N in keyof Pages]: Pages[N] extends AccountFrame ? N : never }[keyof Pages];

export function createAccountPageHelper({ sessions, pages }: { sessions: BrowserSessions; pages: PageResponses }) {
  return {
    /** The session of a page; undefined after a redirect to the sign-in. @throws OAuthError if the request is no navigation */
    async enter(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined> {
      onlyNavigation(request);
      const session = await sessions.find(request, reply);
      if (!session) pages.redirect(reply, '/login');
      return session;
    },
    /**
     * The session of a form; undefined after a redirect to the sign-in (security R55).
     * @throws OAuthError for another form
     */
    async submitted(
      request: FastifyRequest,
      reply: FastifyReply,
      { csrf, action }: { csrf: string | undefined; action: string },
    ): Promise<Session | undefined> {
      const session = await sessions.find(request, reply);
      if (!session) pages.redirect(reply, '/login');
      else if (!sessions.isOwnForm(request, csrf, { action, session }))
        throw invalidRequest('the form is too old or came from elsewhere');
      return session;
    },
    form: (request: FastifyRequest, reply: FastifyReply, session: Session, action: string): FormView => ({
      action,
      hidden: { csrf: sessions.formToken(request, reply, { action, session }) },
    }),
    /** Shows a page in the account's frame, with the notice that the address names. */
    send<N extends AccountPage>(
      request: FastifyRequest,
      reply: FastifyReply,
      session: Session,
      name: N,
      data: Omit<Pages[N], keyof AccountFrame>,
      options: PageOptions = {},
    ): FastifyReply {
      const frame: AccountFrame = { account: accountView(session.user), accountUri: '/account' };
      const done = request.method === 'GET' ? singleValued(request.query)['done'] : undefined;
      const notice = accountNotices.find((known) => known === done);
      if (notice) frame.done = notice;
      // the compiler does not see that data and frame are all of a generic N
      return pages.send(request, reply, name, { ...data, ...frame } as unknown as Pages[N], options);
    },
    /** Redirects to a page of the account that shows a notice. */
    done: (reply: FastifyReply, path: string, notice: AccountNotice): FastifyReply =>
      pages.redirect(reply, `${path}?done=${notice}`),
  };
}

/** The user as the actor of an operation on their own account. */
export const ownActor = (request: FastifyRequest, session: Session) => ({
  actor: session.user.sub,
  address: clientAddress(request),
  languages: languagesOf(request),
});
