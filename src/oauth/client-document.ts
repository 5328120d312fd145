// Decides whether a client_id is the address of a client's document, and reads that document (draft-ietf-oauth-client-id-metadata-document).
import { offersCertificates } from './certificate-settings.ts';
import { type ClientMetadata, parseClientMetadata } from './client-metadata.ts';
import type { MetadataSettings } from './client-addresses.ts';
import { invalidClientMetadata } from './errors.ts';
import { parseJson } from './json-text.ts';
import { isLoopbackUri, isWebUri } from './redirect-uri.ts';
import { refusal } from './refusals.ts';
import {
  type AuthenticationMethod,
  clientAuthenticationMethods,
  grantTypeOf,
  grantTypes,
  inWords,
  isOffered,
  namesOf,
} from './registrable-values.ts';
import { parseResponseType } from './response-type.ts';
import { registrableScopes, splitScope } from './scope.ts';

/** The most characters of a client_id. */
export const maxClientId = 512;

/** The settings that decide about a document and its metadata. */
export interface DocumentSettings extends MetadataSettings {
  readonly issuer: string;
}

/** Whether a document may name this authentication method. A document is public, so it cannot hold a secret. */
const isAllowed =
  (settings: DocumentSettings) =>
  (method: AuthenticationMethod): boolean =>
    method.proves !== 'shared secret' && isOffered(settings, method);

/**
 * Whether a client_id is the address of a document (draft-ietf-oauth-client-id-metadata-document 3): https with a path, written as every reader writes it, and of at most 512
 * characters. The service has no document of its own.
 */
