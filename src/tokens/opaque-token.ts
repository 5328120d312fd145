// Makes and reads opaque tokens: a type prefix, 256 random bits and a checksum, so that a malformed token needs no query (security R13, R18, R30, R78).
import { crc32 } from 'node:zlib';
import { digest, randomSecret } from '../crypto/secrets.ts';

/** Each kind of opaque token and its published prefix. */
export const tokenPrefixes = {
  authorization_code: 'ghac_',
  device_code: 'ghdc_',
  auth_req_id: 'ghbc_',
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
  scim_token: 'ghsc_',
  sign_up_link: 'ghsl_',
  site_session: 'ghss_',
} as const;
export type OpaqueTokenKind = keyof typeof tokenPrefixes;

/**
 * The most frequent kinds contain their time of issue before the random part. The index then orders their rows by time, so that new rows
 * change the same few pages, whatever the size of the table. With a digest alone each row would change another page, which PostgreSQL
 * would write to its log as a whole.
 */
const timed: ReadonlySet<OpaqueTokenKind> = new Set([
  'access_token',
  'refresh_token',
  'client_session_handle',
  'session',
  'site_session',
  'known_browser',
]);

export interface OpaqueToken {
  /** The value for the client. It is never stored and never logged. */
  token: string;
  /** The value to store: a SHA-256 that includes the kind, after the time for the timed kinds (security R26, R27). */
  hash: Buffer;
}

const form = /^gh(?:ac|dc|bc|at|ch|rt|ra|ia|rc|se|pr|kb|ml|sc|sl|ss)_(?:[A-Za-z0-9_-]{8})?[A-Za-z0-9_-]{49}$/;
const prefixLength = 5;
const timeLength = 8;
const randomLength = 43;
const checksumLength = 6;
const timedLength = prefixLength + timeLength + randomLength + checksumLength;
/** Bytes of the time: milliseconds since 1970, as in UUIDs of version 7 (RFC 9562 5.7). */
const timeSize = 6;
const kinds = new Map<string, OpaqueTokenKind>(
  Object.entries(tokenPrefixes).map(([kind, prefix]) => [prefix, kind as OpaqueTokenKind]),
);
/** Reused buffers for the checksum and the time: to allocate one costs more than to compute the sum. */
const scratch = Buffer.alloc(4);
const timeBytes = Buffer.alloc(timeSize);

/** @param time the time of issue, in milliseconds since 1970 */
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

/** The digest under which a token of this kind is stored, or undefined when the text is malformed (security R27, R30). */
export function opaqueTokenHash(kind: OpaqueTokenKind, text: string): Buffer | undefined {
  return opaqueTokenKind(text) === kind ? hashOf(kind, text) : undefined;
}

/** The earliest tokens of all kinds have no time. The time leaves 208 bits of the digest, which still prevent a second preimage. */
function hashOf(kind: OpaqueTokenKind, token: string): Buffer {
  const hash = digest(kind, token);
  if (token.length === timedLength) {
    hash.copyWithin(timeSize, 0);
    hash.write(token.slice(prefixLength, prefixLength + timeLength), 'base64url');
  }
  return hash;
}

/** The kind of a token by its form; undefined when this service cannot have issued it. */
export function opaqueTokenKind(text: string): OpaqueTokenKind | undefined {
  if (!form.test(text)) return undefined;
  const body = text.slice(0, -checksumLength);
  if (checksum(body) !== text.slice(-checksumLength)) return undefined;
  return kinds.get(text.slice(0, prefixLength));
}

/** The CRC-32 of the text before it: six characters of base64url. */
function checksum(body: string): string {
  scratch.writeUInt32BE(crc32(body));
  return scratch.toString('base64url');
}
