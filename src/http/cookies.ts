// Reading cookies so that one which somebody planted beside ours is seen (security R51, A70).
import type { FastifyRequest } from 'fastify';

/** The cookie's value if it was sent exactly once. */
export function single(request: FastifyRequest, name: string): string | undefined {
  const sent = (request.headers.cookie ?? '').split(';').filter((part) => part.trim().startsWith(`${name}=`));
  if (sent.length !== 1) return undefined;
  return sent[0]!.trim().slice(name.length + 1);
}
