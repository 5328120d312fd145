// Writes the answer of a registration, and refuses members that a registrant may not send.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import { administratorMembers, serverMembers } from '../../oauth/client-metadata.ts';
import { invalidClientMetadata } from '../../oauth/errors.ts';
import { isAdministratorScope } from '../../oauth/scope.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { ShownCredentials } from '../../tokens/client-credentials.ts';

/** The client information response (RFC 7591 3.2.1, service specification 2.2). */
export function registrationResponse(
  config: Config,
  client: Client,
  shown?: Partial<ShownCredentials>,
): Record<string, unknown> {
  const response: Record<string, unknown> = {
    client_id: client.clientId,
    client_id_issued_at: Math.floor(client.createdAt.getTime() / 1000),
    ...client.metadata,
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
  if (client.pendingMetadata) response['pending_changes'] = client.pendingMetadata;
  return response;
}

/**
 * Refuses members that are not the registrant's to set, unless they have the value that a read gives now: a client sends them back
 * with what it changes (RFC 7592 2.2, decisions section 2; security R44, R46).
 * @param answered what a read gives now, and the secrets that were answered with it once
 * @throws OAuthError invalid_client_metadata
 */
export function refuseForeignMembers(
  body: Record<string, unknown>,
  answered: Record<string, unknown>,
  { everEnabled }: Client,
): void {
  const hasTold = (member: string, value: unknown) =>
    isDeepStrictEqual(value, answered[member]) ||
    // the client's last answer may be from before the approval, which the client is not told of
    (member === 'status' && everEnabled && (value === 'enabled' || value === 'disabled'));
  const foreign = [...administratorMembers, ...serverMembers].find(
    (member) => member in body && !hasTold(member, body[member]),
  );
  if (foreign !== undefined)
    throw invalidClientMetadata(
      `${foreign} is set by the service: leave it out, or send the value that GET at this address answers now`,
    );
}

/** A registration without the scopes that only an administrator gives, which are ignored in it (decisions section 2). */
export function withoutAdministratorScopes(body: Record<string, unknown>): Record<string, unknown> {
  const { scope, ...rest } = body;
  if (typeof scope !== 'string') return body;
  const left = scope.split(' ').filter((value) => !isAdministratorScope(value));
  return left.length > 0 ? { ...rest, scope: left.join(' ') } : rest;
}

/**
 * An update without the scopes that an administrator gave to this client: they are sent back with the others, and stay (RFC 7592 2.2).
 * The administrator scopes that the client does not have are left in, and refused with the rest of the metadata.
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
