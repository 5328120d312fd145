// Declares a kind of connection: what its settings are, and, if users sign in at another site, where the browser goes and what its answer says.
import type { z } from 'zod';
import type { AnsweredAddress, Claims } from '../../rules/connections/connection-answer.ts';
import type { Connection, ConnectionMembers } from '../../repositories/connections/connections.ts';

/** Why a sign-in by a connection ends without an identity. Its words are `connection.problem.{reason}`; what the other side said is only logged. */
export type FailureReason =
  | 'unreachable' // it gave no usable answer: the user can try another way
  | 'settings' // it refused this service: an administrator has to look
  | 'answer' // its answer is not to be believed
  | 'cancelled' // the user went back
  | 'organization'; // the account there is of another organization than those that the settings name

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
  /** Names that the browser brought, and that nothing signed: they fill an empty name, once. */
  unsignedNames?: Claims | undefined;
  /** Undefined unless the connection keeps them. */
  tokens?: GivenTokens | undefined;
}

/** What the other side gave beside the identity. */
export interface GivenTokens {
  idToken?: string | undefined;
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  scope?: string | undefined;
  /** In seconds since 1970; undefined if the other side did not say. */
  expiresAt?: number | undefined;
}

/** The sessions that a logout token names. */
export interface NamedLogout {
  issuer: string;
  jti: string;
  sid: string | undefined;
  subject: string | undefined;
}

/** What follows from the settings of a connection, whatever its kind. */
export interface ConnectionProfile {
  /** The issuer of its identities; undefined if only an answer tells which of several it is. */
  issuer: string | undefined;
  /** What this service authenticates with there: a secret that an administrator enters, or a key of the connection's own. */
  credential: 'secret' | 'key';
  /** Whether the answer's word that an address is verified counts (federation 4). */
  wordCounts: boolean;
  /** Whether the answer is posted by a page of the other side (OAuth 2.0 Form Post Response Mode). */
  isPosted: boolean;
}

/** The settings that a connection of a kind has, and what follows from them. */
export interface ConnectionVariant<P extends ConnectionProfile = ConnectionProfile> {
  /** The rules of `settings`. */
  settings: z.ZodType<Record<string, unknown>>;
  /** The members of `settings` that decide whom the connection believes: they are changed by a full administrator, as events show (federation FR14). */
  trusted: readonly string[];
  /** What a new connection has, unless the administrator says otherwise. */
  members?: Partial<ConnectionMembers>;
  /** Whether a text can be the secret. */
  isSecret?(secret: string): Promise<boolean>;
  /** Reads stored settings. @throws ConnectionFailure if they do not fit the rules, such as those of an older version */
  profile(settings: Readonly<Record<string, unknown>>): P;
}

export interface ConnectionKind {
  kind: Connection['kind'];
  /** The settings of a preset; without one, those of any connection of the kind. Undefined if the kind has no such preset. */
  variant(preset: string | undefined): ConnectionVariant | undefined;
  /** Reads what the other side publishes, for new settings. @throws OAuthError that says what is wrong */
  discover(connection: Pick<Connection, 'preset' | 'settings'>): Promise<Record<string, unknown> | undefined>;
  /** The address to which the browser goes; absent if users type their password here. @throws ConnectionFailure */
  begin?(connection: Connection, attempt: Attempt, wishes: Wishes): Promise<string>;
  /** Verifies the answer; there with `begin`. @throws ConnectionFailure */
  finish?(
    connection: Connection,
    attempt: Attempt,
    answer: Readonly<Record<string, string>>,
  ): Promise<VerifiedIdentity>;
  /** Verifies a logout token (OpenID Connect Back-Channel Logout 2.6); absent if the kind knows none. @throws ConnectionFailure */
  readLogout?(connection: Connection, token: string): Promise<NamedLogout>;
  /** The issuer that a front-channel logout names; absent if the kind knows none (OpenID Connect Front-Channel Logout 1.0). */
  issuerOf?(connection: Connection): string | undefined;
  /** The address that ends the session there; undefined if the other side has none (RP-Initiated Logout 2). @throws ConnectionFailure */
  endSession?(
    connection: Connection,
    request: { returnTo: string; state: string; idToken: string | undefined },
  ): Promise<string | undefined>;
  /** New tokens for a refresh token; absent if the kind gives none. @throws ConnectionFailure */
  refresh?(connection: Connection, refreshToken: string): Promise<GivenTokens>;
}

/** Joins the rules of settings with what follows from them, so that stored settings are read by the same rules. */
export function variantOf<T extends z.ZodObject, P extends ConnectionProfile>(
  settings: T,
  { profile, ...rest }: Omit<ConnectionVariant, 'settings' | 'profile'> & { profile(settings: z.infer<T>): P },
): ConnectionVariant<P> {
  // a member that a newer version stored is left out
  const reader = settings.strip();
  return {
    ...rest,
    settings,
    profile(stored) {
      const read = reader.safeParse(stored);
      if (!read.success) throw new ConnectionFailure('settings', 'the stored settings do not fit', read.error);
      return profile(read.data as z.infer<T>);
    },
  };
}
