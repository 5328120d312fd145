// Checks that a client may get an answer at a redirect URI.
import { registeredRedirectUri } from '../oauth/redirect-uri.ts';
import { consoleClientId } from '../repositories/administration/administration.ts';
import type { Client } from '../repositories/clients/clients.ts';

/** The checks before which nothing is sent to the address that a request names (security R1). */
export function mayAsk(client: Client, redirectUri: string | undefined, localhost: boolean): boolean {
  return (
    client.status === 'enabled' &&
    redirectUri !== undefined &&
    registeredUri(client, redirectUri, localhost) !== undefined
  );
}

/** The registered redirect URI that a requested one is. */
export function registeredUri(
  { clientId, metadata }: Client,
  redirectUri: string,
  localhost: boolean,
): string | undefined {
  const { redirect_uris: registered, application_type: applicationType } = metadata;
  // the console is at one address: behind another port is another program (security R123)
  if (clientId === consoleClientId) return registered.find((uri) => uri === redirectUri);
  return registeredRedirectUri(registered, redirectUri, applicationType, localhost);
}
