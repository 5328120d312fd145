// Decides what an update or a repeat changes of a registration, at once or after an administrator's approval (decisions section 2).
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type ClientMetadata, needsSecret } from '../../oauth/client-metadata.ts';
import { addressesOf, withoutWaiting, withWaiting } from '../../oauth/client-addresses.ts';
import { invalidRedirectUri, invalidRequest } from '../../oauth/errors.ts';
import { redirectRefusal } from '../../oauth/redirect-uri.ts';
import { isAdministratorScope, splitScope } from '../../oauth/scope.ts';
import { hasGivenTrust } from '../../rules/clients/given-trust.ts';
import { widens } from '../../rules/clients/widening-change.ts';
import type { Client, ClientChange } from '../../repositories/clients/clients.ts';
import {
  demandingMetadata,
  newCredentials,
  secretFor,
  type ShownCredentials,
} from '../../tokens/client-credentials.ts';

/** The whole metadata, if one of their addresses waits for an administrator; with automatic approval it is left out. */
export const waitingOf = (
  config: Pick<Config, 'automaticApproval'>,
  admitted: ClientMetadata,
  wanted: ClientMetadata,
): ClientMetadata | undefined => (config.automaticApproval || !lacksSome(admitted, wanted) ? undefined : wanted);

const lacksSome = (admitted: ClientMetadata, wanted: ClientMetadata) =>
  addressesOf(wanted).length > addressesOf(admitted).length;

/** Whether a client has no address, since all that it registered wait. */
export const hasNoAddress = (admitted: ClientMetadata, wanted: ClientMetadata): boolean =>
  admitted.redirect_uris.length === 0 && wanted.redirect_uris.length > 0;

/** With automatic approval no administrator looks at what waits. @throws OAuthError invalid_redirect_uri */
export function requireAddress(
  { automaticApproval, loopbackLocalhost }: Config,
  admitted: ClientMetadata,
  wanted: ClientMetadata,
): void {
  if (!automaticApproval || !hasNoAddress(admitted, wanted)) return;
  const [value] = wanted.redirect_uris as [string];
  throw invalidRedirectUri({ ...redirectRefusal('redirect_uris', value, 'native', loopbackLocalhost), value });
}

/**
 * An update takes effect at once, unless it widens what an administrator approved: then it waits for approval, also while the client
 * is disabled (security R45, R116, R117). Automatic approval approves it, unless an administrator gave the client rights (security R44).
 * @param facts.keepsPending the client sent the pending change back, so an update that changes nothing else keeps it
 * @param facts.claimsHeld the update claims a resource that another client holds: it waits for approval, also for a self-managed client
 */
function metadataChange(
  config: Config,
  current: Client,
  sent: ClientMetadata,
  { claimsHeld, keepsPending = false }: { claimsHeld: boolean; keepsPending?: boolean },
): ClientChange {
  const wanted = withWaiting(keepAdministratorScopes(current, sent), current.metadata, current.pendingMetadata);
  const metadata = withoutWaiting(keepAdministratorScopes(current, sent), current.metadata);
  if (keepsPending && isDeepStrictEqual(metadata, current.metadata)) return {};
  requireAddress(config, metadata, wanted);
  const isApproved = config.automaticApproval && !hasGivenTrust(current);
  const isReviewed = current.everEnabled && !current.selfManaged && !isApproved;
  const waits = claimsHeld || (isReviewed && widens(current.metadata, metadata));
  return waits
    ? { pendingMetadata: wanted }
    : { metadata, pendingMetadata: waitingOf(config, metadata, wanted) ?? null };
}

/**
 * Decides what an update changes, and whether the client keeps, gets or loses its secret.
 * @param facts.secret the current secret, if the client sent it and it was verified
 * @throws OAuthError invalid_request
 */
export function updateOf(
  { config, secretBox }: { config: Config; secretBox: SecretBox },
  current: Client,
  sent: ClientMetadata,
  { secret, ...facts }: { secret: string | undefined; keepsPending: boolean; claimsHeld: boolean },
): { change: ClientChange; newSecret: string | undefined } {
  const change = metadataChange(config, current, sent, facts);
  const metadata = change.metadata ?? change.pendingMetadata;
  if (!metadata) return { change, newSecret: undefined };
  if (!needsSecret(metadata)) {
    // neither the effective nor the pending metadata needs a secret
    if (change.metadata || !needsSecret(current.metadata))
      change.credentials = { secretHash: undefined, secretEncrypted: undefined };
    return { change, newSecret: undefined };
  }
  const issued = secretFor(secretBox, current, metadata, secret);
  if (!issued) return { change, newSecret: undefined };
  // the effective metadata and its secret stay valid until the approval
  if (change.pendingMetadata && needsSecret(current.metadata) && issued.newSecret !== undefined) {
    throw invalidRequest('include the current client_secret: after the approval it is used as a key');
  }
  change.credentials = issued.credentials;
  return { change, newSecret: issued.newSecret };
}

/** Decides what a repeat changes: the metadata, as an update does, and all credentials. */
export function renewalOf(
  { config, secretBox }: { config: Config; secretBox: SecretBox },
  current: Client,
  sent: ClientMetadata,
  claimsHeld: boolean,
): { change: ClientChange; shown: ShownCredentials } {
  const change = metadataChange(config, current, sent, { claimsHeld });
  const effective = change.metadata ?? current.metadata;
  const demanding = demandingMetadata(effective, change.pendingMetadata ?? undefined);
  const credentials = newCredentials(secretBox, current.clientId, demanding);
  return { change: { ...change, credentials: credentials.stored }, shown: credentials.shown };
}

/** Keeps the scopes that only an administrator can give: the client's own update does not remove them. */
function keepAdministratorScopes(current: Client, sent: ClientMetadata): ClientMetadata {
  const before = splitScope(current.metadata.scope);
  const given = before.filter(isAdministratorScope);
  if (given.length === 0) return sent;
  const scopes = [...splitScope(sent.scope), ...given];
  const isSame = scopes.length === before.length && scopes.every((scope) => before.includes(scope));
  return { ...sent, scope: isSame ? current.metadata.scope : scopes.join(' ') };
}
