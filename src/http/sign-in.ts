// The one way that a sign-in ends: every page that verified who somebody is comes here, and learns where the person goes on.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Repositories } from '../repositories/index.ts';
import type { Session } from '../repositories/sessions.ts';
import type { AuditTrail } from './audit.ts';
import { browserAndSystem } from './browser-name.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { Destination } from './destination.ts';
import type { KnownBrowsers } from './known-browser.ts';
import { languagesOf } from './mailed-link.ts';
import { clientAddress } from './network.ts';
import { mustShowSecondFactor, type SecondFactorPolicy } from './second-factor-policy.ts';
import type { SecondStep } from './second-step.ts';

/** Somebody who has shown a factor that is enough to sign in with. */
export interface VerifiedPerson {
  sub: string;
  /** The hash that the password was checked against; undefined where none was shown. */
  passwordHash: string | undefined;
  /** The methods by which the person was verified (RFC 8176): `mfa` is among them where no second factor is asked for any more. */
  amr: string[];
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
  store: Pick<Repositories, 'secondFactors'>;
  sessions: BrowserSessions;
  knownBrowsers: KnownBrowsers;
  audit: AuditTrail;
  secondStep: SecondStep;
  policy: SecondFactorPolicy;
}

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn({ store, sessions, knownBrowsers, audit, secondStep, policy }: SignInOptions) {
  /** Makes the session, remembers the browser and records the sign-in, all or nothing. Parameters and result as for proceed(). */
  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    person: VerifiedPerson,
    course: SignInCourse,
  ): Promise<string | undefined> {
    const { sub, amr } = person;
    const { clientId } = course;
    secondStep.close(request, reply);
    const made = await sessions.signIn(request, reply, person, course.previous, async (repositories) => {
      const known = await knownBrowsers.remember(request, reply, sub, repositories);
      if (!known) await repositories.mails.notify(newSignIn(request, sub));
      const event = { type: 'user.signed_in', outcome: 'success', actor: sub, sub, clientId, detail: { amr } } as const;
      await audit(request, event, repositories);
    });
    return made ? wayOn(course) : undefined;
  }

  /** Whether somebody has to show a second factor whatever an application demands. */
  async function needsSecondFactor(sub: string): Promise<boolean> {
    const standing = await store.secondFactors.standing(sub);
    return standing !== undefined && (standing.enrolled || mustShowSecondFactor(policy, standing));
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
      if (person.amr.includes('mfa') || !(await needsSecondFactor(person.sub)))
        return complete(request, reply, person, course);
      secondStep.open(request, reply, person);
      return signInPath('/login/second-factor', course);
    },
    complete,
  };
}

/** What tells somebody of a sign-in in a browser that was not used before. */
const newSignIn = (request: FastifyRequest, sub: string) => ({
  name: 'new-sign-in',
  sub,
  locale: languagesOf(request),
  data: {
    ...browserAndSystem(request.headers['user-agent']),
    address: clientAddress(request),
    at: new Date().toISOString(),
  },
});

/** Where somebody goes on who has signed in. */
export function wayOn({ transaction, destination }: SignInCourse): string {
  return transaction === undefined ? (destination?.path ?? '/account') : `/authorize?transaction=${transaction}`;
}

/** A page of the sign-in, for the same course. */
export function signInPath(
  path: '/login' | '/login/second-factor' | '/login/authenticator',
  { transaction, destination }: Pick<SignInCourse, 'transaction' | 'destination'>,
): string {
  if (transaction !== undefined) return `${path}?transaction=${encodeURIComponent(transaction)}`;
  return destination === undefined ? path : `${path}?destination=${encodeURIComponent(destination.value)}`;
}

/** What was shown before and now, each method once. */
export function withMethods(amr: readonly string[], ...shown: string[]): string[] {
  return [...new Set([...amr, ...shown])];
}
