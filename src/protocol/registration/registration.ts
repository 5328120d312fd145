// Writes the answer to a registration, and refuses members that a client may not send.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import { clientSettings } from '../../entities/client-settings.ts';
import { type ClientMetadata, serverMembers } from '../../oauth/client-metadata.ts';
import { invalidClientMetadata } from '../../oauth/errors.ts';
import { writeLocalized } from '../../oauth/localized-metadata.ts';
import { grantTypeOf, isOffered } from '../../oauth/registrable-values.ts';
import { isAdministratorScope } from '../../oauth/scope.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { ShownCredentials } from '../../tokens/client-credentials.ts';

/**
 * The metadata without what the settings switch off: it is registered, and not in effect (RFC 7591 3.2.1).
 * @param metadata of the client, or its pending change
 */
function inEffect(config: Config, { request_object_signing_alg: alg, localized, ...metadata }: ClientMetadata) {
  return {
    ...metadata,
    ...writeLocalized(localized),
    grant_types: metadata.grant_types.filter((name) => isOffered(config, grantTypeOf(name))),
    ...(alg !== undefined && (alg !== 'none' || config.requestObjectUnsigned) && { request_object_signing_alg: alg }),
  };
}

/** Keeps in an update what the answers leave out while a setting switches it off: the client could not send it back (RFC 7592 2.2). */
export function withHidden(
  config: Config,
  { metadata }: Client,
  body: Record<string, unknown>,
): Record<string, unknown> {
  const shown = inEffect(config, metadata);
  const hidden = metadata.grant_types.filter((grantType) => !shown.grant_types.includes(grantType));
  const { grant_types: sent, request_object_signing_alg: alg = metadata.request_object_signing_alg } = body;
  return {
    ...body,
    ...(Array.isArray(sent) && { grant_types: [...new Set([...(sent as unknown[]), ...hidden])] }),
    ...(!('request_object_signing_alg' in shown) && alg !== undefined && { request_object_signing_alg: alg }),
  };
}

/** The client information response (RFC 7591 3.2.1, specification 2.2). */
export function registrationResponse(
  config: Config,
  client: Client,
  shown?: Partial<ShownCredentials>,
): Record<string, unknown> {
  const response: Record<string, unknown> = {
    client_id: client.clientId,
    client_id_issued_at: Math.floor(client.createdAt.getTime() / 1000),
    ...inEffect(config, client.metadata),
    status: client.status,
    registration_client_uri: `${config.issuer}/register/${encodeURIComponent(client.clientId)}`,
    login_uri: `${config.issuer}/login`,
    logout_uri: `${config.issuer}/logout`,
    error_uri: `${config.issuer}/error`,
    access_denied_uri: `${config.issuer}/access-denied`,
  };
  if (shown?.clientSecret !== undefined) response['client_secret'] = shown.clientSecret;
  if (client.secretHash) response['client_secret_expires_at'] = 0;
  if (shown?.sharedSecret !== undefined) response['shared_secret'] = shown.sharedSecret;
  if (shown?.registrationAccessToken !== undefined)
    response['registration_access_token'] = shown.registrationAccessToken;
  if (client.refusalReason !== undefined) response['refusal_reason'] = client.refusalReason;
  if (client.pendingMetadata) response['pending_changes'] = inEffect(config, client.pendingMetadata);
  return response;
}

/**
 * Refuses members that a client may not set, unless they have the value that a read returns now: an update contains every member
 * (RFC 7592 2.2, decisions section 2; security R44, R46).
 * @param answered the present answer to a read, with the secrets that the client sent and that are right
 * @throws OAuthError invalid_client_metadata
 */
export function refuseForeignMembers(
  body: Record<string, unknown>,
  answered: Record<string, unknown>,
  { everEnabled }: Client,
): void {
  const hasTold = (member: string, value: unknown) =>
    isDeepStrictEqual(value, answered[member]) ||
    // the client may have read its status before the approval, of which it is not notified
    (member === 'status' && everEnabled && (value === 'enabled' || value === 'disabled'));
  const foreign = ['status', ...Object.keys(clientSettings), ...serverMembers].find(
    (member) => member in body && !hasTold(member, body[member]),
  );
  if (foreign !== undefined)
    throw invalidClientMetadata(
      `${foreign} is set by the service: leave it out, or send the value that GET at this address answers now`,
    );
}

/** Removes the scopes that only an administrator can give: a registration that names them is not refused (decisions section 2). */
export function withoutAdministratorScopes(body: Record<string, unknown>): Record<string, unknown> {
  const { scope, ...rest } = body;
  if (typeof scope !== 'string') return body;
  const left = scope.split(' ').filter((value) => !isAdministratorScope(value));
  return left.length > 0 ? { ...rest, scope: left.join(' ') } : rest;
}

/**
 * Removes from an update the scopes that an administrator gave to this client: the client sends them back, and keeps them (RFC 7592 2.2).
 * Administrator scopes that the client does not have remain, and the validation of the metadata refuses them.
 */
export function withoutGivenScopes(client: Client, body: Record<string, unknown>): Record<string, unknown> {
  const { scope } = body;
  if (typeof scope !== 'string') return body;
  const given = client.metadata.scope.split(' ').filter(isAdministratorScope);
  return {
    ...body,
    scope: scope
      .split(' ')
      .filter((value) => !given.includes(value))
      .join(' '),
  };
}
