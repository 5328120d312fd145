// What an update or a repeat changes of a registration: in force at once, or waiting for an administrator (decisions section 2).
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type ClientMetadata, needsSecret, widens } from '../../oauth/client-metadata.ts';
import { invalidRequest } from '../../oauth/errors.ts';
import { isAdministratorScope } from '../../oauth/scope.ts';
import type { Client, ClientChange } from '../../repositories/clients.ts';
import {
  demandingMetadata,
  newCredentials,
  secretFor,
  type ShownCredentials,
} from '../../tokens/client-credentials.ts';

/** What an update changes: in force at once, or waiting where it widens what an administrator approved (security R45). */
function metadataChange(config: Config, current: Client, sent: ClientMetadata): ClientChange {
  const metadata = keepAdministratorScopes(current, sent);
  const waits =
    current.status === 'enabled' &&
    !current.selfManaged &&
    !config.automaticApproval &&
    widens(current.metadata, metadata);
  return waits ? { pendingMetadata: metadata } : { metadata, pendingMetadata: null };
}

/**
 * What an update changes, and what becomes of the client's secret.
 * @param secret the current one, where the client proved it
 * @throws OAuthError invalid_request
 */
export function updateOf(
  { config, secretBox }: { config: Config; secretBox: SecretBox },
  current: Client,
  sent: ClientMetadata,
  secret: string | undefined,
): { change: ClientChange; newSecret: string | undefined } {
  const change = metadataChange(config, current, sent);
  const metadata = change.metadata ?? change.pendingMetadata!;
  if (!needsSecret(metadata)) {
    if (change.metadata) change.credentials = { secretHash: undefined, secretEncrypted: undefined };
    return { change, newSecret: undefined };
  }
  const issued = secretFor(secretBox, current, metadata, secret);
  if (!issued) return { change, newSecret: undefined };
  // what is in force stays in force until the approval, the secret included
  if (change.pendingMetadata && current.secretHash && issued.newSecret !== undefined) {
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
): { change: ClientChange; shown: ShownCredentials } {
  const change = metadataChange(config, current, sent);
  const inForce = change.metadata ?? current.metadata;
  const demanding = demandingMetadata(inForce, change.pendingMetadata ?? undefined);
  const credentials = newCredentials(secretBox, current.clientId, demanding);
  return { change: { ...change, credentials: credentials.stored }, shown: credentials.shown };
}

/** The scopes that only an administrator gives are not lost by the client's own update. */
function keepAdministratorScopes(current: Client, sent: ClientMetadata): ClientMetadata {
  const given = current.metadata.scope.split(' ').filter(isAdministratorScope);
  return given.length > 0 ? { ...sent, scope: [sent.scope, ...given].join(' ').trim() } : sent;
}
