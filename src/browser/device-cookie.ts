// Issues and reads the device cookie of a browser in which a user has signed in before (security R63).
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownAccount } from '../repositories/sessions/device-cookies.ts';
import type { Store } from '../repositories/store.ts';
import { newOpaqueToken, opaqueTokenHash } from '../tokens/opaque-token.ts';
import { carries, internalCookie, single } from './cookies.ts';

/**
 * Grants no access: failures in other browsers do not count against this one, and the sign-in page offers its accounts. It outlives a
 * sign-out, and ends with the password. The value is a token, and after a dot the first factor of the last sign-in if that was no password.
 */
const deviceCookie = 'KNOWN_BROWSER';

export interface DeviceCookieOptions {
  store: Store;
  issuer: string;
  basePath: string;
  secure: boolean;
  /** Since the last sign-in, in seconds. */
  lifetime: number;
}

export type DeviceCookies = ReturnType<typeof createDeviceCookies>;

export function createDeviceCookies({ store, issuer, basePath, secure, lifetime }: DeviceCookieOptions) {
  const cookie: CookieSerializeOptions = { httpOnly: true, sameSite: 'lax', secure, path: basePath || '/' };
  const deviceCookieName = internalCookie(deviceCookie, issuer);
  // an older version set the cookie without the tag of the issuer
  const partsOf = (request: FastifyRequest) =>
    (single(request, deviceCookieName) ?? single(request, `GATEHOUSE_${deviceCookie}`))?.split('.') ?? [];

  return {
    /** The digest of the browser's token, if it sent one. */
    hash(request: FastifyRequest): Buffer | undefined {
      const [token] = partsOf(request);
      return token === undefined ? undefined : opaqueTokenHash('known_browser', token);
    },
    /** The first factor of the last sign-in, if that was no password: untrusted, it only orders the page. */
    lastFactor: (request: FastifyRequest): string | undefined => partsOf(request)[1],
    /**
     * Makes a new token at a sign-in, so that a planted or copied one is worthless.
     * @param factor the first factor of the sign-in, if that was no password
     * @returns what is stored with the sign-in, and the function that sets the cookie afterwards
     */
    renew(request: FastifyRequest, factor?: string) {
      const { token, hash } = newOpaqueToken('known_browser');
      return {
        stored: { hash, previousHash: this.hash(request), lifetime },
        set(reply: FastifyReply): void {
          const value = factor === undefined ? token : `${token}.${factor}`;
          reply.setCookie(deviceCookieName, value, { ...cookie, maxAge: lifetime });
        },
      };
    },
    /** Remembers the browser of a user who has shown the password without signing in. */
    async remember(request: FastifyRequest, reply: FastifyReply, sub: string): Promise<void> {
      const { stored, set } = this.renew(request);
      await store.knownBrowsers.remember(sub, stored.hash, stored.previousHash, lifetime);
      set(reply);
    },
    /** The accounts with which users have signed in in this browser, the last one first. */
    async accounts(request: FastifyRequest): Promise<KnownAccount[]> {
      const hash = this.hash(request);
      return hash ? store.knownBrowsers.accounts(hash) : [];
    },
    /** Forgets an account of this browser, which is then unknown for that user. */
    async forget(request: FastifyRequest, sub: string): Promise<void> {
      const hash = this.hash(request);
      if (hash) await store.knownBrowsers.forget(hash, sub);
    },
    /** Expires the cookie of a browser that knows no account any more. */
    clear(request: FastifyRequest, reply: FastifyReply): void {
      if (carries(request, deviceCookieName)) reply.clearCookie(deviceCookieName, cookie);
    },
  };
}
