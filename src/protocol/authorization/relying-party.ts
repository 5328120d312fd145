// Verifies, answers and refuses the requests of OAuth and OpenID Connect clients for the interaction.
import type { RelyingParty } from '../../interaction/relying-party.ts';
import { errorUri } from '../../oauth/error-meanings.ts';
import { AuthorizationError } from '../../oauth/errors.ts';
import { sectorIdentifier } from '../../oauth/subject-type.ts';
import { createIssue, type IssueDependencies } from './issue.ts';
import { createNewApplications, type NewApplicationDependencies } from './new-application.ts';
import { verifyRequest } from './request.ts';
import { createAuthorizationResponse, type ResponseDependencies } from './response.ts';
import type { TrustedRequest } from './trusted-request.ts';
import { verificationContext, type VerificationDependencies } from './verification-context.ts';

export type AuthorizationPartyDependencies = VerificationDependencies &
  IssueDependencies &
  ResponseDependencies &
  NewApplicationDependencies;

export function authorizationParty(options: AuthorizationPartyDependencies): RelyingParty<TrustedRequest> {
  const { clients, tokens } = options;
  const verification = verificationContext(options);
  const issue = createIssue(options);
  const prepareResponse = createAuthorizationResponse(options);
  const newApplications = createNewApplications(options);

  /**
   * The subjects that an id_token_hint names; undefined if it is not an ID Token of this issuer. A hint of another sector names no user
   * of this client: otherwise two clients would learn that they know the same user.
   */
  async function hintedSubjects({ client }: TrustedRequest, idTokenHint: string): Promise<string[] | undefined> {
    const hint = await tokens.readIdTokenHint(idTokenHint);
    if (!hint) return undefined;
    const issuedTo = await clients.find(hint.clientId);
    const sameSector = issuedTo && sectorIdentifier(issuedTo.metadata) === sectorIdentifier(client.metadata);
    return sameSector ? [hint.sub] : [];
  }

  return {
    endpoints: ['authorization', 'authentication'],

    async verify({ parameters, problem }, framed) {
      const verified = await verifyRequest(parameters, verification, problem, framed);
      if (verified.error || verified.idTokenHint === undefined) return verified;
      const hinted = await hintedSubjects(verified, verified.idTokenHint);
      if (hinted) verified.subjects.push(hinted);
      else verified.error = invalidHint(verified);
      return verified;
    },

    async respond(request, reply, verified, session, stored) {
      const send = await prepareResponse(request, reply, verified.target);
      const response = await issue(request, reply, verified, session, stored);
      if (!response) return false;
      await send(response);
      return true;
    },

    errorOf: ({ target }, code, description) => new AuthorizationError(target, code, description),

    async refuse(request, reply, error) {
      if (!(error instanceof AuthorizationError)) return false;
      const { code, description, target } = error;
      request.log.info({ code, description }, 'authorization refused');
      const send = await prepareResponse(request, reply, target);
      await send({ error: code, error_description: description, error_uri: errorUri(options.config.issuer, code) });
      return true;
    },

    returns: newApplications.refresh,
  };
}

const invalidHint = ({ target }: TrustedRequest): AuthorizationError =>
  new AuthorizationError(target, 'invalid_request', 'id_token_hint is not an ID Token of this issuer');
