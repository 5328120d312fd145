// Reading cookies so that one which somebody planted beside ours is seen (security R51, A70).
import type { FastifyRequest } from 'fastify';

/** Whether a cookie of the name was sent, once or more often. */
export function carries(request: FastifyRequest, name: string): boolean {
  return request.headers.cookie?.includes(`${name}=`) ?? false;
}

/** The cookie's value if it was sent exactly once. */
export function single(request: FastifyRequest, name: string): string | undefined {
  const { cookie } = request.headers;
  const start = `${name}=`;
  if (!cookie?.includes(start)) return undefined;
  let value: string | undefined;
  for (const part of cookie.split(';')) {
    const pair = part.trim();
    if (!pair.startsWith(start)) continue;
    if (value !== undefined) return undefined;
    value = pair.slice(start.length);
  }
  return value;
}
