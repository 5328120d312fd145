// Reads the languages that a browser prefers, for mails to a user who has chosen none.
import type { FastifyRequest } from 'fastify';

/** The header Accept-Language, of which 200 characters are kept. */
export const languagesOf = (request: FastifyRequest): string | undefined =>
  request.headers['accept-language']?.slice(0, 200);
