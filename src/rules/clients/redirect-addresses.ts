// Checks that a client is registered for a redirect URI.
import { registeredRedirectUri } from '../../oauth/redirect-uri.ts';
import { clientKindRules, type StoredKind } from './kinds.ts';
import { consoleClientId } from './console-client.ts';
import { type ClientMetadata, displayName } from '../../oauth/client-metadata.ts';
import type { RefusalFacts } from '../../oauth/errors.ts';
import { shownAddress, shownText } from '../../oauth/shown-address.ts';

/** A client, as far as these rules ask. */
interface Client {
  clientId: string;
  kind: StoredKind;
  status: 'enabled' | 'disabled';
  documentGone: boolean;
  metadata: ClientMetadata;
}

/** Whether users can authorize the client: its kind uses OAuth, it is enabled, and its document, if it has one, exists. */
export function admitsUsers(client: Client): boolean {
  return client.status === 'enabled' && !client.documentGone && clientKindRules[client.kind].authorizes;
}

/** Whether the service may send a client's response to an address (security R1). */
export function redirectUriAllowed(client: Client, redirectUri: string | undefined, localhost: boolean): boolean {
  return (
    admitsUsers(client) && redirectUri !== undefined && registeredUri(client, redirectUri, localhost) !== undefined
  );
}

/** The registered redirect URI that a requested one matches. */
export function registeredUri(
  { clientId, metadata }: Client,
  redirectUri: string,
  localhost: boolean,
): string | undefined {
  const { redirect_uris: registered, application_type: applicationType } = metadata;
  // the console has one address: another port belongs to another program (security R123)
  if (clientId === consoleClientId) return registered.find((uri) => uri === redirectUri);
  return registeredRedirectUri(registered, redirectUri, applicationType, localhost);
}

/** What an administrator has to know of a request whose address was refused. @param registered the addresses of the client that may be named there */
export function addressFacts(
  { clientId, sent }: { clientId: string | undefined; sent: string | undefined },
  client?: Client,
  registered: readonly string[] = [],
): RefusalFacts {
  return {
    ...(clientId !== undefined && { client_id: shownText(clientId) }),
    ...(client && { client_name: displayName(client.clientId, client.metadata), registered: registered.slice(0, 50) }),
    ...(sent !== undefined && { sent: shownAddress(sent) }),
  };
}

/** How a redirect URI that is not registered could be used; undefined if nothing is known but to register it. */
export function redirectHint({ clientId, metadata }: Client, sent: string, localhost: boolean): string | undefined {
  const { redirect_uris: registered, application_type: type } = metadata;
  if (type === 'native' || clientId === consoleClientId) return undefined;
  return registeredRedirectUri(registered, sent, 'native', localhost) === undefined
    ? undefined
    : 'a client of application_type native may use any port of a loopback address: change the type, or register this address';
}
