// Declares the requests to a directory, its answers, and the allowed addresses of a directory, without the LDAP library.

/** The address of a directory, and the service account with which the service binds. */
export interface DirectoryAddress {
  /** `ldaps://host:port`, or `ldap://host:port` with StartTLS. Without encryption only on the same machine. */
  url: string;
  startTls: boolean;
  /** The certificates (PEM) of the authorities that the service accepts for the directory; Node's own if undefined. */
  ca?: string | undefined;
  /** The service account. */
  bindDn: string;
  bindPassword: string;
}

/** The step that failed: the address, the connection, the encryption, the bind of the service account, or the search. */
export const directoryFailures = ['address', 'connection', 'tls', 'credentials', 'search', 'limit'] as const;
export type DirectoryFailure = (typeof directoryFailures)[number];

/** The directory gave no usable answer. This says nothing about a user (federation FR33). The message is for the log and has no secret. */
export class DirectoryUnavailable extends Error {
  readonly failure: DirectoryFailure;
  constructor(failure: DirectoryFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export interface DirectoryEntry {
  dn: string;
  /** The values of each attribute, by its name in lower case. */
  attributes: ReadonlyMap<string, readonly string[]>;
  /** The first value of each attribute of `DirectorySearch.binary`, by its name in lower case. */
  binary: ReadonlyMap<string, Buffer>;
}

export interface DirectorySearch {
  base: string;
  filter: DirectoryFilter;
  scope?: 'base' | 'sub';
  /** The attributes to read. */
  attributes: readonly string[];
  /** The attributes among these whose values are bytes, such as objectGUID. */
  binary?: readonly string[];
  /** The most entries of an answer; a search that finds more fails. */
  limit?: number;
}

/** A filter: the text of an administrator, a value of an attribute, or a combination. A value is never pasted into text (federation FR31). */
export type DirectoryFilter =
  | { text: string }
  | { attribute: string; value: string | Buffer }
  /** Values that are greater than or equal to this one. */
  | { attribute: string; least: string }
  /** A value that the directory compares by a matching rule, such as Active Directory's rule for nested groups. */
  | { attribute: string; rule: string; value: string }
  | { all: readonly DirectoryFilter[] }
  | { any: readonly DirectoryFilter[] };

/** The result of a bind as a user. `code` is the number that Active Directory adds to a refusal, such as 532. */
export type BindResult = { accepted: true } | { accepted: false; code: string | undefined };

export interface DirectoryConnection {
  /** @throws DirectoryUnavailable */
  search(search: DirectorySearch): Promise<DirectoryEntry[]>;
  /** Reads all entries, a page at a time. @throws DirectoryUnavailable */
  pages(search: DirectorySearch, size: number): AsyncGenerator<DirectoryEntry[]>;
  /**
   * Reads all values of an attribute of an entry. Active Directory returns many values in parts, and the entry has only the first part.
   * @throws DirectoryUnavailable
   */
  values(entry: DirectoryEntry, attribute: string): Promise<readonly string[]>;
}

export interface Directory {
  /** Connects, binds as the service account, works, and disconnects. @throws DirectoryUnavailable */
  use<T>(address: DirectoryAddress, work: (connection: DirectoryConnection) => Promise<T>): Promise<T>;
  /**
   * Tries a password on a connection of its own.
   * @param password not empty: a directory accepts any name with an empty one (RFC 4513 5.1.2)
   * @throws DirectoryUnavailable
   */
  verify(address: DirectoryAddress, dn: string, password: string): Promise<BindResult>;
}

const localHosts = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The reason to refuse a directory's address; undefined if it is acceptable.
 * @param allowed host:port of the directories that the operator allows (CONNECTIONS_ALLOW)
 */
export function addressProblem(
  { url, startTls }: Pick<DirectoryAddress, 'url' | 'startTls'>,
  allowed: readonly string[],
): 'form' | 'plain' | 'not_allowed' | undefined {
  const parts = /^(ldaps?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(url);
  if (!parts) return 'form';
  const [, scheme, name, port] = parts;
  const isSecure = scheme!.toLowerCase() === 'ldaps';
  if (isSecure && startTls) return 'form';
  const host = name!.toLowerCase();
  if (!isSecure && !startTls && !localHosts.includes(host)) return 'plain';
  return allowed.includes(`${host}:${port ?? (isSecure ? 636 : 389)}`) ? undefined : 'not_allowed';
}
