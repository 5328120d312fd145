// The OP browser state (OpenID Connect Session Management 1.0 section 3.2): by it a relying party's page sees that the sign-in changed.
import { hash } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomSecret } from '../crypto/secrets.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import { carries, isFramed, single } from './cookies.ts';

/** Read by the script of /check-session in other sites' pages, so out of reach of neither scripts nor third parties. */
export const browserStateCookie = 'GATEHOUSE_BROWSER_STATE';
// not the absence of the cookie: a page that may not read cookies must not take that for a sign-out;
// with a part that nobody knows, so that no other page can try whether this is the state
const signedOut = 'signed-out.';

const state = Symbol('browser state');
type Stated = Session & { [state]?: string };

export type BrowserState = ReturnType<typeof createBrowserState>;

export function createBrowserState(options: { secretBox: SecretBox; basePath: string; secure: boolean }) {
  const cookie: CookieSerializeOptions = {
    // browsers keep SameSite=None with Secure only; on plain http, which is loopback, same-site pages are served
    ...(options.secure ? { sameSite: 'none', secure: true } : { sameSite: 'lax', secure: false }),
    httpOnly: false,
    path: options.basePath || '/',
  };
  /** Changes with each sign-in, and once with a new data key; tells nothing of the session to who reads it. A request asks for it twice. */
  const stateOf = (session: Stated): string =>
    (session[state] ??= options.secretBox.mac('browser state', session.sid, String(session.authTime.getTime())));

  return {
    /** Makes the cookie say what holds; a browser that was never signed in gets none. */
    keep(request: FastifyRequest, reply: FastifyReply, session: Session | undefined): void {
      const known = single(request, browserStateCookie);
      if (session) {
        const current = stateOf(session);
        if (known !== current) reply.setCookie(browserStateCookie, current, cookie);
        return;
      }
      // another site's form or frame comes without the session's cookie: that is no sign-out
      const visited = request.method === 'GET' && !isFramed(request) && carries(request, browserStateCookie);
      if (visited && !known?.startsWith(signedOut)) this.end(reply);
    },
    end: (reply: FastifyReply): void => void reply.setCookie(browserStateCookie, signedOut + randomSecret(), cookie),
    /** The session_state of an authorization response; templates/check-session.js makes the same (section 3.2). */
    sessionState(session: Session, clientId: string, redirectUri: string, salt = randomSecret()): string {
      const { origin } = new URL(redirectUri);
      const text = `${clientId} ${origin} ${stateOf(session)} ${salt}`;
      return `${hash('sha256', text)}.${salt}`;
    },
  };
}