export function isDocumentAddress(clientId: string, issuer: string): boolean {
  if (clientId.length > maxClientId || !/^https:\/\/[!-~]+$/.test(clientId) || /[\\?#]/.test(clientId)) return false;
  if (!URL.canParse(clientId)) return false;
  const url = new URL(clientId);
  return (
    // a parser changes an address with a dot segment, a default port or capital letters
    url.href === clientId &&
    url.username === '' &&
    url.password === '' &&
    url.pathname !== '/' &&
    !url.hostname.endsWith('.') &&
    // a browser can show a host in punycode as one that looks like another host
    !url.hostname.split('.').some((label) => label.startsWith('xn--')) &&
    url.host !== new URL(issuer).host
  );
}

/** Hosts on which many people publish. The name of their clients contains the first segment of the path. */
const sharedHosts = [
  'github.com',
  'raw.githubusercontent.com',
  'gist.githubusercontent.com',
  'gitlab.com',
  'codeberg.org',
  'bitbucket.org',
  'huggingface.co',
  'storage.googleapis.com',
  's3.amazonaws.com',
  'sites.google.com',
];
/** Domains that give each publisher a host. Each path on the host is one project. */
const sharedDomains = ['github.io', 'gitlab.io', 'codeberg.page', 'vercel.app', 'netlify.app', 'pages.dev'];

/** The name by which users recognise the client: the host of its document, and on a shared host the first segment of the path. */
export function documentName(clientId: string): string {
  const { host, hostname, pathname } = new URL(clientId);
  const isShared = sharedHosts.includes(hostname) || sharedDomains.some((domain) => hostname.endsWith(`.${domain}`));
  return isShared ? `${host}/${pathname.split('/')[1]!}` : host;
}

/** Whether every redirect URI is on the user's own computer. Any program there could claim to be the client. */
export function hasOnlyLoopback({ redirect_uris: uris }: Pick<ClientMetadata, 'redirect_uris'>): boolean {
  return uris.length > 0 && uris.every(isLoopbackUri);
}

/** The redirect URIs that have another origin than the document, and are not on the user's own computer. */
export function otherHosts(clientId: string, { redirect_uris: uris }: Pick<ClientMetadata, 'redirect_uris'>): string[] {
  const { origin } = new URL(clientId);
  return uris.filter((uri) => !isLoopbackUri(uri) && new URL(uri).origin !== origin);
}

/** Members that a document may have, and that this service ignores: it fetches nothing for them, and grants no such rights. */
const ignoredMembers = ['sector_identifier_uri', 'request_uris', 'resource_uris', 'uma_profile'];
const secretMembers = ['client_secret', 'client_secret_expires_at'] as const;

/** Parses a document. @throws OAuthError invalid_request, invalid_client_metadata */
export function parseDocument(clientId: string, text: string): Record<string, unknown> {
  const value = parseJson(text, { depth: 16, members: 256 }, 'the document');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidClientMetadata(refusal('document.object', 'client_id'));
  const document = value as Record<string, unknown>;
  if (document['client_id'] !== clientId) throw invalidClientMetadata(refusal('document.client-id', 'client_id'));
  const secret = secretMembers.find((member) => member in document);
  if (secret !== undefined) throw invalidClientMetadata(refusal('document.secret', secret));
  return document;
}

/**
 * Validates a document as a registration. A document is written for every server, so unknown members and values are left out. Forbidden ones are
 * refused.
 * @param scopes.apiScopes scopes of resources that the client may register
 * @param scopes.kept the present scope of the client, which stays if the document names none
 * @throws OAuthError invalid_redirect_uri, invalid_client_metadata
 */
export function documentMetadata(
  clientId: string,
  document: Record<string, unknown>,
  { apiScopes, kept }: { apiScopes: readonly string[]; kept: string | undefined },
  settings: DocumentSettings,
): ClientMetadata {
  const { token_endpoint_auth_method: method = 'none', jwks_uri: keysAt } = document;
  const allowed = clientAuthenticationMethods.filter(isAllowed(settings));
  if (!namesOf(allowed).some((name) => name === method)) {
    const methods = inWords(allowed.toReversed(), () => true, 'disjunction');
    throw invalidClientMetadata(refusal('document.method', 'token_endpoint_auth_method', { methods }));
  }
  const read = Object.entries(document).filter(([member]) => !ignoredMembers.includes(member));
  const given: Record<string, unknown> = { ...Object.fromEntries(read), token_endpoint_auth_method: method };
  if (!offersCertificates(settings)) delete given['tls_client_certificate_bound_access_tokens'];
  if (isStrings(given['grant_types'])) {
    const known = given['grant_types'].filter((type) => namesOf(grantTypes).includes(type));
    const grant = known.find((type) => !grantTypeOf(type).inDocuments);
    const grants = inWords(grantTypes, ({ inDocuments }) => inDocuments, 'conjunction');
    if (grant !== undefined) throw invalidClientMetadata(refusal('document.grant', 'grant_types', { grants, grant }));
    given['grant_types'] = known;
  }
  if (isStrings(given['response_types']))
    given['response_types'] = given['response_types'].filter((type) => parseResponseType(type) === 'code');
  if (typeof keysAt === 'string' && isWebUri(keysAt) && new URL(keysAt).host !== new URL(clientId).host)
    throw invalidClientMetadata(refusal('document.keys', 'jwks_uri'));
  const allowedScopes = [...registrableScopes(), ...apiScopes];
  const keptScopes = splitScope(kept ?? '');
  const named = typeof given['scope'] === 'string' ? splitScope(given['scope']) : [];
  const asked = named.filter((scope) => allowedScopes.includes(scope));
  // scopes that only an administrator can give stay
  if (asked.length > 0)
    given['scope'] = [...asked, ...keptScopes.filter((scope) => !allowedScopes.includes(scope))].join(' ');
  else if (kept !== undefined) given['scope'] = kept;
  else delete given['scope'];
  // any port of a loopback address, which only a native client may use (RFC 8252 7.3)
  if (isStrings(given['redirect_uris']) && given['redirect_uris'].some((uri) => !/^https:/i.test(uri)))
    given['application_type'] = 'native';
  return parseClientMetadata(given, { apiScopes: [...apiScopes, ...keptScopes], awaitsAdmission: true }, settings);
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');
