// Verifies a pushed authorization request without an End-User, and makes and reads its request_uri (RFC 9126).
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { newOpaqueToken, opaqueTokenKind } from '../../tokens/opaque-token.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import { verifyRequest } from './request.ts';
import { effectiveRequest } from './request-object.ts';
import type { VerificationContext } from './verification-context.ts';

const prefix = 'urn:ietf:params:oauth:request_uri:';

export function newRequestUri(): { requestUri: string; transaction: string } {
  const { token } = newOpaqueToken('pushed_authorization_request');
  return { requestUri: prefix + token, transaction: token };
}

/** The id of the stored request of a request_uri: `unknown` for one that was never issued, undefined if it names no pushed request. */
export function pushedTransaction(requestUri: string | undefined): string | undefined {
  if (!requestUri?.startsWith(prefix)) return undefined;
  const token = requestUri.slice(prefix.length);
  return opaqueTokenKind(token) === 'pushed_authorization_request' ? token : 'unknown';
}

/**
 * Verifies a request of an authenticated client as it will be at the authorization endpoint (RFC 9126 2.1).
 * @returns the effective parameters
 * @throws OAuthError
 */
export async function checkPushedRequest(
  parameters: Record<string, string>,
  context: VerificationContext,
  tokens: TokenService,
): Promise<Record<string, string>> {
  const effective = await effectiveRequest(parameters, context, true);
  const { problem, reason } = effective;
  if (problem) throw new OAuthError(problem.code, problem.description, 400, { cause: reason });
  const { error, idTokenHint } = await verifyRequest(effective.parameters, context).catch((refusal: unknown) => {
    // an authenticated client may learn the reason, which a browser may not
    throw refusal instanceof OAuthError && typeof refusal.cause === 'string' ? invalidRequest(refusal.cause) : refusal;
  });
  if (error) throw new OAuthError(error.code, error.description);
  if (idTokenHint !== undefined && !(await tokens.readIdTokenHint(idTokenHint)))
    throw invalidRequest('id_token_hint is not an ID Token of this issuer');
  return effective.parameters;
}
