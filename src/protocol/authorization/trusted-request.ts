// Declares an authorization request whose client and redirect URI are verified.
import type { Binding } from '../../oauth/binding.ts';
import type { SingleClaims } from '../../oauth/claims-request.ts';
import type { AuthorizationError, ResponseTarget } from '../../oauth/errors.ts';
import type { ResponseType } from '../../oauth/response-type.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Target } from '../../sender-constraint/audience.ts';

export interface TrustedRequest {
  client: Client;
  target: ResponseTarget;
  /** The redirect URI that a grant stores: a native app uses another port each time (RFC 8252 7.3). */
  registeredUri: string;
  prompts: string[];
  uiLocales: string | undefined;
  idTokenHint: string | undefined;
  /** The client's error, which the client learns once the End-User is signed in. */
  error: AuthorizationError | undefined;
  /** Valid only without `error`, as every member below. */
  responseType: ResponseType;
  scope: string[];
  /** Single claims beside those of the scopes. */
  claims: SingleClaims;
  /** The End-User must have one of these subjects. */
  subjects: string[] | undefined;
  /** The requested authentication levels that the service knows, in order of preference. */
  acr: { values: string[]; essential: boolean };
  nonce: string | undefined;
  /** Whether the ID Token has to say when the user authenticated. */
  needsAuthTime: boolean;
  /** In seconds. */
  maxAge: number | undefined;
  codeChallenge: string | undefined;
  /** The key by which the code must be redeemed. */
  codeBinding: Binding;
  /** The resources for which the client can get tokens; none for tokens whose audience is the client itself. */
  targets: readonly Target[];
}
