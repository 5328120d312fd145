// Defines a grant type: its parameters, and how it authorizes the request of an authenticated client.
import type { z } from 'zod';
import type { Detail } from '../../oauth/authorization-details.ts';
import type { Binding } from '../../oauth/binding.ts';
import { invalidAuthorizationDetails, type OAuthError, proofMissing, proofReused } from '../../oauth/errors.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Authorization, JwtFormat } from '../../repositories/tokens/authorization-codes.ts';
import type { DpopProof } from '../../sender-constraint/dpop.ts';
import type { PreparedAccess, TokenKind } from '../../tokens/token-issuer.ts';

/** The context in which a grant decides, beside its own parameters. */
export interface GrantContext {
  /** Authenticated, and registered for the grant type. */
  client: Client;
  /** The one resource that the request names (RFC 8707 section 2). */
  resource: string | undefined;
  /** The authorization details that the request names, of a grant type that takes them (RFC 9396 6). */
  details: readonly Detail[] | undefined;
  /** Where the client acts, which must be in a network of the client; undefined if it is unknown. */
  address: () => string | undefined;
  /** The key that the request proves to hold, by a proof or by its certificate. */
  held: Binding;
  /** The proof of the key that the tokens are bound to, which the grant uses in the same database call. */
  proof: DpopProof | undefined;
  /**
   * Makes tokens whose hashes the grant stores in the same database call that decides.
   * @param kinds the tokens that the grant may issue beside an access token; the client gets those for which it is registered
   */
  prepare(kinds: readonly TokenKind[]): PreparedAccess | Promise<PreparedAccess>;
}

type GrantEvent = Pick<AuditEvent, 'type' | 'clientId' | 'sub' | 'detail'>;

interface Response {
  /** Members of the token response that only this grant type has. */
  members?: Readonly<Record<string, unknown>> | undefined;
}

/** Tokens of a user. The grant's database call has decided, and has stored the prepared tokens. */
export interface UserTokens extends Response {
  tokens: PreparedAccess;
  authorization: Authorization;
  /** The database's time. */
  issuedAt: Date;
  /** Of the authentication request, for the ID Token. */
  nonce?: string | undefined;
  refreshToken: string | undefined;
  /** Of an access token that is a JWT for a resource. */
  jwt?: JwtFormat | undefined;
  /** An event of the audit log beside the issue of the tokens. */
  event?: GrantEvent | undefined;
}

/** The refusals that the binding of tokens causes, by the failure of a stored function. */
export const bindingRefusals = { unbound: () => proofMissing('resource'), proof: () => proofReused() };

/** The refusal of authorization details that the user did not allow. */
export const beyondDetails = () =>
  invalidAuthorizationDetails('authorization_details have an object that was not granted, or not for this resource');

/** The refusal of a scope that the client may not have. */
export const beyondClient = 'scope exceeds what the client may request without an End-User';

/** An access token of the client itself, which the endpoint makes and stores. */
export interface ClientToken extends Response {
  /** The requested scope; of the scopes of this service those that the client may have. The endpoint checks those of resources. */
  scope: string[];
  /** Whether the request named the scope: then the endpoint drops none of it silently. */
  isScopeNamed: boolean;
}

/** A token that the service stores nowhere, as the response has it. The grant's database call has decided. */
export interface Minted {
  minted: Readonly<Record<string, unknown>>;
  sub: string;
  event: GrantEvent;
}

/** No tokens; the event goes into the audit log. */
export interface Refusal {
  refusal: OAuthError;
  /** Whether the tokens would have to be bound to a key, and nothing was used up: the endpoint tries the certificate of the request. */
  isUnbound?: boolean;
  event?: GrantEvent;
}

type Authorized = UserTokens | ClientToken | Minted | Refusal;

/** A grant never sees the HTTP request. The endpoint authenticates the client, applies the rules that all grants share, and answers. */
export interface GrantType<Parameters = unknown> {
  /** Of its value in oauth/registrable-values.ts, which says what clients may do with it. */
  readonly name: string;
  /**
   * Whether the client acts for the user at some later time, and so from a network of the client (src/rules/access/access.ts). A code is redeemed within
   * a minute of the browser's request, and often by a server elsewhere.
   */
  readonly asksNetwork: boolean;
  /** Whether a request may name authorization details; else they are refused, and never left out (security R142). */
  readonly takesDetails?: true;
  /** Its own parameters of the token request. */
  readonly parameters: z.ZodType<Parameters>;
  authorize(parameters: Parameters, context: GrantContext): Authorized | Promise<Authorized>;
}
