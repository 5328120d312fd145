// Declares a kind of connection whose users sign in at another site: what its settings are, where the browser goes, and what its answer says.
import type { z } from 'zod';
import type { AnsweredAddress, Claims } from '../../oauth/connection-answer.ts';
import type { Connection } from '../../repositories/connections/connections.ts';

/** Why a sign-in by a connection ends without an identity. Its words are `connection.problem.{reason}`; what the other side said is only logged. */
export type FailureReason =
  | 'unreachable' // it gave no usable answer: the user can try another way
  | 'settings' // it refused this service: an administrator has to look
  | 'answer' // its answer is not to be believed
  | 'cancelled'; // the user went back

/** The message is for the log. */
export class ConnectionFailure extends Error {
  readonly reason: FailureReason;
  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A request to the other side, which its answer must fit. */
export interface Attempt {
  /** Where the answer arrives: an address of this connection alone (federation FR3). */
  redirectUri: string;
  state: string;
  nonce: string;
  verifier: string;
}

/** What the request asks beside who the user is. */
export interface Wishes {
  /** The user has to sign in there again. */
  login: boolean;
  /** In seconds. */
  maxAge: number | undefined;
  loginHint: string | undefined;
  uiLocales: string | undefined;
}

/** Who a user is at a connection, once its answer is verified whole. */
export interface VerifiedIdentity {
  issuer: string;
  subject: string;
  claims: Claims;
  address: AnsweredAddress | undefined;
  /** When the user authenticated there; undefined if the answer does not say (federation FR10). */
  authTime: Date | undefined;
  /** The methods of the sign-in here (RFC 8176). */
  amr: string[];
  /** The name of the session there. */
  sid: string | undefined;
}

export interface ConnectionKind {
  kind: Connection['kind'];
  /** The rules of `settings`. */
  settings: z.ZodType<Record<string, unknown>>;
  /** The members of `settings` that decide whom the connection believes: they are changed by a full administrator, as events show (federation FR14). */
  trusted: readonly string[];
  /** Whether a secret is needed. */
  needsSecret(settings: Record<string, unknown>): boolean;
  /** Whether the answer's word that an address is verified counts (federation 4). */
  wordCounts(connection: Connection): boolean;
  /** Reads what the other side publishes, for new settings. @throws OAuthError that says what is wrong */
  discover(settings: Record<string, unknown>): Promise<Record<string, unknown> | undefined>;
  /** The address to which the browser goes. @throws ConnectionFailure */
  begin(connection: Connection, attempt: Attempt, wishes: Wishes): Promise<string>;
  /** Verifies the answer. @throws ConnectionFailure */
  finish(connection: Connection, attempt: Attempt, answer: Readonly<Record<string, string>>): Promise<VerifiedIdentity>;
}
