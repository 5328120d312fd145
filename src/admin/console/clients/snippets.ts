// Chooses the programs and configurations that connect an application to its client.
import type { SnippetView } from '../../../pages/views/snippet.ts';
import type { Client } from '../../../repositories/clients/clients.ts';
import type { ClientKind } from '../../operations/client-kinds/client-kind.ts';

/** The snippets that work for this client: none if an administrator chose another client authentication than that of its kind. */
export function snippetsOf(
  kind: ClientKind,
  { clientId, metadata, introspect, hosts }: Client,
  issuer: string,
): SnippetView[] {
  if (metadata.token_endpoint_auth_method !== kind.metadata.token_endpoint_auth_method) return [];
  const { scope, post_logout_redirect_uris: [postLogoutRedirectUri] = [] } = metadata;
  // a snippet has the URI in double quotes
  const resource = metadata.resource_uris?.find((uri) => !/["\\$`]/.test(uri));
  return kind.snippets.flatMap(({ name, title, redirectUris, needsResource }) => {
    const redirectUri = metadata.redirect_uris.find((uri) => redirectUris?.test(uri) ?? true);
    if (redirectUris && redirectUri === undefined) return [];
    if (needsResource && resource === undefined) return [];
    const values = {
      issuer,
      clientId,
      redirectUri,
      postLogoutRedirectUri,
      scope,
      resource,
      introspects: introspect === 'any',
      hosts,
    };
    return [{ name, title, values }];
  });
}
