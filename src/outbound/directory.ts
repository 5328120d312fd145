// Talks LDAP to a directory: searches as the service account, and tries a user's password by a bind (RFC 4511).
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import {
  AndFilter,
  Client,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  FilterParser,
  OrFilter,
  ResultCodeError,
} from 'ldapts';

/** Where a directory is, and how the service identifies itself there. */
export interface DirectoryAddress {
  /** `ldaps://host:port`, or `ldap://host:port` with StartTLS; without it only on the machine itself. */
  url: string;
  startTls: boolean;
  /** The certificates (PEM) of the authorities that may vouch for the directory; those of Node without it. */
  ca?: string | undefined;
  /** The service account. */
  bindDn: string;
  bindPassword: string;
}

/** Where the directory failed: at the address, the connection, the encryption, the service account, or the search. */
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
  /** Those of them that are bytes, such as objectGUID. */
  binary?: readonly string[];
  /** The most entries of an answer; a search that finds more fails. */
  limit?: number;
}

/** A filter: text of an administrator, a value of an attribute, or a combination. Values are never pasted into text (federation FR31). */
export type DirectoryFilter =
  | { text: string }
  | { attribute: string; value: string | Buffer }
  /** A value compared by a matching rule, such as that of Active Directory for groups in groups. */
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

/** Milliseconds for a connection, and for each operation on it. */
const timeout = 5_000;
const localHosts = ['localhost', '127.0.0.1', '[::1]'];
const invalidCredentials = 49;
/** The result codes by which a directory says that a search found more than it returns: timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded. */
const limitCodes = [3, 4, 11];

/**
 * Why a directory's address is not acceptable; undefined if it is.
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

/** @param allowed host:port of the directories that the operator allows */
export function createDirectory(allowed: readonly string[]): Directory {
  async function open(address: DirectoryAddress): Promise<Client> {
    const problem = addressProblem(address, allowed);
    if (problem) throw new DirectoryUnavailable('address', `the address of the directory is refused: ${problem}`);
    const client = new Client({
      url: address.url,
      timeout,
      connectTimeout: timeout,
      // with this option the library begins with TLS, whatever the scheme
      ...(/^ldaps:/i.test(address.url) && { tlsOptions: secure(address) }),
      createConnection: once(connect as (...given: unknown[]) => Socket) as typeof connect,
      createSecureConnection: connectSecurely,
    });
    if (address.startTls) await attempt('tls', () => client.startTLS(secure(address)));
    return client;
  }

  return {
    async use(address, work) {
      const client = await open(address);
      try {
        await bindAsService(client, address);
        return await work(connectionOf(client));
      } finally {
        await close(client);
      }
    },
    async verify(address, dn, password) {
      if (password === '' || password.includes('\0')) return { accepted: false, code: undefined };
      const client = await open(address);
      try {
        await client.bind(dn, password);
        return { accepted: true };
      } catch (error) {
        if (error instanceof ResultCodeError && error.code === invalidCredentials)
          return { accepted: false, code: activeDirectoryCode(error.message) };
        throw unavailable('connection', error);
      } finally {
        await close(client);
      }
    },
  };
}

/**
 * Lets a client connect once. The library opens a new connection where the first has ended, and would send a password over it without the
 * encryption that StartTLS had begun (federation FR32).
 */
function once<T extends Socket | TLSSocket>(open: (...given: unknown[]) => T): (...given: unknown[]) => T {
  let isOpen = false;
  return (...given) => {
    if (isOpen) throw new DirectoryUnavailable('connection', 'the connection to the directory ended');
    isOpen = true;
    return open(...given);
  };
}

const secure = ({ url, ca }: DirectoryAddress) => ({
  servername: new URL(url).hostname.replace(/^\[|\]$/g, ''),
  minVersion: 'TLSv1.2' as const,
  ...(ca !== undefined && { ca }),
});

