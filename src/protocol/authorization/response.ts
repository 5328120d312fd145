// Delivers an authorization response to the client by the browser: query, fragment or form_post, always with iss (RFC 9207).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ResponseTarget } from '../../oauth/errors.ts';
import { withQuery } from '../../oauth/redirect-uri.ts';
import { noStore } from '../../server/errors.ts';
import type { PageResponses } from '../../pages/page-response.ts';

export function sendAuthorizationResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  pages: PageResponses,
  issuer: string,
  target: ResponseTarget,
  parameters: Record<string, string>,
): FastifyReply {
  // state as received, and iss always (security R7)
  const all: [string, string][] = [...Object.entries(parameters)];
  if (target.state !== undefined) all.push(['state', target.state]);
  all.push(['iss', issuer]);
  switch (target.responseMode) {
    case 'form_post':
      return pages.send(
        request,
        reply,
        'form-post',
        { action: target.redirectUri, parameters: all },
        { formTarget: target.redirectUri },
      );
    case 'fragment':
      return noStore(reply).redirect(`${target.redirectUri}#${new URLSearchParams(all).toString()}`, 302);
    case 'query':
      return noStore(reply).redirect(withQuery(target.redirectUri, all), 302);
  }
}
