// Writes the identity of a user as headers for the application behind a proxy (federation 13).

/** The headers by which a protected site learns who its user is. A proxy removes all of them from incoming requests. */
export const identityHeaders = [
  'remote-user',
  'remote-groups',
  'remote-email',
  'remote-name',
  'x-gatehouse-assertion',
] as const;
export type IdentityHeader = (typeof identityHeaders)[number];
/** The header with a signed statement. */
export const assertionHeader = 'x-gatehouse-assertion';

export interface SiteUser {
  username: string;
  /** Only a confirmed one. */
  email: string | undefined;
  name: string | undefined;
  groups: readonly string[];
}

/** Bytes; proxies refuse responses with larger headers. */
const maxGroups = 4096;

/** Percent-encodes what is not ASCII, and the percent sign, so that the value can be decoded; and a brace, which begins a placeholder of Caddy. */
const encoded = (text: string): string =>
  // a lone surrogate has no encoding
  text.toWellFormed().replace(/[^ -~]|[%{]/gu, encodeURIComponent);

/** The groups as a list with commas; undefined if there are none, or too many for a header: an incomplete list would mislead the application. */
function groupsOf(groups: readonly string[]): string | undefined {
  const list = groups.map((group) => encoded(group).replaceAll(',', '%2C')).join(',');
  return list === '' || list.length > maxGroups ? undefined : list;
}

/** The values of the headers that are wanted and have one, without the assertion. */
export function identityOf(user: SiteUser, wanted: readonly string[]): Record<string, string> {
  const values: Partial<Record<IdentityHeader, string | undefined>> = {
    'remote-user': encoded(user.username),
    'remote-groups': groupsOf(user.groups),
    'remote-email': user.email && encoded(user.email),
    'remote-name': user.name && encoded(user.name),
  };
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, string] => wanted.includes(entry[0]) && entry[1] !== undefined,
    ),
  );
}