async function bindAsService(client: Client, { bindDn, bindPassword }: DirectoryAddress): Promise<void> {
  try {
    await client.bind(bindDn, bindPassword);
  } catch (error) {
    throw unavailable(error instanceof ResultCodeError ? 'credentials' : 'connection', error);
  }
}

async function close(client: Client): Promise<void> {
  // the answer is complete: a connection that is already broken changes nothing
  await client.unbind().catch(() => undefined);
}

const connectionOf = (client: Client): DirectoryConnection => ({
  async search({ limit = 0, ...search }) {
    const found = await attempt('search', () =>
      client.search(search.base, { ...optionsOf(search), sizeLimit: limit === 0 ? 0 : limit + 1 }),
    );
    if (limit > 0 && found.searchEntries.length > limit)
      throw new DirectoryUnavailable('limit', `the search found more than ${limit} entries`);
    return found.searchEntries.map((entry) => entryOf(entry, search.binary));
  },
  async *pages(search, size) {
    const pages = client.searchPaginated(search.base, { ...optionsOf(search), paged: { pageSize: size } });
    for (;;) {
      const page = await attempt('search', () => pages.next());
      if (page.done) return;
      yield page.value.searchEntries.map((entry) => entryOf(entry, search.binary));
    }
  },
});

const optionsOf = ({ filter, scope = 'sub', attributes, binary = [] }: Omit<DirectorySearch, 'limit'>) => ({
  filter: filterOf(filter),
  scope,
  // an alias could lead to another entry than the one whose password is tried
  derefAliases: 'never' as const,
  attributes: [...attributes],
  explicitBufferAttributes: [...binary],
});

function filterOf(filter: DirectoryFilter): Filter {
  if ('text' in filter) return FilterParser.parseString(filter.text);
  if ('rule' in filter)
    return new ExtensibleFilter({ matchType: filter.attribute, rule: filter.rule, value: filter.value });
  if ('attribute' in filter) return new EqualityFilter(filter);
  return 'all' in filter
    ? new AndFilter({ filters: filter.all.map(filterOf) })
    : new OrFilter({ filters: filter.any.map(filterOf) });
}

/** Whether a text of an administrator is a filter (RFC 4515). */
export function isFilter(text: string): boolean {
  try {
    FilterParser.parseString(text);
    return true;
  } catch {
    return false;
  }
}

/** The library returns one value as a text and several as a list. */
function entryOf(
  { dn, ...given }: Record<string, Buffer | Buffer[] | string[] | string> & { dn: string },
  binaryNames: readonly string[] = [],
): DirectoryEntry {
  const attributes = new Map<string, string[]>();
  const binary = new Map<string, Buffer>();
  const isBinary = new Set(binaryNames.map((name) => name.toLowerCase()));
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase();
    const values = [value].flat() as (Buffer | string)[];
    if (values.length === 0) continue;
    if (isBinary.has(key)) binary.set(key, Buffer.from(values[0]!));
    else attributes.set(key, values.map(String));
  }
  return { dn, attributes, binary };
}

async function attempt<T>(failure: DirectoryFailure, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(failure, error);
  }
}

function unavailable(failure: DirectoryFailure, error: unknown): DirectoryUnavailable {
  if (error instanceof DirectoryUnavailable) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ResultCodeError)
    return new DirectoryUnavailable(limitCodes.includes(error.code) ? 'limit' : failure, message, { cause: error });
  const { code } = error as NodeJS.ErrnoException;
  // the errors of the operating system are called ECONNREFUSED or ENOTFOUND, those of certificates CERT_HAS_EXPIRED or ERR_TLS_…
  const isTls = failure === 'tls' || (code !== undefined && (code === 'EPROTO' || !/^E[A-Z]+$/.test(code)));
  return new DirectoryUnavailable(isTls ? 'tls' : 'connection', message, { cause: error });
}

/** The number that Active Directory writes into the diagnostic message of a refused bind (RFC 4511 4.1.9): `… data 532, v4563`. */
const activeDirectoryCode = (diagnostic: string): string | undefined =>
  /\bdata ([0-9a-f]{3,4}),/i.exec(diagnostic)?.[1];
