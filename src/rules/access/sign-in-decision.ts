// Decides whether a user whose factors were verified is signed in: the readable form of sign_in.sql, which the service runs; a property test holds the
// two equal.

export interface SignInFacts {
  enabled: boolean;
  /** Undefined for a user without a password. */
  passwordHash: string | undefined;
  /** Whether the user has a second factor of any kind. */
  enrolled: boolean;
  /** Whether this browser may spare a second factor. The user showed the present factors here lately, has no role, and is in no guarded group. */
  spares?: boolean;
  /** Whether the user has signed in in this browser with the current password. */
  knownBrowser: boolean;
  /** The enabled connections that the user is linked to. */
  connections: readonly string[];
  /** The user's live sessions, the newest sign-in first. */
  sessions: readonly string[];
}

export interface SignInRequest {
  /** The hash that the password was checked against; undefined without a password. */
  passwordHash: string | undefined;
  /** The methods that the user has shown (RFC 8176). */
  amr: readonly string[];
  /** Whether the browser is to spare the second factor. */
  sparing?: boolean;
  /** The session to renew under a new cookie. */
  renews: string | undefined;
  /** The connection by which the user signs in; undefined for a sign-in here. */
  connection: string | undefined;
  /** How many sessions a user may have; 0 for no limit. */
  maxSessions: number;
}

export type SignInRefusal =
  | 'user' // deleted or disabled
  | 'password' // changed since it was checked
  | 'second-factor' // added since the policy was read, or forgotten (security R127)
  | 'connection' // disabled, or no longer linked to the user (federation FR5)
  | 'session'; // the session to renew is over

export type SignInOutcome =
  | { refusal: SignInRefusal }
  | {
      /** Whether the user gets the mail about a new browser. */
      notifies: boolean;
      /** The sessions that end, since the user has too many. */
      ends: readonly string[];
    };

/** Security R52, R54, R63, R127. @param facts undefined for a deleted user */
export function decideSignIn(facts: SignInFacts | undefined, request: SignInRequest): SignInOutcome {
  if (!facts?.enabled) return { refusal: 'user' };
  if (request.passwordHash !== undefined && request.passwordHash !== facts.passwordHash) return { refusal: 'password' };
  if (request.sparing ? !facts.spares : facts.enrolled && !request.amr.includes('mfa'))
    return { refusal: 'second-factor' };
  if (request.connection !== undefined && !facts.connections.includes(request.connection))
    return { refusal: 'connection' };
  if (request.renews !== undefined && !facts.sessions.includes(request.renews)) return { refusal: 'session' };
  const isLimited = request.renews === undefined && request.maxSessions > 0;
  return { notifies: !facts.knownBrowser, ends: isLimited ? facts.sessions.slice(request.maxSessions - 1) : [] };
}
