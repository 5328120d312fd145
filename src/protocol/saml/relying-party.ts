// Verifies, answers and refuses the requests of SAML applications for the interaction.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RelyingParty } from '../../interaction/relying-party.ts';
import { clientView, type PageResponses } from '../../pages/page-response.ts';
import { statusUris } from '../../rules/saml/status.ts';
import { statusResponse } from '../../saml/identity-provider/response.ts';
import { encodedForm } from '../../saml/redirect-binding.ts';
import { samlEntityId } from '../../rules/saml/addresses.ts';
import { createSamlIssue, newId, type SamlIssueDependencies } from './issue.ts';
import { endpoint, errorOf, SamlError, type SamlRequest, verifySignOn } from './sign-on.ts';

export interface SamlPartyDependencies extends SamlIssueDependencies {
  pages: PageResponses;
}

export function samlParty(options: SamlPartyDependencies): RelyingParty<SamlRequest> {
  const { config, clients, pages, samlKeys } = options;
  const issue = createSamlIssue(options);

  /** Posts a response to the application: by a script, or by a button where there is none. */
  function post(
    request: FastifyRequest,
    reply: FastifyReply,
    { client, target, saml }: SamlRequest,
    xml: string,
  ): void {
    const parameters: [string, string][] = [['SAMLResponse', encodedForm(xml)]];
    if (saml.relayState !== undefined) parameters.push(['RelayState', saml.relayState]);
    const { redirectUri: action } = target;
    pages.send(request, reply, 'form-post', { action, parameters, client: clientView(client, action) });
  }

  return {
    endpoints: [endpoint],

    verify: ({ parameters }) => verifySignOn(parameters, clients),

    async respond(request, reply, verified, session, { idHash }) {
      const xml = await issue(request, reply, verified, session, idHash);
      if (xml === undefined) return false;
      post(request, reply, verified, xml);
      return true;
    },

    errorOf,

    async refuse(request, reply, error) {
      if (!(error instanceof SamlError)) return false;
      const { request: refused, status } = error;
      const { redirectUri: destination } = refused.target;
      request.log.info({ client_id: refused.client.clientId, status: error.message }, 'SAML sign-in refused');
      const frame = {
        id: newId(),
        issuer: samlEntityId(config.issuer),
        destination,
        inResponseTo: refused.saml.inResponseTo,
        at: new Date(),
      };
      post(request, reply, refused, statusResponse(frame, statusUris(status), await samlKeys.signing()));
      return true;
    },
  };
}
