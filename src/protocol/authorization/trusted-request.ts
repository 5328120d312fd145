// Declares an authorization request whose client and redirect URI are verified.
import type { SingleClaims } from '../../oauth/claims-request.ts';
import type { AuthorizationError, ResponseTarget } from '../../oauth/errors.ts';
import type { ResponseType } from '../../oauth/response-type.ts';
import type { Client } from '../../repositories/clients/clients.ts';

export interface TrustedRequest {
  client: Client;
  target: ResponseTarget;
  /** What a grant remembers: a native app uses another port each time (RFC 8252 7.3). */
  registeredUri: string;
  prompts: string[];
  uiLocales: string | undefined;
  idTokenHint: string | undefined;
  /** The client's mistake, which it learns once the End-User is signed in. */
  error: AuthorizationError | undefined;
  /** This and all that follows has a meaning without an error only. */
  responseType: ResponseType;
  scope: string[];
  /** Single claims beside those of the scopes. */
  claims: SingleClaims;
  /** The subjects of whom the End-User has to be one. */
  subjects: string[] | undefined;
  /** The wanted levels of authentication that are known here, in order of preference. */
  acr: { values: string[]; essential: boolean };
  nonce: string | undefined;
  /** In seconds. */
  maxAge: number | undefined;
  codeChallenge: string | undefined;
  /** The audience of the tokens; undefined is the client itself. */
  audience: string[] | undefined;
}
