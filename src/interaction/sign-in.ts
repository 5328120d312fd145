// The one way that a sign-in ends: every page that verified who somebody is comes here, and learns where the person goes on.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Repositories } from '../repositories/store.ts';
import type { Session } from '../repositories/sessions/sessions.ts';
import { accessNotice } from '../browser/security-notification.ts';
import type { AuditTrail } from '../server/audit.ts';
import type { BrowserSessions } from '../browser/session.ts';
import type { Destination } from '../pages/return-to.ts';
import type { KnownBrowsers } from '../browser/device-cookie.ts';
import { clientAddress } from '../server/network.ts';
import { mustShowSecondFactor, type SecondFactorPolicy } from './second-factor-policy.ts';
import type { SecondStep } from './second-step.ts';

/** Somebody who has shown a factor that is enough to sign in with. */
export interface VerifiedPerson {
  sub: string;
  /** The hash that the password was checked against; undefined where none was shown. */
  passwordHash: string | undefined;
  /** The methods by which the person was verified (RFC 8176): `mfa` is among them where no second factor is asked for any more. */
  amr: string[];
  /** When the first factor was shown, if the sign-in is as old as that; else it is as new as it can be. */
  authTime?: Date | undefined;
  /** Whether what strangers failed with the password of the account is forgotten now. */
  forgives?: boolean;
}

/** What a sign-in is for. */
export interface SignInCourse {
  /** The session that the browser has by now. */
  previous: Session | undefined;
  /** The pending authorization request, if there is one, and whose it is. */
  transaction?: string | undefined;
  clientId?: string | undefined;
  /** Where the person goes on without a request; by default the account page. */
  destination?: Destination | undefined;
}

export interface SignInOptions {
  store: Pick<Repositories, 'secondFactors' | 'signInFailures'>;
  sessions: BrowserSessions;
  knownBrowsers: KnownBrowsers;
  audit: AuditTrail;
  secondStep: SecondStep;
  policy: SecondFactorPolicy;
}

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn({ store, sessions, knownBrowsers, audit, secondStep, policy }: SignInOptions) {
  /** Whether the service itself demands a second factor of somebody. */
  const mayDemand = policy.of !== 'off' || policy.groups.length > 0;

  /** Makes the session, remembers the browser and records the sign-in, all or nothing. Parameters and result as for proceed(). */
  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    person: VerifiedPerson,
    course: SignInCourse,
  ): Promise<string | undefined> {
    const { sub, amr, forgives = false } = person;
    const { clientId } = course;
    secondStep.close(request, reply);
    const { stored: browser, tell } = knownBrowsers.rename(request);
    const address = clientAddress(request);
    const made = await sessions.signIn(request, reply, person, course.previous, {
      browser,
      notice: accessNotice('new-sign-in', request, sub),
      event: { type: 'user.signed_in', outcome: 'success', actor: sub, sub, clientId, address, detail: { amr } },
      forgives,
    });
    if (!made) return undefined;
    tell(reply);
    return wayOn(course);
  }

  /** Since when somebody has to show a second factor whatever an application demands, which is now; undefined for whoever need not. */
  async function needsSecondFactor(sub: string): Promise<Date | undefined> {
    const standing = await store.secondFactors.standing(sub);
    return standing && (standing.enrolled || mustShowSecondFactor(policy, standing)) ? standing.now : undefined;
  }

  return {
    /**
     * After a first factor was verified: goes on to the second step where the person needs one, else completes the sign-in.
     * @returns the path to go on to, by a 303; undefined when the account was disabled or its password changed meanwhile
     */
    async proceed(
      request: FastifyRequest,
      reply: FastifyReply,
      person: VerifiedPerson,
      course: SignInCourse,
    ): Promise<string | undefined> {
      // mostly nothing more is asked for: of whoever has a second factor the sign-in itself makes nothing
      if (!mayDemand && !course.previous) {
        const next = await complete(request, reply, person, course);
        if (next !== undefined) return next;
      }
      const shownAt = person.amr.includes('mfa') ? undefined : await needsSecondFactor(person.sub);
      if (!shownAt) return complete(request, reply, person, course);
      if (person.forgives) await store.signInFailures.forget({ sub: person.sub, name: '' });
      // whoever stops here knows the password, which administrators see (security R101)
      const { sub, amr } = person;
      const event = { type: 'user.first_factor_shown', outcome: 'success', sub, clientId: course.clientId } as const;
      await audit(request, { ...event, detail: { amr } });
      secondStep.open(request, reply, { ...person, shownAt });
      return signInPath('/login/second-factor', course);
    },
    complete,
    /**
     * A second factor was set up in a session: it goes on under a new cookie, with what was shown for that, and as old as it is.
     * Sessions in other browsers have not seen it, and no longer speak for the person in what is dangerous.
     * @param methods as in RFC 8176
     */
    async strengthen(request: FastifyRequest, reply: FastifyReply, session: Session, ...methods: string[]) {
      const { user, authTime } = session;
      const amr = withMethods(session.amr, ...methods, 'mfa');
      await sessions.renew(request, reply, { sub: user.sub, passwordHash: user.passwordHash, amr, authTime }, session);
    },
  };
}

/** Where somebody goes on who has signed in: with a request to the question, which is answered there at once if nothing is to ask. */
export function wayOn({ transaction, destination }: Pick<SignInCourse, 'transaction' | 'destination'>): string {
  return transaction === undefined ? (destination?.path ?? '/account') : `/consent?transaction=${transaction}`;
}

/** A page of the sign-in, for the same course. */
export function signInPath(
  path: '/login' | '/login/second-factor' | '/login/authenticator' | '/sign-up',
  { transaction, destination }: Pick<SignInCourse, 'transaction' | 'destination'>,
): string {
  if (transaction !== undefined) return `${path}?transaction=${encodeURIComponent(transaction)}`;
  return destination === undefined ? path : `${path}?destination=${encodeURIComponent(destination.value)}`;
}

/** What was shown before and now, each method once. */
export function withMethods(amr: readonly string[], ...shown: string[]): string[] {
  return [...new Set([...amr, ...shown])];
}
