// Completes a sign-in, or sends the user to the second step: every page that verified a factor calls it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VerifiedUser } from '../authenticators/authenticator.ts';
import type { ConnectionRouting } from '../authenticators/connection/routing.ts';
import type { MfaStatus } from '../repositories/second-factors/second-factors.ts';
import type { Repositories } from '../repositories/store.ts';
import type { NewSession, Session } from '../repositories/sessions/sessions.ts';
import { hasPower } from '../browser/recent-sign-in.ts';
import { securityNotification } from '../browser/security-notification.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { AuditTrail } from '../server/audit.ts';
import type { BrowserSessions } from '../browser/session.ts';
import type { ReturnTo } from '../pages/return-to.ts';
import type { DeviceCookies } from '../browser/device-cookie.ts';
import { clientAddress } from '../server/network.ts';
import { mayNeedSecondFactor, needsSecondFactor, type SecondFactorPolicy } from '../rules/access/demands.ts';
import type { SecondStep } from './second-step.ts';

/** Where a sign-in continues. */
export interface Continuation {
  /** The session that the browser has so far. */
  previous: Session | undefined;
  /** The pending authorization request and its client, if there is one. */
  transaction?: string | undefined;
  clientId?: string | undefined;
  /** The page to return to without a request; the account page by default. */
  returnTo?: ReturnTo | undefined;
  /** Whether the user chose to stay signed in. */
  remember?: boolean | undefined;
  /** Whether the user chose that this browser spares the next second factors. */
  spareNext?: boolean | undefined;
}

export interface SignInOptions {
  store: Pick<Repositories, 'secondFactors' | 'signInFailures' | 'knownBrowsers'>;
  sessions: BrowserSessions;
  deviceCookies: DeviceCookies;
  audit: AuditTrail;
  secondStep: SecondStep;
  policy: SecondFactorPolicy;
  /** For how many days a browser spares a second factor; 0 for none. */
  sparedDays: number;
  /** Whether users land on the start page. */
  startPage: boolean;
  /** Finds the connection that a user has to use. */
  routing: Pick<ConnectionRouting, 'requiredBy'>;
}

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(options: SignInOptions) {
  const { store, sessions, deviceCookies, audit, secondStep, policy, sparedDays, startPage, routing } = options;
  /** Makes the session, remembers the browser and records the sign-in, all or nothing. Parameters and result as for proceed(). */
  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    user: VerifiedUser & Pick<NewSession, 'sparing'>,
    continuation: Continuation,
  ): Promise<string | undefined> {
    const { sub, amr, resetsFailures = false } = user;
    const { clientId, previous, remember, spareNext } = continuation;
    secondStep.close(request, reply);
    const device = deviceCookies.renew(request, firstFactorOf(amr));
    const address = clientAddress(request);
    const made = await sessions.signIn(request, reply, { ...user, remember }, previous, {
      browser: { ...device.stored, ...(spareNext && sparedDays > 0 && { spares: sparedDays * 86_400 }) },
      notice: securityNotification('new-sign-in', request, sub),
      event: { type: 'user.signed_in', outcome: 'success', actor: sub, sub, clientId, address, detail: detailOf(user) },
      resetsFailures: resetsFailures,
    });
    if (!made) return undefined;
    device.set(reply);
    return landingPath(continuation);
  }

  /** Where a completed sign-in lands. */
  function landingPath({ transaction, returnTo }: Pick<Continuation, 'transaction' | 'returnTo'>): string {
    const landsAtStart = startPage && transaction === undefined && returnTo === undefined;
    return landsAtStart ? '/account/start' : continuationPath({ transaction, returnTo });
  }

  /** Where a user of an enforced domain signs in, whatever was shown here or at another connection; undefined for others (federation 4). */
  async function findRequired(
    request: FastifyRequest,
    { sub, upstream }: VerifiedUser,
    continuation: Omit<Continuation, 'previous'>,
  ): Promise<string | undefined> {
    const required = await routing.requiredBy(sub);
    if (!required || required.id === upstream?.connectionId) return undefined;
    const detail = { reason: 'enforced', connection: required.id };
    const event = { type: 'user.sign_in_failed', outcome: 'failure', sub, detail } as const;
    await audit(request, { ...event, clientId: continuation.clientId });
    return requiredPath(required.id, continuation);
  }

  /** The browser that may spare the user the second factor. One with power is never spared it, and the stored function asks again. */
  async function sparingBrowser(request: FastifyRequest, { sub, amr }: VerifiedUser, status: MfaStatus) {
    // a code from an email is never all that is asked for
    const isSpared = sparedDays > 0 && status.enrolled && firstFactorOf(amr) === undefined;
    const browser = !isSpared ? undefined : deviceCookies.hash(request);
    if (!browser || hasPower(status, policy.groups) || !(await store.knownBrowsers.spares(browser, sub)))
      return undefined;
    return { browser, guarded: policy.groups };
  }

  /**
   * Begins the second step of a user who needs one, unless the browser spares it.
   * @param previous as in Continuation; null where the step may not be spared
   * @returns its path; undefined if the policy needs none
   */
  async function beginSecondStep(
    request: FastifyRequest,
    reply: FastifyReply,
    user: VerifiedUser,
    { previous, ...continuation }: Omit<Continuation, 'previous'> & { previous: Session | undefined | null },
  ): Promise<string | undefined> {
    const { sub, amr } = user;
    const status = amr.includes('mfa') ? undefined : await store.secondFactors.mfaStatus(sub);
    if (!status || !needsSecondFactor(policy, status)) return undefined;
    const sparing = previous === null ? undefined : await sparingBrowser(request, user, status);
    const spared =
      sparing &&
      (await complete(request, reply, { ...user, sparing }, { ...continuation, previous: previous ?? undefined }));
    if (spared !== undefined) return spared;
    if (user.resetsFailures) await store.signInFailures.forget({ sub, name: '' });
    // the event shows administrators a sign-in that stops here: another person may know the password (security R101)
    const event = { type: 'user.first_factor_shown', outcome: 'success', sub } as const;
    await audit(request, { ...event, clientId: continuation.clientId, detail: detailOf(user) });
    // a sign-in elsewhere has the time that its answer asserts (federation FR10)
    const shownAt = user.upstream ? (user.authTime ?? status.now) : status.now;
    secondStep.open(request, reply, { ...user, shownAt, remember: continuation.remember });
    return signInPath('/login/second-factor', continuation);
  }

  return {
    /**
     * Sends a user who has shown a first factor to the second step if the policy needs it, else completes the sign-in.
     * @returns the path to redirect to; undefined if the account was disabled or its password changed meanwhile
     */
    async proceed(
      request: FastifyRequest,
      reply: FastifyReply,
      user: VerifiedUser,
      continuation: Continuation,
    ): Promise<string | undefined> {
      const elsewhere = await findRequired(request, user, continuation);
      if (elsewhere !== undefined) return elsewhere;
      // the stored function refuses a user with a second factor (security R127), so the usual sign-in needs no statement that looks for one
      if (!mayNeedSecondFactor(policy) && !continuation.previous) {
        const next = await complete(request, reply, user, continuation);
        if (next !== undefined) return next;
      }
      return (
        (await beginSecondStep(request, reply, user, continuation)) ?? complete(request, reply, user, continuation)
      );
    },
    complete,
    /**
     * Where a form goes on that was sent twice, and by its first request signed the user in; undefined for any other form.
     * @param user whom the first request proved, if that may have led to a second step: such a step has no session yet
     */
    async repeat(
      request: FastifyRequest,
      reply: FastifyReply,
      continuation: Omit<Continuation, 'previous'>,
      user?: VerifiedUser,
    ): Promise<string | undefined> {
      const led =
        user &&
        ((await findRequired(request, user, continuation)) ??
          (await beginSecondStep(request, reply, user, { ...continuation, previous: null })));
      if (led !== undefined) return led;
      return (await sessions.repeat(request, reply, user?.passwordHash)) ? landingPath(continuation) : undefined;
    },
    /**
     * Adds the methods that a user showed when enrolling a second factor to the session, which gets a new cookie and keeps its age. Sessions
     * in other browsers have not seen the factor, and can no longer perform sensitive operations.
     * @param methods as in RFC 8176
     */
    async strengthen(request: FastifyRequest, reply: FastifyReply, session: Session, ...methods: string[]) {
      const { user, authTime } = session;
      const amr = withMethods(session.amr, ...methods, 'mfa');
      await sessions.renew(request, reply, { sub: user.sub, passwordHash: user.passwordHash, amr, authTime }, session);
    },
  };
}

