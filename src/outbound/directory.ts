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
  GreaterThanEqualsFilter,
  OrFilter,
  ResultCodeError,
} from 'ldapts';
import {
  addressProblem,
  type Directory,
  type DirectoryAddress,
  type DirectoryConnection,
  type DirectoryEntry,
  type DirectoryFailure,
  type DirectoryFilter,
  type DirectorySearch,
  DirectoryUnavailable,
} from './directory-address.ts';
import { readRanges } from './directory-ranges.ts';

export * from './directory-address.ts';

/** Milliseconds for a connection, and for each operation on it. */
const timeout = 5_000;
const invalidCredentials = 49;
/** The result codes by which a directory says that a search found more than it returns: timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded. */
const limitCodes = [3, 4, 11];

/** @param allowed host:port of the directories that the operator allows */
export function createDirectory(allowed: readonly string[]): Directory {
  async function open(address: DirectoryAddress): Promise<Client> {
    const problem = addressProblem(address, allowed);
    if (problem) throw new DirectoryUnavailable('address', `the address of the directory is refused: ${problem}`);
    const plain = plainAnswers();
    const client = new Client({
      url: address.url,
      timeout,
      connectTimeout: timeout,
      // with this option the library begins with TLS, even if the scheme is ldap
      ...(/^ldaps:/i.test(address.url) && { tlsOptions: secure(address) }),
      createConnection: once((...given: unknown[]) =>
        plain.read((connect as (...given: unknown[]) => Socket)(...given)),
      ) as typeof connect,
      createSecureConnection: once((...given: unknown[]) => {
        if (address.startTls) plain.requireOne();
        return (connectSecurely as (...given: unknown[]) => TLSSocket)(...given);
      }) as typeof connectSecurely,
    });
    if (address.startTls)
      await attempt('tls', () => client.startTLS(secure(address))).catch((error: unknown) => {
        // the library leaves the plain connection open
        plain.end();
        throw error;
      });
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
 * Lets a client connect once. The library opens a new connection if the first one ends. It would send a password over the new one without the
 * encryption that StartTLS had begun (federation FR32), and search there as an anonymous user, who sees fewer users and groups (federation FR15).
 */
function once<T extends Socket | TLSSocket>(open: (...given: unknown[]) => T): (...given: unknown[]) => T {
  let isOpen = false;
  return (...given) => {
    if (isOpen) throw new DirectoryUnavailable('connection', 'the connection to the directory ended');
    isOpen = true;
    return open(...given);
  };
}

/**
 * Reads what arrives before TLS: it must be the one answer to StartTLS (RFC 4511 4.14.1). The library keeps the rest of a message that has not
 * arrived whole. An attacker on the path to the directory could begin an answer before TLS, and the directory's answers would complete it: the
 * service would accept a wrong password (federation FR32).
 */
function plainAnswers() {
  let read = Buffer.alloc(0);
  let socket: Socket | undefined;
  return {
    read(opened: Socket): Socket {
      socket = opened;
      return opened.on('data', (data) => {
        if (read.length < maxPlain) read = Buffer.concat([read, data]);
      });
    },
    end(): void {
      socket?.destroy();
    },
    requireOne(): void {
      if (!isOneMessage(read))
        throw new DirectoryUnavailable('tls', 'more than the answer to StartTLS arrived before TLS');
    },
  };
}

/** The most octets of the plain answers that are kept. More octets cannot be an answer to StartTLS. */
const maxPlain = 65_536;

/** Whether these are exactly the octets of one message: a sequence with a definite length (RFC 4511 5.1). */
function isOneMessage(octets: Buffer): boolean {
  if (octets.length < 2 || octets[0] !== 0x30) return false;
  const first = octets[1]!;
  if (first < 0x80) return octets.length === 2 + first;
  const count = first - 0x80;
  if (count < 1 || count > 4 || octets.length < 2 + count) return false;
  return octets.length === 2 + count + octets.readUIntBE(2, count);
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
  // the answer is complete, so a broken connection does not matter
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
  async values(entry, attribute) {
    const read = async (name: string) => {
      const options = { scope: 'base' as const, derefAliases: 'never' as const, attributes: [name] };
      const found = await attempt('search', () => client.search(entry.dn, options));
      return found.searchEntries[0] ? entryOf(found.searchEntries[0]).attributes : new Map<string, string[]>();
    };
    const values = await readRanges(entry.attributes, attribute, read);
    if (!values) throw new DirectoryUnavailable('search', `the parts of ${attribute} do not follow each other`);
    return values;
  },
});

const optionsOf = ({ filter, scope = 'sub', attributes, binary = [] }: Omit<DirectorySearch, 'limit'>) => ({
  filter: filterOf(filter),
  scope,
  // an alias could return another entry than the one whose password the service tries
  derefAliases: 'never' as const,
  attributes: [...attributes],
  explicitBufferAttributes: [...binary],
});

function filterOf(filter: DirectoryFilter): Filter {
  if ('text' in filter) return FilterParser.parseString(filter.text);
  if ('rule' in filter)
    return new ExtensibleFilter({ matchType: filter.attribute, rule: filter.rule, value: filter.value });
  if ('least' in filter) return new GreaterThanEqualsFilter({ attribute: filter.attribute, value: filter.least });
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
  // errors of the operating system have codes such as ECONNREFUSED or ENOTFOUND, errors of certificates CERT_HAS_EXPIRED or ERR_TLS_…
  const isTls = failure === 'tls' || (code !== undefined && (code === 'EPROTO' || !/^E[A-Z]+$/.test(code)));
  return new DirectoryUnavailable(isTls ? 'tls' : 'connection', message, { cause: error });
}

/** The number that Active Directory writes into the diagnostic message of a refused bind (RFC 4511 4.1.9): `… data 532, v4563`. */
const activeDirectoryCode = (diagnostic: string): string | undefined =>
  /\bdata ([0-9a-f]{3,4}),/i.exec(diagnostic)?.[1];
