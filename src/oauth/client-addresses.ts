// The addresses that a client registers: which are allowed, and what the settings say about them (security R24, R25, R115).
import { invalidClientMetadata, invalidRedirectUri } from './errors.ts';
import { isAtIssuer } from './own-resource.ts';
import { isLocalhostUri, isRedirectUri, isRequestUri, isResourceUri, redirectAdvice } from './redirect-uri.ts';

/** The settings that bear on what may be registered. */
export interface MetadataSettings {
  /** The service is the server of its own addresses. */
  readonly issuer?: string;
  /** Whether http is allowed on the name localhost, as it is on the addresses of the loopback. */
  readonly loopbackLocalhost?: boolean;
}

/** The members that are one web address (security R25). */
const webMembers = [
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'frontchannel_logout_uri',
  'backchannel_logout_uri',
] as const;

type Addresses = {
  application_type: 'web' | 'native';
  redirect_uris: string[];
} & { [List in 'post_logout_redirect_uris' | 'resource_uris' | 'request_uris']?: string[] | undefined } & {
  [Member in (typeof webMembers)[number]]?: string | undefined;
};

/** @throws OAuthError invalid_redirect_uri or invalid_client_metadata */
export function checkAddresses(metadata: Addresses, settings: MetadataSettings): void {
  const { application_type: type } = metadata;
  const localhost = settings.loopbackLocalhost ?? true;
  for (const uri of metadata.redirect_uris) {
    if (!isRedirectUri(uri, type, localhost))
      throw invalidRedirectUri(
        `redirect_uris holds an address that is not allowed: ${redirectAdvice(uri, type, localhost)}`,
      );
  }
  for (const uri of metadata.post_logout_redirect_uris ?? []) {
    if (!isRedirectUri(uri, type, localhost))
      throw invalidClientMetadata(
        `post_logout_redirect_uris holds an address that is not allowed: ${redirectAdvice(uri, type, localhost)}`,
      );
  }
  const named = localhost ? undefined : webMembers.find((member) => isLocalhostUri(metadata[member] ?? ''));
  if (named !== undefined) throw invalidClientMetadata(`${named} must not be http on localhost here: use 127.0.0.1`);
  for (const uri of metadata.resource_uris ?? []) {
    if (!isResourceUri(uri)) throw invalidClientMetadata('resource_uris must hold absolute URIs without a fragment');
    // a client would get the tokens that are for the service (security R115)
    if (settings.issuer !== undefined && isAtIssuer(settings.issuer, uri))
      throw invalidClientMetadata(
        'resource_uris must not hold the issuer or an address below it: these are resources of this service itself',
      );
  }
  for (const uri of metadata.request_uris ?? []) {
    if (!isRequestUri(uri)) throw invalidClientMetadata('request_uris must hold https URLs without user information');
    if (!localhost && isLocalhostUri(uri))
      throw invalidClientMetadata('request_uris must not be http on localhost here: use 127.0.0.1');
  }
}