/** The first factor of a sign-in, if that was neither a password nor a connection: an authenticator of src/authenticators/list.ts. */
function firstFactorOf(amr: readonly string[]): string | undefined {
  if (amr.includes('pwd') || amr.includes('fed')) return undefined;
  return amr.includes('otp') ? 'email-code' : 'passkey';
}

const detailOf = ({ amr, upstream, sparing }: VerifiedUser & Pick<NewSession, 'sparing'>): AuditEvent['detail'] => ({
  amr,
  ...(sparing && { second_factor: 'spared' }),
  ...(upstream && { connection: upstream.connectionId }),
});

/** The page after a sign-in: for a request the consent page, which redirects at once if no consent is needed. */
export function continuationPath({ transaction, returnTo }: Pick<Continuation, 'transaction' | 'returnTo'>): string {
  return transaction === undefined ? (returnTo?.path ?? '/account') : `/consent?transaction=${transaction}`;
}

/** A page of the sign-in, or one that helps with it, with the same continuation. */
export function signInPath(
  path: '/login' | `/login/${string}` | '/sign-up' | '/password/forgotten',
  { transaction, returnTo }: Pick<Continuation, 'transaction' | 'returnTo'>,
): string {
  if (transaction !== undefined) return `${path}?transaction=${encodeURIComponent(transaction)}`;
  return returnTo === undefined ? path : `${path}?destination=${encodeURIComponent(returnTo.value)}`;
}

/** The sign-in page for a user who has to sign in by a connection. */
export function requiredPath(id: string, continuation: Pick<Continuation, 'transaction' | 'returnTo'>): string {
  const path = signInPath('/login', continuation);
  return `${path}${path.includes('?') ? '&' : '?'}connection=${id}`;
}

/** The methods shown before and now, each once. */
export function withMethods(amr: readonly string[], ...shown: string[]): string[] {
  return [...new Set([...amr, ...shown])];
}
