// Reads the language that the user chose in the language menu of a page, and remembers it in a cookie.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { LanguageChoice } from '../pages/page-response.ts';
import { valueIn } from '../server/parameters.ts';
import { internalCookie, single } from './cookies.ts';

/** In seconds. */
const lifetime = 365 * 86_400;

export function createLanguageChoice(
  { issuer, secureCookies: secure }: Pick<Config, 'issuer' | 'secureCookies'>,
  basePath: string,
  available: readonly string[],
): LanguageChoice {
  const known = (tag: string | undefined) => available.find((locale) => locale === tag);

  const languageCookie = internalCookie('LANGUAGE', issuer);
  const path = basePath || '/';

  function keep(reply: FastifyReply, tag: string | undefined): string | undefined {
    const chosen = known(tag);
    // the page for an address without a route is outside the part of the service that has cookies: it is shown in the language, which is not kept
    if (chosen !== undefined && reply.server.hasReplyDecorator('setCookie'))
      reply.setCookie(languageCookie, chosen, { httpOnly: true, sameSite: 'lax', secure, path, maxAge: lifetime });
    return chosen;
  }

  return {
    keep,
    stored: (request: FastifyRequest) => known(single(request, languageCookie)),
    take(request: FastifyRequest, reply: FastifyReply) {
      // a link of another site changes no setting of this browser
      const site = request.headers['sec-fetch-site'] ?? 'none';
      if (request.method !== 'GET' || !['same-origin', 'none'].includes(site)) return undefined;
      return keep(reply, valueIn(request.query, 'locale'));
    },
  };
}
