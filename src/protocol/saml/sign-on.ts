// Turns an AuthnRequest into the parameters of a stored request, and verifies these at each step of the sign-in (federation F45, F46, FR28).
import type { VerifiedRequest } from '../../interaction/relying-party.ts';
import { type ErrorCode, ResponseError } from '../../oauth/errors.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import { demandedLevels, type RequestedContext } from '../../rules/saml/authn-context.ts';
import { answerAddress, requestedContext, unmetWish } from '../../rules/saml/sign-on.ts';
import { statusOfError, type SamlStatus } from '../../rules/saml/status.ts';
import { type AuthnRequest, authnRequestOf } from '../../saml/identity-provider/authn-request.ts';
import { relayStateOf } from '../../saml/redirect-binding.ts';
import { facts, isSamlClient, type ReceivedMessage, type SamlClient, untrusted } from './message.ts';

export const endpoint = 'saml';

/** A SAML request whose application and address are verified. */
export interface SamlRequest extends VerifiedRequest {
  client: SamlClient;
  saml: {
    /** The ID of the AuthnRequest; undefined for a sign-in that began here. */
    inResponseTo: string | undefined;
    relayState: string | undefined;
    context: RequestedContext | undefined;
  };
}

/** A status that the application gets instead of an assertion. It cannot be made without a verified address. */
export class SamlError extends ResponseError {
  readonly request: SamlRequest;
  readonly status: SamlStatus;
  constructor(request: SamlRequest, status: SamlStatus, message: string) {
    super(message);
    this.request = request;
    this.status = status;
  }
}

export const errorOf = (request: SamlRequest, code: ErrorCode, description: string): SamlError =>
  new SamlError(request, statusOfError(code), `${code}: ${description}`);

/**
 * The parameters that the interaction stores. The pages read those that OpenID Connect has, too.
 * @param ssoUri the address of this endpoint
 * @throws OAuthError if the request gets no answer, SamlRefused
 */
export function parametersOf(
  { client, element, signed, relayState }: ReceivedMessage,
  ssoUri: string,
): Record<string, string> {
  const asked: AuthnRequest = authnRequestOf(element);
  if (client.requireSignedRequests && !signed) throw untrusted('the application must sign its requests', facts(client));
  // a signed request names its address, so that none is passed on to another service (SAML Bindings 3.4.5.2, 3.5.5.2)
  if (asked.destination === undefined ? signed : asked.destination !== ssoUri)
    throw untrusted('the request is for another address', facts(client, asked.destination));
  const acsUri = answerAddress(client.acsUris, asked);
  if (acsUri === undefined)
    throw untrusted('the assertion consumer service is not registered', facts(client, asked.acsUri ?? asked.acsIndex));
  const prompts = [...(asked.isPassive ? ['none'] : []), ...(asked.forceAuthn ? ['login'] : [])];
  const unmet = unmetWish(client.nameId ?? 'persistent', asked);
  const context = requestedContext(asked);
  const kept = relayStateOf(relayState);
  return {
    client_id: client.clientId,
    redirect_uri: acsUri,
    in_response_to: asked.id,
    ...(prompts.length > 0 && { prompt: prompts.join(' ') }),
    ...(signed && { signed: 'true' }),
    ...(kept !== undefined && { relay_state: kept }),
    ...(unmet ? { unmet: JSON.stringify(unmet) } : context && { context: JSON.stringify(context) }),
  };
}

/** @throws OAuthError if the application is no longer enabled, or its settings no longer admit the request */
export async function verifySignOn(
  parameters: Readonly<Record<string, string>>,
  clients: ClientCache,
): Promise<SamlRequest> {
  const { client_id: id = '', redirect_uri: uri = '', prompt = '', in_response_to: inResponseTo } = parameters;
  const client = await clients.find(id, (known) => isSamlClient(known) && known.acsUris.includes(uri));
  if (!isSamlClient(client))
    throw untrusted(
      client ? 'the application is not enabled' : 'there is no such application',
      client && facts(client),
    );
  if (!client.acsUris.includes(uri))
    throw untrusted('the assertion consumer service is not registered', facts(client, uri));
  // a sign-in that began here, or that nobody signed, ends where it is no longer admitted
  if (inResponseTo === undefined && !client.idpInitiated)
    throw untrusted('sign-ins to this application begin with its request: idp_initiated is off', facts(client));
  if (inResponseTo !== undefined && client.requireSignedRequests && parameters['signed'] !== 'true')
    throw untrusted('the application must sign its requests', facts(client));
  const context = parsed<RequestedContext>(parameters['context']);
  const request: SamlRequest = {
    // an application that an administrator entered asks no user for consent (federation 9)
    client: { ...client, firstParty: true },
    target: { redirectUri: uri, delivery: 'form_post' },
    registeredUri: uri,
    prompts: prompt.split(' ').filter(Boolean),
    uiLocales: undefined,
    error: undefined,
    scope: [],
    claims: { beside: [] },
    subjects: [],
    acr: { values: context ? demandedLevels(context) : [], essential: context !== undefined },
    needsAuthTime: false,
    maxAge: undefined,
    targets: [],
    saml: { inResponseTo, relayState: parameters['relay_state'], context },
  };
  const unmet = parsed<SamlStatus>(parameters['unmet']);
  if (unmet) request.error = new SamlError(request, unmet, 'the request cannot be met');
  return request;
}

/** A value that this service stored. */
const parsed = <Value>(text: string | undefined): Value | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as Value);
