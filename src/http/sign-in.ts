// The one way that a sign-in ends: every page that verified who somebody is comes here, and learns where the person goes on.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Session } from '../repositories/sessions.ts';
import type { AuditTrail } from './audit.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { Destination } from './destination.ts';
import type { KnownBrowsers } from './known-browser.ts';

/** Somebody who has shown a factor that is enough to sign in with. */
export interface VerifiedPerson {
  sub: string;
  /** The hash that the password was checked against; undefined where none was shown. */
  passwordHash: string | undefined;
  /** The methods by which the person was verified (RFC 8176). */
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

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(options: { sessions: BrowserSessions; knownBrowsers: KnownBrowsers; audit: AuditTrail }) {
  const { sessions, knownBrowsers, audit } = options;

  /** Makes the session, remembers the browser and records the sign-in, all or nothing. Parameters and result as for proceed(). */
  async function complete(
    request: FastifyRequest,
    reply: FastifyReply,
    person: VerifiedPerson,
    course: SignInCourse,
  ): Promise<string | undefined> {
    const { sub, amr } = person;
    const { clientId } = course;
    const made = await sessions.signIn(request, reply, person, course.previous, async (repositories) => {
      await knownBrowsers.remember(request, reply, sub, repositories);
      const event = { type: 'user.signed_in', outcome: 'success', actor: sub, sub, clientId, detail: { amr } } as const;
      await audit(request, event, repositories);
    });
    return made ? wayOn(course) : undefined;
  }

  return {
    /**
     * After a first factor was verified: goes on to whatever is asked for beside it, else completes the sign-in.
     * @returns the path to go on to, by a 303; undefined when the account was disabled or its password changed meanwhile
     */
    proceed: complete,
    complete,
  };
}

/** Where somebody goes on who has signed in. */
export function wayOn({ transaction, destination }: SignInCourse): string {
  return transaction === undefined ? (destination?.path ?? '/account') : `/authorize?transaction=${transaction}`;
}
