// Reads the metadata of an identity provider, whose keys a connection pins (federation 9, FR22).
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { OAuthError } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import { FetchRefused, type GuardedFetch } from '../../../outbound/guarded-fetch.ts';
import { readCertificate } from '../../../saml/certificates.ts';
import { locationOf, type Metadata, readMetadata } from '../../../saml/metadata.ts';
import { bindings } from '../../../saml/names.ts';
import { maxBytes } from '../../../saml/reader/bounds.ts';
import { SamlRefused } from '../../../saml/refused.ts';
import { type PinnedProvider, pinnedIn } from './settings.ts';

type Code = `connection.saml-${'unreachable' | 'metadata' | 'key' | 'expired' | 'fields'}`;
const refused = (code: Code, member: string, cause?: unknown) =>
  new OAuthError('invalid_request', refusal(code, `settings.${member}`), 400, { cause });

/** The refusal of metadata that is not what a connection needs. @param member the setting that it names */
export const metadataRefused = (member: 'metadata' | 'metadata_uri', cause?: unknown): OAuthError =>
  refused('connection.saml-metadata', member, cause);

/** Reads a document. @param member the setting that a refusal names @throws OAuthError invalid_request */
export function providerIn(document: string, member: 'metadata' | 'metadata_uri'): PinnedProvider {
  let metadata: Metadata;
  try {
    metadata = readMetadata(document);
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    throw metadataRefused(member, error);
  }
  const { entityId, identityProvider: role } = metadata;
  const ssoUri = role && locationOf(role.signOn, bindings.redirect);
  if (!role || ssoUri === undefined) throw metadataRefused(member);
  // without a key that is named for signing, no answer could be verified (federation F35)
  if (role.certificates.length === 0) throw refused('connection.saml-key', member);
  const sloUri = locationOf(role.logout, bindings.redirect);
  return {
    entity_id: entityId,
    sso_uri: ssoUri,
    ...(sloUri !== undefined && { slo_uri: sloUri }),
    certificates: [...new Set(role.certificates.map(({ pem }) => pem))].sort(),
  };
}

/** @throws OAuthError invalid_request, which tells an administrator what is wrong */
export async function fetchProvider(fetchDocument: GuardedFetch, uri: string): Promise<PinnedProvider> {
  try {
    return providerIn(await fetchDocument(uri, undefined, { maxBytes }), 'metadata_uri');
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error;
    throw refused('connection.saml-unreachable', 'metadata_uri', error);
  }
}

/** Refuses what no sign-in could use: a missing field, no key, or a certificate whose time is over. @throws OAuthError invalid_request */
export function checkPinned(settings: Readonly<Record<string, unknown>>, before: readonly unknown[], now: Date): void {
  for (const name of ['entity_id', 'sso_uri'])
    if (typeof settings[name] !== 'string') throw refused('connection.saml-fields', name);
  const certificates = (settings['certificates'] ?? []) as string[];
  if (certificates.length === 0) throw refused('connection.saml-fields', 'certificates');
  // one that is pinned stays: its end is no reason to trust it less than the day before
  const isOver = (pem: string) => !before.includes(pem) && readCertificate(pem)!.notAfter < now;
  if (certificates.some(isOver)) throw refused('connection.saml-expired', 'certificates');
}

/** Names what was published, whatever the order of its members: an administrator accepts exactly what a page or a command showed. */
export const publishedDigest = (discovery: Readonly<Record<string, unknown>>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(discovery).sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
    .slice(0, 32);

/** What the identity provider published last, if it differs from what is pinned: an administrator decides about it. */
export function waitingProvider(connection: {
  settings: Readonly<Record<string, unknown>>;
  discovery: Readonly<Record<string, unknown>> | undefined;
}): PinnedProvider | undefined {
  const { settings, discovery } = connection;
  if (!discovery || typeof settings['metadata_uri'] !== 'string') return undefined;
  // this version stored it, or another one with the same members
  return isDeepStrictEqual(discovery, pinnedIn(settings)) ? undefined : (discovery as unknown as PinnedProvider);
}
