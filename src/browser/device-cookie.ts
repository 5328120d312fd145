// Issues and reads the device cookie of a browser in which a user has signed in before (security R63).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../repositories/store.ts';
import { newOpaqueToken, opaqueTokenHash } from '../tokens/opaque-token.ts';
import { single } from './cookies.ts';

// The cookie grants no access: failures in other browsers do not count against this one. It outlives a sign-out, and ends with the password.
const deviceCookieName = 'GATEHOUSE_KNOWN_BROWSER';

export interface DeviceCookieOptions {
  store: Store;
  basePath: string;
  secure: boolean;
  /** Since the last sign-in, in seconds. */
  lifetime: number;
}

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

export function createDeviceCookies({ store, basePath, secure, lifetime }: DeviceCookieOptions) {
  return {
    /** The digest of the browser's token, if it sent one. */
    hash(request: FastifyRequest): Buffer | undefined {
      const token = single(request, deviceCookieName);
      return token === undefined ? undefined : opaqueTokenHash('known_browser', token);
    },
    /**
     * Makes a new token at a sign-in, so that a planted or copied one is worthless.
     * @returns what is stored with the sign-in, and the function that sets the cookie afterwards
     */
    renew(request: FastifyRequest) {
      const { token, hash } = newOpaqueToken('known_browser');
      return {
        stored: { hash, previousHash: this.hash(request), lifetime },
        set(reply: FastifyReply): void {
          const path = basePath || '/';
          reply.setCookie(deviceCookieName, token, {
            httpOnly: true,
            sameSite: 'lax',
            secure,
            path,
            maxAge: lifetime,
          });
        },
      };
    },
    /** Remembers the browser of a user who has shown the password without signing in. */
    async remember(request: FastifyRequest, reply: FastifyReply, sub: string): Promise<void> {
      const { stored, set } = this.renew(request);
      await store.knownBrowsers.remember(sub, stored.hash, stored.previousHash, lifetime);
      set(reply);
    },
  };
}
