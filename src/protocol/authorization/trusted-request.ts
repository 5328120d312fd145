// Declares an authorization request whose client and redirect URI are verified.
import type { VerifiedRequest } from '../../interaction/relying-party.ts';
import type { Binding } from '../../oauth/binding.ts';
import type { SingleClaims } from '../../oauth/claims-request.ts';
import type { AuthorizationError, ResponseTarget } from '../../oauth/errors.ts';
import type { ResponseType } from '../../oauth/response-type.ts';

export interface TrustedRequest extends VerifiedRequest {
  target: ResponseTarget;
  idTokenHint: string | undefined;
  error: AuthorizationError | undefined;
  /** Valid only without `error`, as every member below. */
  responseType: ResponseType;
  claims: SingleClaims;
  nonce: string | undefined;
  codeChallenge: string | undefined;
  /** The key by which the code must be redeemed. */
  codeBinding: Binding;
}
