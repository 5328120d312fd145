// Opaque tokens: 256 random bits with a type prefix and a checksum, so that a malformed one is told without the database (security R13, R18, R30, R78).
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

export interface OpaqueToken {
  /** The value that its holder gets; never stored, never logged. */
  token: string;
  /** What is stored: a SHA-256, separated by kind (security R26, R27). */
  hash: Buffer;
}

const form = /^gh(?:ac|at|ch|rt|ra|ia|rc|se|pr|kb|ml)_[A-Za-z0-9_-]{49}$/;
const randomLength = 43;
const kinds = new Map<string, OpaqueTokenKind>(
  Object.entries(tokenPrefixes).map(([kind, prefix]) => [prefix, kind as OpaqueTokenKind]),
);
/** Where a checksum is written before it is read: a buffer of its own costs more than the sum. */
const scratch = Buffer.alloc(4);

export function newOpaqueToken(kind: OpaqueTokenKind): OpaqueToken {
  const body = tokenPrefixes[kind] + randomSecret();
  const token = body + checksum(body);
  return { token, hash: digest(kind, token) };
}

/** The digest under which a token of this kind is stored, or undefined when the text cannot be one (security R27, R30). */
export function opaqueTokenHash(kind: OpaqueTokenKind, text: string): Buffer | undefined {
  return opaqueTokenKind(text) === kind ? digest(kind, text) : undefined;
}

/** Which kind of token a text has the form of; undefined when this service could never have issued it. */
export function opaqueTokenKind(text: string): OpaqueTokenKind | undefined {
  if (!form.test(text)) return undefined;
  const body = text.slice(0, 5 + randomLength);
  if (checksum(body) !== text.slice(5 + randomLength)) return undefined;
  return kinds.get(text.slice(0, 5));
}

/** CRC-32 of prefix and random part: six characters of base64url. */
function checksum(body: string): string {
  scratch.writeUInt32BE(crc32(body));
  return scratch.toString('base64url');
}
