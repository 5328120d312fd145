// What an update or a repeat changes of a registration: in force at once, or waiting for an administrator (decisions section 2).
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type ClientMetadata, needsSecret } from '../../oauth/client-metadata.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { isAdministratorScope, splitScope } from '../../oauth/scope.ts';
import { widens } from '../../oauth/widening-change.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import {
  demandingMetadata,
  newCredentials,
  secretFor,
  type ShownCredentials,
} from '../../tokens/client-credentials.ts';

/**
 * What an update changes: in force at once, or waiting where it widens what an administrator approved, also while the client is
 * disabled (security R45, R116, R117).
 * @param along.keepsWaiting the waiting change was sent back, so that an update which changes nothing else leaves it
 * @param along.claimsHeld it claims a resource that another client holds: an administrator settles that, also for a self-managed client
 */
function metadataChange(
  config: Config,
  current: Client,
  sent: ClientMetadata,
  { claimsHeld, keepsWaiting = false }: { claimsHeld: boolean; keepsWaiting?: boolean },
): ClientChange {
  const metadata = keepAdministratorScopes(current, sent);
  if (keepsWaiting && isDeepStrictEqual(metadata, current.metadata)) return {};
  const isLookedAt = current.everEnabled && !current.selfManaged && !config.automaticApproval;
  const waits = claimsHeld || (isLookedAt && widens(current.metadata, metadata));
  return waits ? { pendingMetadata: metadata } : { metadata, pendingMetadata: null };
}

/**
 * What an update changes, and what becomes of the client's secret.
 * @param along what was sent beside the metadata: the current secret, where the client proved it, and the waiting change unchanged; and
 *   whether it claims a resource that another client holds
 * @throws OAuthError invalid_request
 */
export function updateOf(
  { config, secretBox }: { config: Config; secretBox: SecretBox },
  current: Client,
  sent: ClientMetadata,
  { secret, ...along }: { secret: string | undefined; keepsWaiting: boolean; claimsHeld: boolean },
): { change: ClientChange; newSecret: string | undefined } {
  const change = metadataChange(config, current, sent, along);
  const metadata = change.metadata ?? change.pendingMetadata;
  if (!metadata) return { change, newSecret: undefined };
  if (!needsSecret(metadata)) {
    // neither what is in force nor what waits has one
    if (change.metadata || !needsSecret(current.metadata))
      change.credentials = { secretHash: undefined, secretEncrypted: undefined };
    return { change, newSecret: undefined };
  }
  const issued = secretFor(secretBox, current, metadata, secret);
  if (!issued) return { change, newSecret: undefined };
  // what is in force stays in force until the approval, the secret included
  if (change.pendingMetadata && needsSecret(current.metadata) && issued.newSecret !== undefined) {
    throw invalidRequest('send the current client_secret along: after the approval it serves as a key');
  }
  change.credentials = issued.credentials;
  return { change, newSecret: issued.newSecret };
}

/** What a repeat changes: the metadata as an update does, and all credentials. */
export function renewalOf(
  { config, secretBox }: { config: Config; secretBox: SecretBox },
  current: Client,
  sent: ClientMetadata,
  claimsHeld: boolean,
): { change: ClientChange; shown: ShownCredentials } {
  const change = metadataChange(config, current, sent, { claimsHeld });
  const inForce = change.metadata ?? current.metadata;
  const demanding = demandingMetadata(inForce, change.pendingMetadata ?? undefined);
  const credentials = newCredentials(secretBox, current.clientId, demanding);
  return { change: { ...change, credentials: credentials.stored }, shown: credentials.shown };
}

/** The scopes that only an administrator gives are not lost by the client's own update. */
function keepAdministratorScopes(current: Client, sent: ClientMetadata): ClientMetadata {
  const before = splitScope(current.metadata.scope);
  const given = before.filter(isAdministratorScope);
  if (given.length === 0) return sent;
  const scopes = [...splitScope(sent.scope), ...given];
  const isSame = scopes.length === before.length && scopes.every((scope) => before.includes(scope));
  return { ...sent, scope: isSame ? current.metadata.scope : scopes.join(' ') };
}
