// Reads what a backchannel authentication request asks for, from its form or from its signed JWT (OpenID Connect CIBA Core 7.1).
import { z } from 'zod';
import { isBindingMessage } from '../../oauth/binding-message.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { invalidRequest, invalidScope, OAuthError } from '../../oauth/errors.ts';
import { isScope, splitScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';
import { readParameters, singleValued } from '../../server/parameters.ts';

/** The parameters of a request. Those of a signed one are members of its JWT. */
const parameters = z.object({
  scope: text(1024).optional(),
  client_notification_token: text(1024).optional(),
  acr_values: text(2000).optional(),
  login_hint: text(255).optional(),
  login_hint_token: text(8192).optional(),
  id_token_hint: text(8192).optional(),
  binding_message: z.string().max(1000).optional(),
  user_code: text(255).optional(),
  requested_expiry: text(20).optional(),
  resource: text(2000).optional(),
  authorization_details: text(20_000).optional(),
});
const names = Object.keys(parameters.shape);
const signed = z.object({ request: text(40_000).optional() });

/** The longest time that a client can ask for, in seconds. */
const maxExpiry = 600;

export interface Asked {
  scope: string[];
  /** As the request names them, separated by spaces. */
  resource: string | undefined;
  /** As JSON. */
  details: string | undefined;
  hint: { kind: 'login_hint' | 'id_token_hint'; value: string };
  message: string | undefined;
  acrValues: string[];
  /** In seconds; undefined for the usual time. */
  lifetime: number | undefined;
  /** For the ping; undefined where the client polls. */
  notificationToken: string | undefined;
}

/**
 * @param verify verifies a signed request, and returns its members
 * @throws OAuthError
 */
export async function readAsked(
  body: unknown,
  metadata: ClientMetadata,
  verify: (request: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<Asked> {
  const { request } = readParameters(signed, body);
  if (request === undefined && metadata.backchannel_authentication_request_signing_alg !== undefined)
    throw invalidRequest('the client is registered to sign its requests: send the parameter request');
  if (request !== undefined) {
    const sent = singleValued(body);
    const outside = names.find((name) => Object.hasOwn(sent, name));
    if (outside !== undefined) throw invalidRequest(`${outside} must be in the signed request only`);
  }
  const asked = readParameters(parameters, request === undefined ? body : membersOf(await verify(request)));
  if (asked.scope === undefined) throw invalidRequest('the parameter scope is missing');
  if (!isScope(asked.scope)) throw invalidScope('scope must be a list of scope values');
  const { binding_message: message } = asked;
  if (message !== undefined && !isBindingMessage(message))
    throw new OAuthError(
      'invalid_binding_message',
      'binding_message must have 1 to 64 printable characters, without markup and web addresses',
    );
  return {
    scope: splitScope(asked.scope),
    resource: asked.resource,
    details: asked.authorization_details,
    hint: hintOf(asked),
    message,
    acrValues: acrValuesOf(asked.acr_values),
    lifetime: lifetimeOf(asked.requested_expiry),
    notificationToken:
      metadata.backchannel_token_delivery_mode === 'ping' ? bearerOf(asked.client_notification_token) : undefined,
  };
}

/** The members of a JWT that are parameters: texts, and a time also as a number. */
function membersOf(payload: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = payload[name];
      if (value === undefined) return [];
      if (typeof value === 'string') return [[name, value]];
      if (name === 'requested_expiry' && typeof value === 'number') return [[name, String(value)]];
      if (name === 'authorization_details') return [[name, JSON.stringify(value)]];
      if (name === 'resource' && Array.isArray(value) && value.every((one) => typeof one === 'string'))
        return [[name, value.join(' ')]];
      throw invalidRequest(`${name} of the signed request must be text`);
    }),
  );
}

function hintOf({ login_hint, login_hint_token, id_token_hint }: z.infer<typeof parameters>): Asked['hint'] {
  const given = [login_hint, login_hint_token, id_token_hint].filter((hint) => hint !== undefined);
  if (given.length !== 1) throw invalidRequest('send exactly one of login_hint and id_token_hint');
  if (login_hint !== undefined) return { kind: 'login_hint', value: login_hint };
  if (id_token_hint !== undefined) return { kind: 'id_token_hint', value: id_token_hint };
  throw invalidRequest('login_hint_token is not supported: send login_hint or id_token_hint');
}

function acrValuesOf(sent: string | undefined): string[] {
  const values = [...new Set(splitScope(sent ?? ''))];
  if (values.length > 20 || !values.every((value) => /^[!-~]{1,255}$/.test(value)))
    throw invalidRequest('acr_values must be at most 20 values, separated by spaces');
  return values;
}

function lifetimeOf(sent: string | undefined): number | undefined {
  if (sent === undefined) return undefined;
  if (!/^[1-9]\d{0,9}$/.test(sent)) throw invalidRequest('requested_expiry must be a positive whole number of seconds');
  return Math.min(Number(sent), maxExpiry);
}

/** The token with which the ping authenticates itself (RFC 6750 2.1). */
function bearerOf(sent: string | undefined): string {
  if (sent === undefined) throw invalidRequest('client_notification_token is missing: the client gets pings');
  if (!/^[A-Za-z0-9._~+/-]{16,}=*$/.test(sent))
    throw invalidRequest('client_notification_token must be a bearer token of at least 16 characters');
  return sent;
}
