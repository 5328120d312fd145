// The cookie of a browser in which somebody has signed in before. It lets nobody in and shows nothing: it only keeps the failures of strangers
// from counting against the person in this browser (security R63). It outlives sign-out, and ends with the password.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../repositories/store.ts';
import { newOpaqueToken, opaqueTokenHash } from '../tokens/opaque-token.ts';
import { single } from './cookies.ts';

export const knownBrowserCookie = 'GATEHOUSE_KNOWN_BROWSER';

export interface KnownBrowserOptions {
  store: Store;
  basePath: string;
  secure: boolean;
  /** Since the last sign-in, in seconds. */
  lifetime: number;
}

export type KnownBrowsers = ReturnType<typeof createKnownBrowsers>;

export function createKnownBrowsers({ store, basePath, secure, lifetime }: KnownBrowserOptions) {
  return {
    /** The digest of the browser's token, if it sent one. */
    hash(request: FastifyRequest): Buffer | undefined {
      const token = single(request, knownBrowserCookie);
      return token === undefined ? undefined : opaqueTokenHash('known_browser', token);
    },
    /**
     * Somebody signs in: the browser gets a new token, so that one which was planted or copied is worth nothing any more.
     * @returns what is stored with the sign-in, and what tells the browser once it is
     */
    rename(request: FastifyRequest) {
      const { token, hash } = newOpaqueToken('known_browser');
      return {
        stored: { hash, previousHash: this.hash(request), lifetime },
        tell(reply: FastifyReply): void {
          const path = basePath || '/';
          reply.setCookie(knownBrowserCookie, token, {
            httpOnly: true,
            sameSite: 'lax',
            secure,
            path,
            maxAge: lifetime,
          });
        },
      };
    },
    /** Somebody has shown the password, and is remembered as with a sign-in. */
    async remember(request: FastifyRequest, reply: FastifyReply, sub: string): Promise<void> {
      const { stored, tell } = this.rename(request);
      await store.knownBrowsers.remember(sub, stored.hash, stored.previousHash, lifetime);
      tell(reply);
    },
  };
}
