// Checks that a client is registered for a redirect URI.
import { registeredRedirectUri } from '../oauth/redirect-uri.ts';
import { consoleClientId } from '../oauth/console-client.ts';
import type { Client } from '../repositories/clients/clients.ts';

/** Whether users can authorize the client: it is enabled, and its document, if it has one, exists. */
export function admitsUsers(client: Client): boolean {
  return client.status === 'enabled' && !client.documentGone;
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
