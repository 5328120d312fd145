// Declares an authenticator: one kind of evidence by which a user signs in, with the facts that every page and list needs about it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SecondFactorMethod } from '../pages/views/second-factors.ts';
import type { SecondFactor } from '../repositories/second-factors/second-factors.ts';
import type { User } from '../repositories/users/users.ts';

/** The second step of a sign-in. */
export interface SecondStepContext {
  request: FastifyRequest;
  reply: FastifyReply;
  user: User;
}

export interface Enrolment {
  /** The page of the account that adds one. */
  path: string;
  /** How many a user may have. */
  max: number;
  /** True if that page also lists and removes them: the page of second factors then links to it. */
  separate?: boolean;
}

export type Answer =
  /** `amr` holds the methods that the user has shown (RFC 8176). */
  | { outcome: 'verified'; amr: string[] }
  /** `detail` goes into the audit trail; it is absent if nothing was tried. `wait` in seconds. */
  | { outcome: 'refused'; detail?: Record<string, unknown>; wait?: number };

export interface Authenticator {
  /** Names the kind in the admin API, the audit trail and the catalogues: that of its table, in the singular. */
  id: string;
  /** 2 if it proves two factors by itself, so that the user can sign in without a password. */
  factors: 1 | 2;
  /** The field that holds the answer in the form of the second step, and the most characters it takes. */
  field: { name: string; max: number };
  /** Whether a text that was typed into any field is one of its codes. */
  reads?: (typed: string) => boolean;
  /** Absent for what comes with other second factors. */
  enrolment?: Enrolment;
  /** What the page of the second step shows of it; undefined if the user has none. @param enrolled all second factors of the user */
  begin(context: SecondStepContext, enrolled: readonly SecondFactor[]): Promise<SecondFactorMethod | undefined>;
  /** Verifies what its form posted. A refusal is counted against the account when this returns. */
  finish(context: SecondStepContext, answer: string): Promise<Answer>;
}

/** The kind by which a catalogue names a second factor: `other` if this version has no authenticator for it. */
export function kindOf(authenticators: readonly Authenticator[], { kind }: Pick<SecondFactor, 'kind'>): string {
  return authenticators.some(({ id }) => id === kind) ? kind : 'other';
}
