// Maintains the OP browser state, by which a relying party's page notices a change of sign-in (OpenID Connect Session Management 1.0, 3.2).
import { hash } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomSecret } from '../crypto/secrets.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import { carries, internalCookie, isFramed, single } from './cookies.ts';

/** The script of /check-session reads it within pages of other sites: so it is not HttpOnly, and is sent cross-site. */
export const browserState = 'BROWSER_STATE';
// an absent cookie is no sign-out, since a page may be unable to read cookies; a random part keeps other pages from testing for it
const signedOut = 'signed-out.';

const state = Symbol('browser state');
type Stated = Session & { [state]?: string };

export function createBrowserState(options: {
  secretBox: SecretBox;
  issuer: string;
  basePath: string;
  secure: boolean;
}) {
  const browserStateCookie = internalCookie(browserState, options.issuer);
  const cookie: CookieSerializeOptions = {
    // browsers keep SameSite=None with Secure only; on plain http, which is loopback, same-site pages are served
    ...(options.secure ? { sameSite: 'none', secure: true } : { sameSite: 'lax', secure: false }),
    httpOnly: false,
    path: options.basePath || '/',
  };
  /**
   * Changes with each sign-in, and tells a script that reads it nothing about the session. A request asks for it twice.
   * @param known the browser's present state: it stays if any key of SECRET_KEY made it, so that relying parties see no change at each
   * request while instances with different first keys are running
   */
  function stateOf(session: Stated, known?: string): string {
    if (session[state] !== undefined) return session[state];
    const states = options.secretBox.macs('browser state', session.sid, String(session.authTime.getTime()));
    return (session[state] = states.find((one) => one === known) ?? states[0]!);
  }

  return {
    /** Updates the cookie; a browser that was never signed in gets none. */
    keep(request: FastifyRequest, reply: FastifyReply, session: Session | undefined): void {
      const known = single(request, browserStateCookie);
      if (session) {
        const current = stateOf(session, known);
        if (known !== current) reply.setCookie(browserStateCookie, current, cookie);
        return;
      }
      // a form or frame of another site lacks the session's cookie: that is no sign-out
      const visited = request.method === 'GET' && !isFramed(request) && carries(request, browserStateCookie);
      if (visited && !known?.startsWith(signedOut)) this.end(reply);
    },
    end: (reply: FastifyReply): void => void reply.setCookie(browserStateCookie, signedOut + randomSecret(), cookie),
    /** The session_state of an authorization response; templates/check-session.js computes the same (section 3.2). */
    sessionState(session: Session, clientId: string, redirectUri: string, salt = randomSecret()): string {
      const { origin } = new URL(redirectUri);
      const text = `${clientId} ${origin} ${stateOf(session)} ${salt}`;
      return `${hash('sha256', text)}.${salt}`;
    },
  };
}
