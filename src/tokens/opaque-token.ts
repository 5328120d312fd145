// Opaque tokens: a type prefix, 256 random bits and a checksum, by which a malformed one is told without the database (security R13, R18, R30, R78).
import { crc32 } from 'node:zlib';
import { digest, randomSecret } from '../crypto/secrets.ts';

/** Each kind of opaque token and its published prefix. */
export const tokenPrefixes = {
  authorization_code: 'ghac_',
  access_token: 'ghat_',
  client_session_handle: 'ghch_',
  refresh_token: 'ghrt_',
  registration_access_token: 'ghra_',
  initial_access_token: 'ghia_',
  registration_code: 'ghrc_',
  session: 'ghse_',
  pushed_authorization_request: 'ghpr_',
  known_browser: 'ghkb_',
  mailed_link: 'ghml_',
} as const;
export type OpaqueTokenKind = keyof typeof tokenPrefixes;

/**
 * Those of which there are most say before the random part when they were made. Their rows stand in an index in the order of time: new ones
 * come to the same few pages, whatever the size of the table. By a digest alone each changes another page, and the log gets it whole.
 */
const timed: ReadonlySet<OpaqueTokenKind> = new Set([
  'access_token',
  'refresh_token',
  'client_session_handle',
  'session',
  'known_browser',
]);

export interface OpaqueToken {
  /** The value that its holder gets; never stored, never logged. */
  token: string;
  /** What is stored: a SHA-256, separated by kind, of one that says its time after that (security R26, R27). */
  hash: Buffer;
}

const form = /^gh(?:ac|at|ch|rt|ra|ia|rc|se|pr|kb|ml)_(?:[A-Za-z0-9_-]{8})?[A-Za-z0-9_-]{49}$/;
const prefixLength = 5;
const timeLength = 8;
const randomLength = 43;
const checksumLength = 6;
const timedLength = prefixLength + timeLength + randomLength + checksumLength;
/** Bytes of the time: milliseconds since 1970, as UUIDs of version 7 have them (RFC 9562 5.7). */
const timeSize = 6;
const kinds = new Map<string, OpaqueTokenKind>(
  Object.entries(tokenPrefixes).map(([kind, prefix]) => [prefix, kind as OpaqueTokenKind]),
);
/** Where a checksum and a time are written before they are read: a buffer of its own costs more than the sum. */
const scratch = Buffer.alloc(4);
const timeBytes = Buffer.alloc(timeSize);

/** @param time when it is made, in milliseconds since 1970 */
export function newOpaqueToken(kind: OpaqueTokenKind, time = Date.now()): OpaqueToken {
  let body: string = tokenPrefixes[kind];
  if (timed.has(kind)) {
    timeBytes.writeUIntBE(time, 0, timeSize);
    body += timeBytes.toString('base64url');
  }
  body += randomSecret();
  const token = body + checksum(body);
  return { token, hash: hashOf(kind, token) };
}

/** The digest under which a token of this kind is stored, or undefined when the text cannot be one (security R27, R30). */
export function opaqueTokenHash(kind: OpaqueTokenKind, text: string): Buffer | undefined {
  return opaqueTokenKind(text) === kind ? hashOf(kind, text) : undefined;
}

/** The first tokens of all kinds had no time. Beside one 208 bits of the digest are left, for which nobody finds another token. */
function hashOf(kind: OpaqueTokenKind, token: string): Buffer {
  const hash = digest(kind, token);
  if (token.length === timedLength) {
    hash.copyWithin(timeSize, 0);
    hash.write(token.slice(prefixLength, prefixLength + timeLength), 'base64url');
  }
  return hash;
}

/** Which kind of token a text has the form of; undefined when this service could never have issued it. */
export function opaqueTokenKind(text: string): OpaqueTokenKind | undefined {
  if (!form.test(text)) return undefined;
  const body = text.slice(0, -checksumLength);
  if (checksum(body) !== text.slice(-checksumLength)) return undefined;
  return kinds.get(text.slice(0, prefixLength));
}

/** CRC-32 of what stands before: six characters of base64url. */
function checksum(body: string): string {
  scratch.writeUInt32BE(crc32(body));
  return scratch.toString('base64url');
}
