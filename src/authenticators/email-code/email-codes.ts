// Orders the codes by which users sign in from their email, and verifies them in the browser that asked (pages, code by email).
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { internalCookie, single } from '../../browser/cookies.ts';
import { hasPower } from '../../browser/recent-sign-in.ts';
import type { BrowserSessions } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import { digest, equalDigests, randomSecret } from '../../crypto/secrets.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { guardedGroups } from '../../domain/administration/guarded-groups.ts';
import { browserAndSystem } from '../../domain/sessions/browser-name.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import { codeLifetime } from '../../repositories/sign-in-codes/sign-in-codes.ts';
import type { Store } from '../../repositories/store.ts';
import { languagesOf } from '../../server/accept-language.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { readVerificationCode, signInCodeHashes } from '../../tokens/verification-code.ts';
import type { CountTry } from '../count-try.ts';

export type EmailCodes = ReturnType<typeof createEmailCodes>;

/** `sub` is the user of the account to which the code was sent; undefined for a name without one. `wait` in seconds. */
export type EmailCodeAnswer =
  | { outcome: 'right'; sub: string; remember: boolean }
  | { outcome: 'wrong'; sub?: string | undefined }
  | { outcome: 'throttled'; wait: number };

interface EmailCodeOptions {
  store: Pick<Store, 'signInCodes' | 'mails' | 'users' | 'secondFactors'>;
  secretBox: SecretBox;
  sessions: Pick<BrowserSessions, 'browserHash' | 'ensureBrowserHash'>;
  limits: Limits;
  countTry: CountTry;
  config: Config;
  basePath: string;
}

export function createEmailCodes(options: EmailCodeOptions) {
  const { store, secretBox, sessions, limits, countTry, config } = options;
  /** The groups that give power, or demand a second factor. */
  const guarded = guardedGroups(config);
  /** The secret of the code that this browser asked for. It grants nothing without the code, nor without the browser's own cookie. */
  const codeCookie = internalCookie('EMAIL_CODE', config.issuer);
  const cookie: CookieSerializeOptions = {
    httpOnly: true,
    sameSite: 'lax',
    secure: config.secureCookies,
    path: `${options.basePath}/login`,
  };
  const idOf = (secret: string) => digest('sign-in code', secret).toString('hex');

  /** The code that this browser asked for; undefined if it asked for none. */
  function find(request: FastifyRequest): string | undefined {
    const secret = single(request, codeCookie);
    return secret !== undefined && /^[A-Za-z0-9_-]{43}$/.test(secret) ? idOf(secret) : undefined;
  }

  return {
    find,
    /**
     * Orders a mail with a code. Neither the answer nor its time depends on whether there is such an account: the channel of mails looks for it
     * (security R60). @returns the seconds to wait if the network asked for too many mails, else 0
     */
    async begin(request: FastifyRequest, reply: FastifyReply, login: string, remember: boolean): Promise<number> {
      const address = clientAddress(request);
      const wait = await limits.consume('mailedLinksPerNetwork', networkOf(address));
      if (wait > 0) return wait;
      const secret = randomSecret();
      const attempt = idOf(secret);
      await store.signInCodes.begin(attempt, sessions.ensureBrowserHash(request, reply), remember);
      const facts = { ...browserAndSystem(request.headers['user-agent']), address, at: new Date().toISOString() };
      const data = { login, attempt, ...facts };
      await store.mails.insert({ name: 'sign-in-code-wanted', locale: languagesOf(request), data });
      reply.setCookie(codeCookie, secret, { ...cookie, maxAge: 2 * codeLifetime });
      return 0;
    },
    /** Verifies a typed code. Each try is counted before it is compared (security R62), and a code is right once. */
    async verify(request: FastifyRequest, typed: string): Promise<EmailCodeAnswer> {
      const { wait } = await countTry(request, undefined);
      if (wait > 0) return { outcome: 'throttled', wait };
      const id = find(request);
      const browserHash = sessions.browserHash(request);
      const code = readVerificationCode(typed);
      // what cannot be a code is not compared, and costs no try
      if (id === undefined || !browserHash || code === undefined) return { outcome: 'wrong' };
      const counted = await store.signInCodes.count(id, browserHash);
      const codeHash = counted?.sent?.codeHash ?? digest('no sign-in code', id);
      const isRight = signInCodeHashes(secretBox, id, code).some((one) => equalDigests(one, codeHash));
      if (!counted?.sent || !isRight) return { outcome: 'wrong', sub: counted?.sent?.sub };
      const { sub, email } = counted.sent;
      if (!(await store.signInCodes.use(id, codeHash)) || !(await maySignIn(sub, email)))
        return { outcome: 'wrong', sub };
      return { outcome: 'right', sub, remember: counted.remember };
    },
    /** Forgets the code of this browser. */
    close: (reply: FastifyReply): void => void reply.clearCookie(codeCookie, cookie),
  };

  /** Whether the address is still the confirmed one of an enabled user, and the code is not all that protects power. */
  async function maySignIn(sub: string, email: string): Promise<boolean> {
    const user = await store.users.find(sub);
    if (user?.status !== 'enabled' || !user.emailVerified || user.email !== email) return false;
    return !hasPower(user, guarded) || ((await store.secondFactors.mfaStatus(sub))?.enrolled ?? false);
  }
}
