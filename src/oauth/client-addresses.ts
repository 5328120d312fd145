// Checks the addresses in client metadata by the standards and the settings (security R24, R25, R115).
import type { CertificateSettings } from './certificate-settings.ts';
import { invalidClientMetadata, invalidRedirectUri } from './errors.ts';
import type { Fapi2Profile } from './fapi2.ts';
import { isAtIssuer } from './own-resource.ts';
import {
  isLocalhostUri,
  isRedirectUri,
  isRequestUri,
  isResourceUri,
  needsAdmission,
  redirectRefusal,
} from './redirect-uri.ts';
import { refusal } from './refusals.ts';

/** The settings that restrict registration. */
export interface MetadataSettings extends CertificateSettings {
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
  'backchannel_client_notification_endpoint',
] as const;

type Addresses = {
  application_type: 'web' | 'native';
  redirect_uris: string[];
} & { [List in 'post_logout_redirect_uris' | 'resource_uris' | 'request_uris']?: string[] | undefined } & {
  [Member in (typeof webMembers)[number]]?: string | undefined;
};

/**
 * @param admitted whether an administrator admits addresses that need it, or will decide about them
 * @param development whether the client is one of development
 * @throws OAuthError invalid_redirect_uri or invalid_client_metadata
 */
export function checkAddresses(
  metadata: Addresses,
  settings: MetadataSettings,
  admitted: boolean,
  development: boolean,
): void {
  const { application_type: type } = metadata;
  const localhost = settings.loopbackLocalhost ?? true;
  for (const [member, refused] of [
    ['redirect_uris', invalidRedirectUri],
    ['post_logout_redirect_uris', invalidClientMetadata],
  ] as const) {
    const value = metadata[member]?.find((uri) => !isRedirectUri(uri, type, localhost, admitted, development));
    if (value !== undefined) throw refused({ ...redirectRefusal(member, value, type, localhost, development), value });
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

type Returns = Pick<Addresses, 'redirect_uris' | 'post_logout_redirect_uris'>;

/** Every address to which browsers may return. */
export const addressesOf = ({
  redirect_uris: uris,
  post_logout_redirect_uris: afterLogout = [],
}: Returns): string[] => [...uris, ...(afterLogout ?? [])];

const filtered = <M extends Returns>(metadata: M, isKept: (uri: string) => boolean): M => ({
  ...metadata,
  redirect_uris: metadata.redirect_uris.filter(isKept),
  ...(metadata.post_logout_redirect_uris && {
    post_logout_redirect_uris: metadata.post_logout_redirect_uris.filter(isKept),
  }),
});

/** The metadata without the addresses that wait for an administrator. @param before what is admitted, which stays */
export const withoutWaiting = <M extends Returns>(metadata: M, before?: Returns): M => {
  const admitted = before ? addressesOf(before) : [];
  return filtered(metadata, (uri) => !needsAdmission(uri) || admitted.includes(uri));
};

/** The most addresses in a list. */
const most = 20;

/** The metadata with the addresses that already wait: an update keeps them, since no answer has them (reports A5). */
export function withWaiting<M extends Addresses>(metadata: M, current: Returns, pending: Returns | undefined): M {
  if (!pending) return metadata;
  const waiting = filtered(pending, (uri) => needsAdmission(uri) && !addressesOf(current).includes(uri));
  if (addressesOf(waiting).length === 0) return metadata;
  const joined = (member: keyof Returns) => [...new Set([...(metadata[member] ?? []), ...(waiting[member] ?? [])])];
  const afterLogout = joined('post_logout_redirect_uris').slice(0, most);
  return {
    ...metadata,
    application_type: 'native',
    redirect_uris: joined('redirect_uris').slice(0, most),
    ...(afterLogout.length > 0 && { post_logout_redirect_uris: afterLogout }),
  };
}
