// Reads the address of a PostgreSQL as libpq does. What it says about a wrong one completes “The setting NAME …”, and quotes no part that may be secret.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext } from 'node:tls';

/** How a connection is encrypted: `offered` means if the server can. */
export type PostgresTls = ConnectionOptions | false | 'offered';

export interface PostgresAddress {
  /** Without the parameters about TLS, which the driver reads differently. */
  connectionString: string;
  /** A name, an address, or the folder of a socket. */
  host: string;
  port: number;
  /** Undefined if the address says nothing about TLS. */
  tls: PostgresTls | undefined;
}

const encoding =
  'the characters / ? # @ : and % in the user name and the password must be percent-encoded (%2F %3F %23 %40 %3A %25)';
const tlsModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
const tlsFiles = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;
const tlsParameters = ['sslmode', 'uselibpqcompat', ...Object.keys(tlsFiles)];

/** What is wrong with an address; undefined if nothing is. */
export function postgresProblem(address: string): string | undefined {
  const result = read(address);
  return typeof result === 'string' ? result : undefined;
}

/** @param address one without a problem */
export function postgresAddress(address: string): PostgresAddress {
  const result = read(address);
  if (typeof result === 'string') throw new Error('the address of the database was not checked');
  return result;
}

function read(address: string): PostgresAddress | string {
  if (!/^postgres(ql)?:\/\//.test(address)) return 'must start with postgresql://';
  if (/\p{Cc}/u.test(address)) return 'must not contain a line break or another control character';
  // a / or ? or # in the password ends the host early, and the rest of the password would pass for the host
  const afterHost = /^\w+:\/\/[^/?#]*(.*)$/.exec(address)![1]!;
  if (/[@#]/.test(afterHost)) return `must be postgresql://USER:PASSWORD@HOST:PORT/NAME: ${encoding}`;
  const url = parse(address);
  if (!url) return `must be postgresql://USER:PASSWORD@HOST:PORT/NAME: ${encoding}`;
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined;
  const port = Number(parameter('port') ?? (url.port || 5432));
  if (!(Number.isInteger(port) && port >= 1 && port <= 65_535)) return 'must have a port from 1 to 65535';
  const host = parameter('host') ?? decodeURIComponent(url.hostname).replace(/^\[(.+)\]$/, '$1');
  const tls = readTls(parameter, host);
  return typeof tls === 'string' && tls !== 'offered'
    ? tls
    : { connectionString: withoutTls(address), host, port, tls };
}

/** As the driver reads it, which allows a space, a % without digits, and no host. */
function parse(address: string): URL | undefined {
  const text = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(address)
    ? encodeURI(address).replace(/%25(\d\d)/g, '%$1')
    : address;
  try {
    const url = new URL(URL.canParse(text) ? text : text.replace('@/', '@localhost/'));
    for (const part of [url.username, url.password, url.hostname, url.pathname]) decodeURIComponent(part);
    return url;
  } catch {
    return undefined;
  }
}

/** As libpq reads the parameters (PostgreSQL 34.19); a sentence about a wrong one. */
function readTls(
  parameter: (name: string) => string | undefined,
  host: string,
): PostgresTls | undefined | Exclude<string, 'offered'> {
  const mode = parameter('sslmode');
  const files: Partial<Record<'ca' | 'cert' | 'key', string>> = {};
  const systemRoots = parameter('sslrootcert') === 'system';
  for (const [name, member] of Object.entries(tlsFiles)) {
    const file = parameter(name);
    if (file === undefined || (name === 'sslrootcert' && systemRoots)) continue;
    try {
      files[member] = readFileSync(file, 'utf8');
      createSecureContext({ [member]: member === 'key' ? undefined : files[member] });
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      return `names in ${name} the file ${file}, which cannot be read${/^E[A-Z]+$/.test(code) ? ` (${code})` : ' as PEM'}`;
    }
  }
  if (mode === undefined) return Object.keys(files).length > 0 || systemRoots ? verifying(files, host) : undefined;
  if (mode !== 'no-verify' && !tlsModes.includes(mode))
    return `has an unknown sslmode: it is one of ${tlsModes.join(', ')}`;
  // a socket of this machine is never encrypted
  if (mode === 'disable' || host.startsWith('/') || host === '') return false;
  if (mode === 'allow' || mode === 'prefer') return 'offered';
  if (systemRoots && mode !== 'verify-full') return 'requires sslmode=verify-full with sslrootcert=system';
  if (mode === 'verify-full') return verifying(files, host);
  if (files.ca !== undefined) return { ...verifying(files, host), checkServerIdentity: () => undefined };
  return mode === 'verify-ca'
    ? 'requires sslrootcert=FILE with sslmode=verify-ca: the file of the authority that signed the certificate of the server'
    : { ...files, rejectUnauthorized: false };
}

/** Without a file of authorities, those of Node count. The driver does not pass on an IP address, which the certificate must name, too. */
const verifying = (files: ConnectionOptions, host: string): ConnectionOptions => ({
  ...files,
  ...(isIP(host) !== 0 && { host }),
});

function withoutTls(address: string): string {
  const [start, query] = address.split('?') as [string, string?];
  const kept = (query ?? '').split('&').filter((pair) => pair !== '' && !tlsParameters.includes(pair.split('=')[0]!));
  return kept.length > 0 ? `${start}?${kept.join('&')}` : start;
}
