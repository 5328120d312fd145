// Converts a password hash from the form of another product to the form in which this service stores and verifies it.
import { isUsableHash } from './password-hashing.ts';

type Values = Record<string, unknown>;

/** Bytes: the length of the digest, which is one block of PBKDF2 (RFC 8018 5.2). */
const blocks: Record<string, number> = { sha1: 20, sha256: 32, sha512: 64 };

/**
 * The hash as it is stored; undefined if the service has no such kind, or verifying it costs too much.
 * @param given a text, or the credential of a user in an export of Keycloak, also as its JSON
 */
export function storedHash(given: unknown): string | undefined {
  const text = typeof given === 'string' ? given : undefined;
  const credential = text?.startsWith('{') ? objectOf(text) : objectOf(given);
  const hash = credential
    ? keycloakHash(credential)
    : text === undefined
      ? undefined
      : (aspNetHash(text) ?? djangoHash(text));
  return hash !== undefined && isUsableHash(hash) ? hash : undefined;
}

/** Django puts the name of its hasher before the hash of another program. */
const djangoHash = (text: string): string => /^(?:argon2(?=\$argon2)|bcrypt\$(?=\$2))(.*)$/.exec(text)?.[1] ?? text;

/** Version 3 of ASP.NET Core Identity: a byte 1, then digest, iterations and length of the salt in four bytes each, the salt, and the key. */
function aspNetHash(text: string): string | undefined {
  if (!/^AQAAA[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const digest = ['sha1', 'sha256', 'sha512'][bytes.readUInt32BE(1)];
  const end = 13 + bytes.readUInt32BE(9);
  return digest && pbkdf2Hash(digest, bytes.readUInt32BE(5), bytes.subarray(13, end), bytes.subarray(end));
}

/** Keycloak has the parameters in `credentialData`, and salt and value in `secretData`, each as a text of JSON. */
function keycloakHash({ credentialData, secretData }: Values): string | undefined {
  const { algorithm, hashIterations, additionalParameters } = objectOf(credentialData) ?? {};
  const { value, salt } = objectOf(secretData) ?? {};
  if (typeof algorithm !== 'string' || typeof value !== 'string' || typeof salt !== 'string') return undefined;
  const [key, salted] = [Buffer.from(value, 'base64'), Buffer.from(salt, 'base64')];
  if (algorithm === 'argon2') return argon2Hash(hashIterations, objectOf(additionalParameters) ?? {}, salted, key);
  const digest = { pbkdf2: 'sha1', 'pbkdf2-sha256': 'sha256', 'pbkdf2-sha512': 'sha512' }[algorithm];
  return digest && pbkdf2Hash(digest, Number(hashIterations), salted, key);
}

/** Each parameter of Keycloak is a list with one text. */
function argon2Hash(passes: unknown, parameters: Values, salt: Buffer, key: Buffer): string | undefined {
  const one = (name: string, usual: string) => String(parameters[name] ?? usual);
  if (one('version', '1.3') !== '1.3') return undefined;
  const costs = `m=${one('memory', '7168')},t=${String(passes)},p=${one('parallelism', '1')}`;
  return `$argon2${one('type', 'id')}$v=19$${costs}$${unpadded(salt)}$${unpadded(key)}`;
}

/** Of several blocks the first one suffices: each costs the same to a guess, and no guess needs a second one. */
function pbkdf2Hash(digest: string, iterations: number, salt: Buffer, key: Buffer): string | undefined {
  const kept = key.subarray(0, blocks[digest]);
  return kept.length < 16 ? undefined : `$pbkdf2-${digest}$${iterations}$${unpadded(salt)}$${unpadded(kept)}`;
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** The object, or that of a text of JSON. */
function objectOf(given: unknown): Values | undefined {
  try {
    const value: unknown = typeof given === 'string' ? JSON.parse(given) : given;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
