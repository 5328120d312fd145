// Verifies the password hashes of imported users: bcrypt, scrypt and PBKDF2. A sign-in of the user replaces the hash.
import { createHash, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import bcrypt from 'bcrypt';

/** Verifies a password against a hash within the bounds, on Node's thread pool and never on the main thread. */
export type ForeignHash = (password: string) => Promise<boolean>;

/**
 * The maximum cost of a hash of any origin, so that an imported row cannot slow down other users (security R58): each takes about half a
 * second at most, and scrypt as much memory as Argon2id.
 */
const foreignBounds = {
  /** The logarithm of bcrypt's rounds. */
  bcryptCost: 13,
  /** Bytes: 128 N r of RFC 7914. */
  scryptMemory: 128 * 1024 * 1024,
  /** N r p of RFC 7914: twice that of the largest memory. */
  scryptWork: 2 * 1024 * 1024,
  /** Iterations. */
  pbkdf2: { sha1: 1_500_000, sha256: 1_500_000, sha512: 700_000 },
};

const deriveScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt);
const derivePbkdf2 = promisify(pbkdf2);

/** bcrypt ignores the bytes of a password after these. */
const maxBcryptBytes = 72;
/** Django's `bcrypt_sha256` hashes the password first, so that bcrypt compares all of it. */
const bcryptForm = /^(bcrypt_sha256\$)?\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const scryptForm = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,4}),p=(\d{1,4})\$([\w+/.-]{1,344})=*\$([\w+/.-]{22,344})=*$/;
const pbkdf2Form = /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,8})\$([\w+/.-]{1,344})=*\$([\w+/.-]{22,344})=*$/;
const djangoForm = /^pbkdf2_(sha1|sha256)\$(\d{1,8})\$([!-#%-~]{1,255})\$([A-Za-z0-9+/]{22,344}=*)$/;

/** The hash, if its kind is known and its cost within the bounds. */
export function readForeignHash(stored: string): ForeignHash | undefined {
  return readBcrypt(stored) ?? readScrypt(stored) ?? readPbkdf2(stored) ?? readDjango(stored);
}

/** $2a$, $2b$ and PHP's $2y$ are the same computation. */
function readBcrypt(stored: string): ForeignHash | undefined {
  const [, hashedFirst, cost] = bcryptForm.exec(stored) ?? [];
  if (!(Number(cost) >= 4 && Number(cost) <= foreignBounds.bcryptCost)) return undefined;
  const hash = `$2b$${stored.slice((hashedFirst?.length ?? 0) + 4)}`;
  return (password) =>
    bcrypt.compare(hashedFirst ? createHash('sha256').update(password).digest('hex') : password, hash);
}

/**
 * Whether a password that matches a hash must be the user's: bcrypt compares 72 bytes only, so what follows them may be anything, and must
 * not be stored as the password.
 */
export function isWholePassword(stored: string, password: string): boolean {
  const bcrypted = bcryptForm.exec(stored);
  return !bcrypted || bcrypted[1] !== undefined || Buffer.byteLength(password) < maxBcryptBytes;
}

/** As Python's passlib writes it: `$scrypt$ln=16,r=8,p=1$salt$hash`. */
function readScrypt(stored: string): ForeignHash | undefined {
  const [, ln, r, p, salt, hash] = scryptForm.exec(stored) ?? [];
  if (hash === undefined) return undefined;
  const [cost, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)];
  const memory = 128 * cost * blockSize;
  if (cost < 2 || blockSize < 1 || parallelization < 1) return undefined;
  if (memory > foreignBounds.scryptMemory) return undefined;
  if (cost * blockSize * parallelization > foreignBounds.scryptWork) return undefined;
  const expected = bytesOf(hash);
  // the memory beside the large table is small
  const parameters = { cost, blockSize, parallelization, maxmem: memory + 128 * blockSize * parallelization + 65_536 };
  return async (password) =>
    isSame(await deriveScrypt(password, bytesOf(salt!), expected.length, parameters), expected);
}

/** As passlib writes it, `$pbkdf2-sha256$29000$salt$hash`; without a digest's name it is SHA-1. */
function readPbkdf2(stored: string): ForeignHash | undefined {
  const [, name = 'sha1', iterations, salt, hash] = pbkdf2Form.exec(stored) ?? [];
  return hash === undefined ? undefined : pbkdf2Of(name, iterations!, bytesOf(salt!), bytesOf(hash));
}

/** As Django writes it, `pbkdf2_sha256$600000$salt$hash`: the salt is text. */
function readDjango(stored: string): ForeignHash | undefined {
  const [, name, iterations, salt, hash] = djangoForm.exec(stored) ?? [];
  return hash === undefined ? undefined : pbkdf2Of(name!, iterations!, Buffer.from(salt!), bytesOf(hash));
}

function pbkdf2Of(name: string, iterations: string, salt: Buffer, expected: Buffer): ForeignHash | undefined {
  const count = Number(iterations);
  // each block of the digest's length costs all iterations again; Keycloak derives two with SHA-256
  const blocks = Math.ceil(expected.length / { sha1: 20, sha256: 32, sha512: 64 }[name]!);
  if (expected.length > 64 || count < 1) return undefined;
  if (count * blocks > foreignBounds.pbkdf2[name as keyof typeof foreignBounds.pbkdf2]) return undefined;
  return async (password) => isSame(await derivePbkdf2(password, salt, count, expected.length, name), expected);
}

/** Base64 with or without padding, also with passlib's `.` for `+`. */
function bytesOf(base64: string): Buffer {
  return Buffer.from(base64.replaceAll('.', '+'), 'base64');
}

function isSame(derived: Buffer, expected: Buffer): boolean {
  return derived.length === expected.length && timingSafeEqual(derived, expected);
}
