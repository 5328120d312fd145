// Reads the effective parameters of an authorization request: its own, or those of its request object (RFC 9101).
import type { ErrorCode } from '../../oauth/errors.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import { RequestObjectRefused } from '../../tokens/request-object.ts';
import { redirectUriAllowed } from '../../rules/clients/redirect-addresses.ts';
import type { VerificationContext } from './verification-context.ts';

export interface EffectiveRequest {
  parameters: Record<string, string>;
  /** Why the request is refused before its parameters are checked. */
  problem: RequestProblem | undefined;
  /** The detail for the log. */
  reason?: string | undefined;
}

export interface RequestProblem {
  code: ErrorCode;
  description: string;
}

/** Every other parameter is ignored, credentials included. */
const requestParameters = [
  'response_type',
  'response_mode',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'nonce',
  'prompt',
  'max_age',
  'display',
  'ui_locales',
  'claims_locales',
  'login_hint',
  // of this service, as of others: which connection the user should meet (federation 4)
  'connection',
  'domain_hint',
  'id_token_hint',
  'acr_values',
  'claims',
  'authorization_details',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
  'resource',
  'registration',
];

/** Bytes of names and values (security R119). */
const maxBytes = 8 * 1024;
/** The same of a request with a request object, `claims` or `authorization_details`. */
export const maxLargeBytes = 16 * 1024;
const sizes =
  'the request is too long: 8 KiB in all, and 16 KiB with a request object, claims or authorization_details, is the most';

/** The parameters by which the client can learn of an error, each with the most characters of a valid value. */
const essential: readonly [string, number][] = [
  ['client_id', 255],
  ['redirect_uri', 2000],
  ['response_type', 100],
  ['response_mode', 100],
  // an error carries a longer one than a good request may have (RFC 6749 4.1.2.1)
  ['state', maxLargeBytes],
  ['prompt', 100],
];

/**
 * With a request object only its parameters and client_id are effective (RFC 9101 6.3). If the object is refused, the parameters
 * outside name the address of the error, if they can be trusted.
 * @param received single-valued, as sent
 * @param pushed whether the client pushed the request
 */
export async function effectiveRequest(
  received: Record<string, string>,
  { findClient, clientSecret, requestObjects, requirePushed, localhost }: VerificationContext,
  pushed: boolean,
): Promise<EffectiveRequest> {
  // unknown parameters are not stored (security R119)
  const known = parametersIn(received, ['request', 'request_uri', ...requestParameters]);
  const { request, request_uri: requestUri, ...outside } = known;
  const { client_id: named, redirect_uri: redirectUri } = outside;
  // the redirect URI may be in the request object
  const suits = (found: Client) =>
    found.status === 'enabled' && (redirectUri === undefined || redirectUriAllowed(found, redirectUri, localhost));
  const client = named === undefined ? undefined : await findClient(named, suits);
  // the service fetches nothing for a client that it refuses
  if (!client || client.status !== 'enabled') return { parameters: outside, problem: undefined };
  const { clientId, metadata } = client;
  // stored as sent: an instance of the previous version on the same database refuses it too
  const refused = (code: ErrorCode, description: string) => ({ parameters: known, problem: { code, description } });
  const tooLong = {
    parameters: essentials(outside),
    problem: { code: 'invalid_request', description: sizes },
  } as const;
  const large = [request, requestUri, outside['claims'], outside['authorization_details']];
  if (Buffer.byteLength(outside['authorization_details'] ?? '') > maxLargeBytes)
    return { ...tooLong, problem: { code: 'invalid_authorization_details', description: sizes } };
  if (sizeOf(known) > (large.every((value) => value === undefined) ? maxBytes : maxLargeBytes)) return tooLong;

  if (!pushed && (requirePushed || metadata.require_pushed_authorization_requests))
    return refused('invalid_request', 'the request has to be pushed first (RFC 9126)');
  if (request === undefined && requestUri === undefined) {
    return metadata.require_signed_request_object
      ? refused('invalid_request', 'the client is registered to send its requests as signed request objects')
      : { parameters: outside, problem: undefined };
  }
  if (request !== undefined && requestUri !== undefined)
    return refused('invalid_request', 'request and request_uri must not both be there');
  if (requestUri !== undefined && !metadata.request_uris?.includes(requestUri))
    return refused('invalid_request_uri', 'request_uri is not registered for the client');

  const signing = { clientId, metadata, secret: () => clientSecret(client) };
  try {
    const payload = await (request === undefined
      ? requestObjects.fetch(requestUri!, signing)
      : requestObjects.read(request, signing));
    const inside = parametersOf(payload);
    // outside it would be dropped, and the code be bound to no key
    if (outside['dpop_jkt'] !== undefined && inside['dpop_jkt'] === undefined)
      return refused('invalid_request_object', 'dpop_jkt stands outside the request object: put it into the object');
    for (const name of ['client_id', 'response_type', 'dpop_jkt']) {
      if (inside[name] !== undefined && outside[name] !== undefined && inside[name] !== outside[name])
        return refused('invalid_request_object', `${name} differs from that of the request object`);
    }
    const parameters = { ...inside, client_id: clientId };
    return sizeOf(parameters) > maxLargeBytes ? tooLong : { parameters, problem: undefined };
  } catch (error) {
    if (error instanceof RequestObjectRefused) return { ...refused(error.code, error.message), reason: error.reason };
    throw error;
  }
}

const sizeOf = (parameters: Record<string, string>): number =>
  Object.entries(parameters).reduce((sum, each) => sum + Buffer.byteLength(each.join('')), 0);

const parametersIn = (parameters: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (parameters[name] === undefined ? [] : [[name, parameters[name]]])));

/** The stored part of a request that is too long. */
function essentials(parameters: Record<string, string>): Record<string, string> {
  const short = essential.filter(([name, max]) => (parameters[name]?.length ?? 0) <= max);
  return parametersIn(
    parameters,
    short.map(([name]) => name),
  );
}

/** As JSON; undefined for a value that is nested too deeply. */
function asText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** @throws RequestObjectRefused */
function parametersOf(payload: Record<string, unknown>): Record<string, string> {
  const refuse = (message: string): never => {
    throw new RequestObjectRefused('invalid_request_object', message);
  };
  if (payload['request'] !== undefined || payload['request_uri'] !== undefined)
    refuse('a request object must not contain another one');
  const parameters: Record<string, string> = {};
  for (const name of requestParameters) {
    const value = payload[name];
    // a JSON value may be a number or an object where a query parameter is text (OpenID Connect Core 6.1)
    const text =
      name === 'max_age' && typeof value === 'number'
        ? String(value)
        : (name === 'claims' || name === 'authorization_details') && typeof value === 'object'
          ? asText(value)
          : // the only parameter that may be repeated (RFC 8707 2)
            name === 'resource' && Array.isArray(value)
            ? value.join(' ')
            : value;
    if (text === undefined && value !== undefined) return refuse(`${name} in the request object is nested too deeply`);
    if (text === undefined || text === '') continue;
    if (typeof text !== 'string' || text.includes('\0') || !text.isWellFormed())
      return refuse(`${name} in the request object must be well-formed text`);
    parameters[name] = text;
  }
  return parameters;
}
