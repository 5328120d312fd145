// Serves the sign-in of SAML applications: GET|POST /saml/sso takes their requests, and GET /saml/start begins without one (SAML Profiles 4.1).
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { type BrowserSessions, onlyNavigation } from '../../browser/session.ts';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { InteractionFlow } from '../../interaction/relying-party.ts';
import { maxClientId } from '../../oauth/client-document.ts';
import { text } from '../../oauth/text.ts';
import type { PageResponses } from '../../pages/page-response.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';
import { samlPaths } from '../../rules/saml/addresses.ts';
import { admitted, isSamlClient, type MessageDependencies, receivedMessage, untrusted } from './message.ts';
import { endpoint, parametersOf } from './sign-on.ts';

/** Bytes of a form: a message of 256 KiB in base64 that is percent-encoded, with the state of the application. */
export const formLimit = 480 * 1024;
const purpose = 'saml.sign_on';
const byClient = z.object({ client_id: text(maxClientId) });

interface SamlSignOnDependencies extends MessageDependencies {
  config: Config;
  sessions: Pick<BrowserSessions, 'carriesSession'>;
  secretBox: Pick<SecretBox, 'seal' | 'open'>;
  pages: PageResponses;
  flow: Pick<InteractionFlow, 'begin' | 'errors'>;
}

export async function samlSignOnEndpoint(app: FastifyInstance, options: SamlSignOnDependencies): Promise<void> {
  const { config, clients, flow, pages, secretBox, sessions } = options;
  await onlyForms(app);
  app.setErrorHandler(flow.errors);
  const ssoUri = config.issuer + samlPaths.signOn;

  app.get(samlPaths.signOn, async (request, reply) => {
    onlyNavigation(request);
    const { sealed } = singleValued(request.query);
    const parameters = sealed === undefined ? undefined : opened(sealed);
    if (parameters) return flow.begin(request, reply, { endpoint, parameters, problem: undefined });
    const message = await receivedMessage(options, request, 'AuthnRequest');
    return flow.begin(request, reply, {
      endpoint,
      parameters: await admitted(() => parametersOf(message, ssoUri)),
      problem: undefined,
    });
  });

  app.post(samlPaths.signOn, { bodyLimit: formLimit }, async (request, reply) => {
    onlyNavigation(request);
    const message = await receivedMessage(options, request, 'AuthnRequest');
    const parameters = await admitted(() => parametersOf(message, ssoUri));
    if (sessions.carriesSession(request))
      return flow.begin(request, reply, { endpoint, parameters, problem: undefined });
    return secondLeg(reply, parameters);
  });

  app.get(samlPaths.start, async (request, reply) => {
    onlyNavigation(request);
    const { client_id: id } = readParameters(byClient, request.params);
    const client = await clients.find(id, isSamlClient);
    if (!isSamlClient(client)) throw untrusted('there is no enabled SAML application with this client_id');
    const parameters = { client_id: id, redirect_uri: client.acsUris[0]! };
    return flow.begin(request, reply, { endpoint, parameters, problem: undefined });
  });

  /** A form of another site carries no cookie of the session (SameSite=Lax): a GET does (federation 5). What was verified goes with it, sealed. */
  function secondLeg(reply: FastifyReply, parameters: Record<string, string>): FastifyReply {
    const kept = JSON.stringify({ parameters, at: Date.now() });
    return pages.redirect(reply, `${samlPaths.signOn}?sealed=${secretBox.seal(kept, purpose).toString('base64url')}`);
  }

  /** @throws OAuthError for a value that this service did not seal, or that is too old */
  function opened(sealed: string): Record<string, string> {
    let kept: Buffer;
    try {
      kept = secretBox.open(Buffer.from(sealed, 'base64url'), purpose);
    } catch {
      throw untrusted('the second leg of a posted request was altered');
    }
    // sealed by this service, so that it has this form
    const { parameters, at } = JSON.parse(kept.toString()) as { parameters: Record<string, string>; at: number };
    if (Date.now() - at > config.lifetimes.form * 1000)
      throw untrusted('the second leg of a posted request is too old');
    return parameters;
  }
}
