// Declares a kind of connection: its settings. If users sign in at a provider, also the address for the browser and how the answer is read.
import { z } from 'zod';
import type { Connection } from '../../entities/connections.ts';
import type { Input, Member, ValuesOf } from '../../entities/entity.ts';
import type { PinnedProvider } from './saml/settings.ts';
import type { AnsweredAddress, Claims } from '../../rules/connections/connection-answer.ts';

/** Why a sign-in by a connection ends without an identity. The page shows the text `connection.problem.{reason}`. The provider's own text is only logged. */
export type FailureReason =
  | 'unreachable' // the provider gave no usable answer: the user can sign in another way
  | 'settings' // the provider refused this service: an administrator has to correct the settings
  | 'answer' // the answer of the provider could not be verified
  | 'cancelled' // the user cancelled the sign-in at the provider
  | 'organization'; // the user's account at the provider belongs to an organization that the settings do not name

/** A sign-in by a connection failed. The message is for the log. */
export class ConnectionFailure extends Error {
  readonly reason: FailureReason;
  constructor(reason: FailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A request to the provider. The answer must belong to it. */
export interface Attempt {
  /** The address at which the answer arrives. It belongs to this connection alone (federation FR3). */
  redirectUri: string;
  state: string;
  nonce: string;
  verifier: string;
}

/** The demands of the request on the provider, beside the user's identity. */
export interface Wishes {
  /** The user must sign in at the provider again. */
  login: boolean;
  /** In seconds. */
  maxAge: number | undefined;
  loginHint: string | undefined;
  uiLocales: string | undefined;
}

/** The identity of a user at a connection, after the whole answer is verified. */
export interface VerifiedIdentity {
  issuer: string;
  subject: string;
  claims: Claims;
  address: AnsweredAddress | undefined;
  /** When the user authenticated at the provider; undefined if the answer does not say (federation FR10). */
  authTime: Date | undefined;
  /** The authentication methods that the session here gets (RFC 8176). */
  amr: string[];
  /** The id of the provider's session. */
  sid: string | undefined;
  /** When that session ends, in seconds since 1970: the session here ends no later. Undefined if the answer does not say. */
  sessionEnds?: number | undefined;
  /** Names that the browser sent and that the provider did not sign. They fill an empty name, once. */
  unsignedNames?: Claims | undefined;
  /** Undefined if the connection keeps no tokens. */
  tokens?: GivenTokens | undefined;
}

/** The tokens that the provider issued beside the identity. */
export interface GivenTokens {
  idToken?: string | undefined;
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  scope?: string | undefined;
  /** In seconds since 1970; undefined if the provider did not say. */
  expiresAt?: number | undefined;
}

/** The sessions that a logout token names. */
export interface NamedLogout {
  issuer: string;
  jti: string;
  sid: string | undefined;
  subject: string | undefined;
}

/** The properties that follow from the settings of a connection of any kind. */
export interface ConnectionProfile {
  /** The issuer of its identities; undefined if there are several, and only an answer names one. */
  issuer: string | undefined;
  /** How this service authenticates at the provider: with a secret that an administrator enters, or with a key of the connection's own. */
  credential: 'secret' | 'key';
  /** Whether the service accepts the provider's statement that an address is verified (federation 4). */
  wordCounts: boolean;
  /** Whether a page of the provider posts the answer (OAuth 2.0 Form Post Response Mode, SAML Bindings 3.5). */
  isPosted: boolean;
  /** Whether an answer is accepted that belongs to no request: the sign-in began at the provider. */
  acceptsUnsolicited?: boolean;
  /** The secret or the key is never sent: it stays when the provider moves. */
  keepsSecret?: boolean;
}

/** A key of a connection's own. */
export interface ConnectionKey {
  /** A private key as text: a JWK, or PEM. */
  privateKey: string;
  /** Its public half, as the service stores it. */
  publicKey: object;
}

export type Settings = Record<string, Member>;

/** The settings of connections of one kind or preset, and the properties that follow from them. */
export interface ConnectionVariant<P extends ConnectionProfile = ConnectionProfile> {
  /** The declared settings. Those with `trust` decide which identities the connection accepts: events show their values (federation FR14). */
  settings: Settings;
  /** The rules of all settings. */
  shape: z.ZodType<Record<string, unknown>>;
  /** The defaults of a new connection, where they are others. */
  starts?: Input;
  /** Whether a text has the form of a secret. */
  isSecret?(secret: string, settings: Readonly<Record<string, unknown>>): Promise<boolean>;
  /** Why a text is no secret, if it is not a key of Apple's. */
  secretRefusal?: 'connection.saml-key-form';
  /** Makes a key of the connection's own, if it is not one for assertions of a client. */
  makeKey?(): Promise<ConnectionKey>;
  /** Reads stored settings. @throws ConnectionFailure if they do not fit the rules, for example because an older version stored them */
  profile(settings: Readonly<Record<string, unknown>>): P;
}

export interface ConnectionKind {
  kind: Connection['kind'];
  /** The settings of a preset, or those without a preset. Undefined if the kind has no such preset. */
  variant(preset: string | undefined): ConnectionVariant | undefined;
  /**
   * Fills in settings that the provider publishes, before they are checked and stored.
   * @param of.accepted whether an administrator accepts what the provider has published since
   * @throws OAuthError that says what is wrong
   */
  complete?(
    settings: Readonly<Record<string, unknown>>,
    of: { before: Pick<Connection, 'settings' | 'discovery'> | undefined; accepted: boolean },
  ): Promise<Record<string, unknown>>;
  /** Reads what the provider publishes now, where its keys are pinned; undefined if it has no address for that. @throws OAuthError that says what is wrong */
  reread?(connection: Pick<Connection, 'settings'>): Promise<PinnedProvider | undefined>;
  /** Reads the provider's published metadata for new settings. @throws OAuthError that says what is wrong */
  discover(connection: Pick<Connection, 'preset' | 'settings'>): Promise<Record<string, unknown> | undefined>;
  /** Returns the address to which the browser is sent; absent if users type their password here. @throws ConnectionFailure */
  begin?(connection: Connection, attempt: Attempt, wishes: Wishes): Promise<string>;
  /** Verifies the answer; present if `begin` is. @throws ConnectionFailure */
  finish?(
    connection: Connection,
    attempt: Attempt,
    answer: Readonly<Record<string, string>>,
  ): Promise<VerifiedIdentity>;
  /** Verifies an answer to no request, if the connection accepts one. @throws ConnectionFailure */
  finishUnsolicited?(connection: Connection, answer: Readonly<Record<string, string>>): Promise<VerifiedIdentity>;
  /** Verifies a logout token (OpenID Connect Back-Channel Logout 2.6); absent if the kind has none. @throws ConnectionFailure */
  readLogout?(connection: Connection, token: string): Promise<NamedLogout>;
  /** The issuer that a front-channel logout names; absent if the kind has no such logout (OpenID Connect Front-Channel Logout 1.0). */
  issuerOf?(connection: Connection): string | undefined;
  /** The provider's address that ends its session; undefined if it has none (RP-Initiated Logout 2). @throws ConnectionFailure */
  endSession?(
    connection: Connection,
    request: { returnTo: string; state: string; idToken: string | undefined },
  ): Promise<string | undefined>;
  /** Exchanges a refresh token for new tokens; absent if the kind issues none. @throws ConnectionFailure */
  refresh?(connection: Connection, refreshToken: string): Promise<GivenTokens>;
}

/** The rules of declared settings: an absent one has its default. */
export const settingRules = (settings: Settings): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { rule, required, start }]) => [
      name,
      start !== undefined ? rule.default(start) : required ? rule : rule.optional(),
    ]),
  );

/** Reads settings by their rules, without members that are not declared: a newer version may have stored some. @throws z.ZodError */
export const readerOf = <S extends Settings>(settings: S): ((given: object) => ValuesOf<S>) => {
  const reader = z.object(settingRules(settings));
  // the compiler cannot follow the rules of a generic declaration
  return (given) => reader.parse(given) as ValuesOf<S>;
};

/** Joins the settings with the function that reads them, so that stored settings pass the same rules. */
export function variantOf<S extends Settings, P extends ConnectionProfile>(
  settings: S,
  {
    profile,
    ...rest
  }: Omit<ConnectionVariant, 'settings' | 'shape' | 'profile'> & { profile(settings: ValuesOf<S>): P },
): ConnectionVariant<P> {
  const read = readerOf(settings);
  const parsed = (stored: object): ValuesOf<S> => {
    try {
      return read(stored);
    } catch (error) {
      throw new ConnectionFailure('settings', 'the stored settings do not fit', error);
    }
  };
  return {
    ...rest,
    settings,
    shape: z.strictObject(settingRules(settings)),
    profile: (stored) => profile(parsed(stored)),
  };
}
