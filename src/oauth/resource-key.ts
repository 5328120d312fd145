// Writes a resource URI in the form in which resources are compared (RFC 3986 6.2.2, 6.2.3): the readable form of the SQL function resource_key().

const defaultPorts: Record<string, RegExp> = { https: /:(443)?$/, http: /:(80)?$/ };

/** The scheme and the host in lower case, no default port, and / for an empty path; no more. */
export function resourceKey(uri: string): string {
  const parts = /^([^:/?#]+):\/\/([^/?#]*)(.*)$/.exec(uri);
  if (!parts) return uri.replace(/^[^:]*/, (scheme) => scheme.toLowerCase());
  const [scheme, authority, rest] = [parts[1]!.toLowerCase(), parts[2]!, parts[3]!];
  const user = /^.*@/.exec(authority)?.[0] ?? '';
  const host = authority.slice(user.length).toLowerCase();
  return `${scheme}://${user}${host.replace(defaultPorts[scheme] ?? /:$/, '')}${rest.startsWith('/') ? '' : '/'}${rest}`;
}
