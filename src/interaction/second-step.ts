// Keeps the first step of a sign-in for the second one, in a sealed cookie that names the user and grants no access.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digest } from '../crypto/secrets.ts';
import type { VerifiedUser } from '../authenticators/authenticator.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Repositories } from '../repositories/store.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import type { User } from '../repositories/users/users.ts';
import type { BrowserSessions } from '../browser/session.ts';
import { carries, internalCookie, single } from '../browser/cookies.ts';
import { cameBackInVain, signedInRecently } from '../browser/recent-sign-in.ts';

/** How long after the first step the second one may follow, in seconds. */
const lifetime = 300;

/** The user in the middle of a sign-in, and the factor that was shown. */
export interface FirstStep {
  user: User;
  passwordHash: string | undefined;
  amr: string[];
  /** When the first factor was shown, by the database's clock. */
  shownAt: Date;
  /** The session at the connection by which the first step was shown. */
  upstream?: VerifiedUser['upstream'];
  /** Whether the user chose to stay signed in. */
  remember?: boolean | undefined;
  /** True if the first step was the sign-in of a session, which the second one strengthens. */
  stepUp: boolean;
}

interface Content {
  sub: string;
  amr: string[];
  /** The digest of the password's hash, or null without a password: a new password ends the step. */
  password: string | null;
  upstream?: VerifiedUser['upstream'];
  remember?: boolean | undefined;
  /** When the first factor was shown, in milliseconds of the database's clock. */
  at: number;
  until: number;
}

export type SecondStep = ReturnType<typeof createSecondStep>;

export function createSecondStep(options: {
  store: Pick<Repositories, 'users'>;
  secretBox: SecretBox;
  sessions: BrowserSessions;
  issuer: string;
  basePath: string;
  secure: boolean;
}) {
  const { store, secretBox, sessions } = options;
  const secondStepCookie = internalCookie('SECOND_STEP', options.issuer);
  const cookie: CookieSerializeOptions = {
    httpOnly: true,
    sameSite: 'lax',
    secure: options.secure,
    path: `${options.basePath}/login`,
  };
  const dataOf = (browserHash: Buffer) => `second step of ${browserHash.toString('base64url')}`;
  const digestOf = (passwordHash: string | undefined) =>
    passwordHash === undefined ? null : digest('password hash', passwordHash).toString('base64url');

  return {
    /** Starts the second step, after the first factor was verified. */
    open(
      request: FastifyRequest,
      reply: FastifyReply,
      first: Pick<VerifiedUser, 'sub' | 'passwordHash' | 'amr' | 'upstream'> & Pick<FirstStep, 'shownAt' | 'remember'>,
    ): void {
      const { sub, amr, passwordHash, upstream, remember } = first;
      const [at, until] = [first.shownAt.getTime(), Date.now() + lifetime * 1000];
      const content: Content = { sub, amr, password: digestOf(passwordHash), upstream, remember, at, until };
      const sealed = secretBox.seal(JSON.stringify(content), dataOf(sessions.ensureBrowserHash(request, reply)));
      reply.setCookie(secondStepCookie, sealed.toString('base64url'), { ...cookie, maxAge: lifetime });
    },
    /** Ends the step. */
    close(request: FastifyRequest, reply: FastifyReply): void {
      if (carries(request, secondStepCookie)) reply.clearCookie(secondStepCookie, cookie);
    },
    /** Whether the user has shown the first factor in this browser within the lifetime. It asks no database. */
    isOpen: (request: FastifyRequest): boolean => contentOf(request) !== undefined,
    /**
     * Finds the user who may show a second factor: the user has shown the first factor in this browser within the lifetime, or has signed
     * in recently with the password alone. Undefined if the user has to repeat the first step.
     */
    async find(request: FastifyRequest, session: Session | undefined): Promise<FirstStep | undefined> {
      const begun = await read(request);
      if (begun) return begun;
      if (!session) return undefined;
      const { user, amr, authTime } = session;
      // the factor that is shown now counts, as it does right after a sign-in elsewhere; a first one that is added now freshens nothing (federation FR10)
      if (cameBackInVain(session))
        return {
          user,
          passwordHash: undefined,
          amr,
          upstream: session.upstream,
          shownAt: authTime,
          stepUp: !session.enrolled,
        };
      if (!signedInRecently(session)) return undefined;
      // the first factor alone was shown: a password, a connection, or a code from an email
      if (!amr.some((method) => ['pwd', 'fed', 'otp'].includes(method)) || amr.includes('mfa')) return undefined;
      const { upstream } = session;
      // a sign-in elsewhere is no proof of the password
      const passwordHash = amr.includes('pwd') ? user.passwordHash : undefined;
      return { user, passwordHash, amr, upstream, shownAt: authTime, stepUp: true };
    },
  };

  function contentOf(request: FastifyRequest): Content | undefined {
    const value = single(request, secondStepCookie);
    const browserHash = sessions.browserHash(request);
    if (value === undefined || !browserHash || !/^[A-Za-z0-9_-]{1,2000}$/.test(value)) return undefined;
    try {
      const opened = secretBox.open(Buffer.from(value, 'base64url'), dataOf(browserHash));
      const content = JSON.parse(opened.toString()) as Content;
      return content.until < Date.now() ? undefined : content;
    } catch {
      return undefined;
    }
  }

  async function read(request: FastifyRequest): Promise<FirstStep | undefined> {
    const content = contentOf(request);
    if (!content) return undefined;
    const user = await store.users.find(content.sub);
    if (user?.status !== 'enabled') return undefined;
    const passwordHash = content.password === null ? undefined : user.passwordHash;
    if (digestOf(passwordHash) !== content.password) return undefined;
    const { amr, upstream, remember, at } = content;
    return { user, passwordHash, amr, upstream, remember, shownAt: new Date(at), stepUp: false };
  }
}
