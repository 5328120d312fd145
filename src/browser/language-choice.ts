// Reads the language that the user chose in the language menu of a page, and remembers it in a cookie.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LanguageChoice } from '../pages/page-response.ts';
import { singleValued } from '../server/parameters.ts';
import { internalCookie, single } from './cookies.ts';

/** In seconds. */
const lifetime = 365 * 86_400;

export function createLanguageChoice(options: {
  available: readonly string[];
  issuer: string;
  basePath: string;
  secure: boolean;
}): LanguageChoice {
  const known = (tag: string | undefined) => options.available.find((locale) => locale === tag);

  const languageCookie = internalCookie('LANGUAGE', options.issuer);
  return {
    stored: (request: FastifyRequest) => known(single(request, languageCookie)),
    take(request: FastifyRequest, reply: FastifyReply) {
      // a link of another site changes no setting of this browser
      const site = request.headers['sec-fetch-site'] ?? 'none';
      const chosen = known(singleValued(request.query)['locale']);
      if (chosen === undefined || request.method !== 'GET' || !['same-origin', 'none'].includes(site)) return undefined;
      reply.setCookie(languageCookie, chosen, {
        httpOnly: true,
        sameSite: 'lax',
        secure: options.secure,
        path: options.basePath || '/',
        maxAge: lifetime,
      });
      return chosen;
    },
  };
}
