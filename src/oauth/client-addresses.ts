// Checks the addresses in client metadata by the standards and the settings (security R24, R25, R115).
import { invalidClientMetadata, invalidRedirectUri } from './errors.ts';
import type { Fapi2Profile } from './fapi2.ts';
import { isAtIssuer } from './own-resource.ts';
import { isLocalhostUri, isRedirectUri, isRequestUri, isResourceUri, redirectRefusal } from './redirect-uri.ts';
import { refusal } from './refusals.ts';

/** The settings that restrict registration. */
export interface MetadataSettings {
  /** No client may register an address at or below the issuer as its resource. */
  readonly issuer?: string;
  /** Whether http is allowed on the name localhost, and not only on loopback addresses. */
  readonly loopbackLocalhost?: boolean;
  /** The FAPI 2.0 profile that every client follows at least. */
  readonly fapi2?: Fapi2Profile | undefined;
}

/** The members with a single web address (security R25). */
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
      throw invalidRedirectUri(redirectRefusal('redirect_uris', uri, type, localhost));
  }
  for (const uri of metadata.post_logout_redirect_uris ?? []) {
    if (!isRedirectUri(uri, type, localhost))
      throw invalidClientMetadata(redirectRefusal('post_logout_redirect_uris', uri, type, localhost));
  }
  const named = localhost ? undefined : webMembers.find((member) => isLocalhostUri(metadata[member] ?? ''));
  if (named !== undefined) throw invalidClientMetadata(refusal('localhost.member', named));
  for (const uri of metadata.resource_uris ?? []) {
    if (!isResourceUri(uri)) throw invalidClientMetadata(refusal('resource', 'resource_uris'));
    // else the client would receive tokens meant for the service (security R115)
    if (settings.issuer !== undefined && isAtIssuer(settings.issuer, uri))
      throw invalidClientMetadata(refusal('own-resource', 'resource_uris'));
  }
  for (const uri of metadata.request_uris ?? []) {
    if (!isRequestUri(uri)) throw invalidClientMetadata(refusal('https.requests', 'request_uris'));
    if (!localhost && isLocalhostUri(uri)) throw invalidClientMetadata(refusal('localhost.member', 'request_uris'));
  }
}
