// Declares an authenticator: one kind of evidence by which a user signs in, with the facts that every page and list needs about it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pages } from '../pages/views/index.ts';
import type { SecondFactorMethod } from '../pages/views/second-factors.ts';
import type { FirstFactorMethod } from '../pages/views/sign-in.ts';
import type { AuditEvent } from '../repositories/audit/audit-events.ts';
import type { SecondFactor as EnrolledFactor } from '../repositories/second-factors/second-factors.ts';
import type { UpstreamSession } from '../repositories/sessions/sessions.ts';
import type { User } from '../repositories/users/users.ts';
import type { MarkView } from '../pages/connection-mark.ts';

export interface Authenticator {
  /** Names the kind in the admin API, the audit trail and the catalogues: that of its table, in the singular. */
  id: string;
  /** 2 if it proves two factors by itself, so that the user can sign in without a password. */
  factors: 1 | 2;
  /** Present if a sign-in can begin with it. */
  first?: FirstFactor;
  /** Present if it can follow another factor. */
  second?: SecondFactor;
  /** Present if a sign-in can begin with it at another site, from which the browser comes back with an answer. */
  elsewhere?: Elsewhere;
  /** Absent for a second factor that comes with others. */
  enrolment?: Enrolment;
}

export interface StepContext {
  request: FastifyRequest;
  reply: FastifyReply;
}

export interface FirstStepContext extends StepContext {
  /** Where the sign-in continues when it is complete. */
  continuation: { transaction?: string | undefined; destination?: string | undefined; remember?: boolean | undefined };
}

/** The first step of a sign-in. The template part-first-factor-{id} is its form, which names the user. */
export interface FirstFactor {
  /** Where its form posts: an address below /login. */
  path: string;
  /** The fields of its form, with the most characters of each. The page shows the value of `username` again after a refusal. */
  fields: Readonly<Record<string, number>>;
  /** What the sign-in page shows of it; undefined if the service cannot offer it. */
  begin(context: StepContext): Promise<Omit<FirstFactorMethod, 'id' | 'form'> | undefined>;
  /** Verifies what its form posted, without the empty fields. A refusal is counted when this returns (security R62). */
  finish(
    context: FirstStepContext,
    form: Readonly<Record<string, string | undefined>>,
  ): Promise<FirstFactorVerified | FirstFactorContinues | FirstFactorRefused>;
}

export interface FirstFactorVerified {
  outcome: 'verified';
  user: VerifiedUser;
  /** The answer if the account was disabled, or its password changed, before the sign-in was complete. */
  late: FirstFactorRefused;
}

/** The factor is shown, and another page decides who the user is. */
export interface FirstFactorContinues {
  outcome: 'continues';
  path: string;
}

export interface FirstFactorRefused {
  outcome: 'refused';
  /** Its words are `login.problem.{problem}`. */
  problem: string;
  /** The fields that the user has to correct. */
  fields?: string[];
  /** Seconds until the next try, if there were too many. */
  wait?: number;
  /** Of the answer, if it is not 400. */
  status?: 503;
  /** For the audit trail; absent if nothing was verified. */
  event?: Pick<AuditEvent, 'sub' | 'detail'>;
}

/** A first step that the user takes at another site. */
export interface Elsewhere {
  /** The ways, in order; the form of each posts no fields of its own. */
  ways(context: StepContext): Promise<ElsewhereWay[]>;
}

export interface ElsewhereWay extends Partial<MarkView> {
  id: string;
  /** The name on its button. */
  name: string;
  /** Where its form posts. */
  path: string;
  /** Whether the sign-in page offers it only to a user who is led to it. */
  hidden: boolean;
}

/** A user who has shown a factor that is sufficient to begin a sign-in. */
export interface VerifiedUser {
  sub: string;
  /** The hash that the password was checked against; undefined if no password was shown. */
  passwordHash: string | undefined;
  /** The methods that the user has shown (RFC 8176); with `mfa` no second factor is asked for. */
  amr: string[];
  /** When the first factor was shown, if the sign-in counts from then; the default is now. */
  authTime?: Date | undefined;
  /** The session at the connection by which the user signed in; its lifetime in seconds, if the connection has one. */
  upstream?: (UpstreamSession & { lifetime?: number | undefined }) | undefined;
  /** Whether the sign-in resets the count of wrong passwords of the account. */
  resetsFailures?: boolean;
}

export interface SecondStepContext extends StepContext {
  user: User;
}

/** The second step of a sign-in. The template part-second-factor-{id} is its form. */
export interface SecondFactor {
  /** The field that holds the answer, and the most characters it takes. */
  field: { name: string; max: number };
  /** `replacement` if it only stands in for a second factor that the user lacks. */
  proves?: 'replacement';
  /** Whether a text that was typed into any field is one of its codes. */
  reads?: (typed: string) => boolean;
  /** What the page of the second step shows of it; undefined if the user has none. @param enrolled all second factors of the user */
  begin(
    context: SecondStepContext,
    enrolled: readonly EnrolledFactor[],
  ): Promise<Omit<SecondFactorMethod, 'id'> | undefined>;
  /** Verifies what its form posted. A refusal is counted against the account when this returns. */
  finish(context: SecondStepContext, answer: string): Promise<SecondFactorAnswer>;
}

export type SecondFactorAnswer =
  /** `amr` holds the methods that the user has shown (RFC 8176). */
  | { outcome: 'verified'; amr: string[] }
  /** `detail` goes into the audit trail; it is absent if nothing was tried. `wait` in seconds. */
  | { outcome: 'refused'; detail?: AuditEvent['detail']; wait?: number };

export interface Enrolment {
  /** The page of the account that adds one. */
  path: string;
  /** How many a user may have. */
  max: number;
  /** True if that page also lists and removes them: the page of second factors then links to it. */
  separate?: boolean;
  /** Present if a user who needs a second factor to continue can add it within a sign-in. */
  signIn?: SignInEnrolment;
}

/** The form by which a user adds a second factor, in the account and within a sign-in. */
export interface SignInEnrolment {
  /** The address of its page within a sign-in. */
  path: `/login/${string}`;
  /** The fields of its form, with the most characters of each. */
  fields: Readonly<Record<string, number>>;
  begin(user: User): EnrolmentView;
  /** Stores the second factor if the form proves that the user has it. @param form without the empty fields */
  finish(request: FastifyRequest, user: User, form: Readonly<Record<string, string | undefined>>): Promise<Enrolled>;
}

/** What the page of the form shows. */
export interface EnrolmentView {
  page: 'account-authenticator';
  data: Omit<Pages['account-authenticator'], 'account' | 'form' | 'signIn' | 'backUri'>;
  /** Hidden fields of the form. */
  hidden: Record<string, string>;
}

export type Enrolled =
  /** `recoveryCodes` are those that come with the user's first second factor. */
  { outcome: 'added'; amr: string[]; recoveryCodes: string[] } | { outcome: 'refused'; view: EnrolmentView };

/** The kind by which a catalogue names a second factor: `other` if this version has no authenticator for it. */
export function kindOf(authenticators: readonly Authenticator[], { kind }: Pick<EnrolledFactor, 'kind'>): string {
  return authenticators.some(({ id }) => id === kind) ? kind : 'other';
}
