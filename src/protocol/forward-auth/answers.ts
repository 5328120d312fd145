// Writes the answers to a proxy: what it passes to the application, where it sends the browser, or that it refuses the request.
import type { FastifyReply } from 'fastify';
import type { OriginalRequest, ProxyKind } from '../../rules/sites/original-request.ts';

/** What the service says about a request to a protected site. */
export type Verdict =
  /** The user may open the site; the headers say who the user is. On an open path there are none. */
  | { allowed: Record<string, string> }
  /** The browser is to sign in first, at `location`. */
  | { signIn: { location: string; cookie: string } }
  /** No session, and nothing that a redirect could help. */
  | { denied: 401 }
  /** The proxy or the request is refused; the reason is logged. */
  | { denied: 403; reason: string };

/** RFC 9110 15.5.2 demands a challenge; the session of a site is a cookie. */
const challenge = 'Cookie realm="gatehouse"';

/** The answer that a proxy of this kind understands. */
export function answer(reply: FastifyReply, kind: ProxyKind, verdict: Verdict): FastifyReply {
  reply.header('cache-control', 'no-store');
  if ('allowed' in verdict) return reply.code(200).headers(verdict.allowed).send();
  if ('denied' in verdict) {
    if (verdict.denied === 403) reply.request.log.info({ reason: verdict.reason }, 'request of a proxy refused');
    else reply.header('www-authenticate', challenge);
    return reply.code(verdict.denied).send();
  }
  const { location, cookie } = verdict.signIn;
  reply.header('set-cookie', cookie);
  // nginx passes on no other status than 401 and 403
  return kind === 'nginx'
    ? reply.code(401).headers({ 'www-authenticate': challenge, 'x-gatehouse-redirect': location }).send()
    : reply.code(302).header('location', location).send();
}

/** The address of a request at its host. */
export const addressOf = ({ host, path, query }: OriginalRequest): string => `https://${host}${path}${query}`;
