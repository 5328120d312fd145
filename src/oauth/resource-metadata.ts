// Writes the metadata of protected resources, and says where each document is published (RFC 9728).
import type { ResourceBinding } from './binding.ts';
import { dpopAlgorithms } from './dpop-proof.ts';

/** The address of a resource's metadata: the well-known part comes before its path (RFC 9728 3.1). Undefined for a URI that is no web address. */
export function resourceMetadataUri(resource: string): string | undefined {
  if (!/^https?:/i.test(resource) || !URL.canParse(resource)) return undefined;
  const { origin, pathname, search } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}${search}`;
}

/** The document of a resource (RFC 9728 2). */
export function resourceMetadata(
  issuer: string,
  {
    resource,
    name,
    scopes,
    binding = 'none',
    certificates = false,
  }: {
    resource: string;
    name?: string;
    scopes: readonly string[];
    binding?: ResourceBinding;
    /** Whether clients can come with certificates. */
    certificates?: boolean;
  },
): Record<string, unknown> {
  // a client asks the authorization server, and not the resource, for offline_access
  const supported = scopes.filter((scope) => scope !== 'offline_access');
  return {
    resource,
    ...(name !== undefined && { resource_name: name }),
    authorization_servers: [issuer],
    ...(supported.length > 0 && { scopes_supported: supported }),
    bearer_methods_supported: ['header'],
    // the keys to which this service binds the tokens
    ...((binding === 'any' || binding === 'dpop') && { dpop_signing_alg_values_supported: dpopAlgorithms }),
    // "any" admits other kinds of key, too
    ...(binding === 'dpop' && { dpop_bound_access_tokens_required: true }),
    ...((certificates || binding === 'mtls') && { tls_client_certificate_bound_access_tokens: true }),
  };
}
