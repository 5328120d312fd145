// Password hashes in the forms of other products are converted and verified. Each was computed by Python: hashlib 3.11 (PBKDF2),
// cryptography 48 (Argon2), crypt (bcrypt of glibc's libxcrypt).
import { expect, test } from 'vitest';
import { dummyHashLike } from '../../src/crypto/dummy-hashes.ts';
import { storedHash } from '../../src/crypto/hash-forms.ts';
import { createPasswordHashing, isUsableHash } from '../../src/crypto/password-hashing.ts';
import { readUserRecord } from '../../src/rules/users/user-record.ts';

const password = 'Grüße an Łukasz 🔑';
const salt = 'MDEyMzQ1Njc4OWFiY2RlZg==';

/** As `kc.sh export` writes the credential of a user. */
const keycloak = (algorithm: string, hashIterations: number, value: string, additionalParameters = {}) => ({
  id: '5b5d8a63-8c2b-4b0e-a6a3-5a0d32c3a1de',
  type: 'password',
  createdDate: 1754906400000,
  secretData: JSON.stringify({ value, salt, additionalParameters: {} }),
  credentialData: JSON.stringify({ hashIterations, algorithm, additionalParameters }),
});
const argon2 = { hashLength: ['32'], memory: ['7168'], type: ['id'], version: ['1.3'], parallelism: ['1'] };
const sha1 = 'U8VJSj6m5nQi+I9qFVr30RqEOrlfNNMEWbW/q+jaaFCcHKTvFiQE5RkGCM2fnPFQRUpJk4ApAN4WeaFMs/ho1w==';
const sha256 = 'SF6tKk6vPzGgjq1KKRxAhTOpCk8F880BogJ5r1KgzIlyeyUlkBtO5dwPt7hph9tzIUdaPFOkp20zhpUzASccMQ==';
const sha512 = 'Rql3a7j6/OLJc+mxtdxhil13FrUvi5yJeoP8Z5bX1Yrd5p/twoF0Y19gOxtn/dysT404O5WSt2xNXfV3Gxm7PQ==';
const ofBcrypt = '$2b$04$abcdefghijklmnopqrstuuL6Di0VX3Qa1rANHsOMrYuCDM5t6GrnK';

const hashes = {
  'Keycloak PBKDF2, SHA-1': keycloak('pbkdf2', 1000, sha1),
  'Keycloak PBKDF2, SHA-256': keycloak('pbkdf2-sha256', 1000, sha256),
  'Keycloak PBKDF2, SHA-512': keycloak('pbkdf2-sha512', 1000, sha512),
  'Keycloak Argon2': keycloak('argon2', 5, 'RUdm/PdvZbOUVQFINRrbCbjdECxSeUhaVDWK8/QS52M=', argon2),
  'Keycloak as text': JSON.stringify(keycloak('pbkdf2-sha256', 1000, sha256)),
  'Auth0 bcrypt': ofBcrypt,
  'Authelia Argon2':
    '$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$uAoTRq0+/xPN4ep6iFHG4djRCIA9U4ecy1B5ZsxsvIo',
  'Authelia PBKDF2': `$pbkdf2-sha512$1000$MDEyMzQ1Njc4OWFiY2RlZg$${sha512.replaceAll('+', '.').replaceAll('=', '')}`,
  'Django PBKDF2': 'pbkdf2_sha256$1000$0123456789abcdef$SF6tKk6vPzGgjq1KKRxAhTOpCk8F880BogJ5r1KgzIk=',
  'Django Argon2':
    'argon2$argon2id$v=19$m=102400,t=2,p=8$MDEyMzQ1Njc4OWFiY2RlZg$aYYXa8qgpHty/lHXeoq9XkUpmMMsCpgALP1LZnPpkss',
  'Django bcrypt': `bcrypt$${ofBcrypt}`,
  'Django bcrypt_sha256': 'bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuurZhOqsxGSqif8106g8Ea/BCYjanv5QW',
  'ASP.NET Core Identity, SHA-1':
    'AQAAAAAAAAPoAAAAEDAxMjM0NTY3ODlhYmNkZWZTxUlKPqbmdCL4j2oVWvfRGoQ6uV800wRZtb+r6NpoUA==',
  'ASP.NET Core Identity, SHA-256':
    'AQAAAAEAAAPoAAAAEDAxMjM0NTY3ODlhYmNkZWZIXq0qTq8/MaCOrUopHECFM6kKTwXzzQGiAnmvUqDMiQ==',
  'ASP.NET Core Identity, SHA-512':
    'AQAAAAIAAAPoAAAAEDAxMjM0NTY3ODlhYmNkZWZGqXdruPr84slz6bG13GGKXXcWtS+LnIl6g/xnltfVig==',
};

test.each(Object.entries(hashes))(
  '%s is stored in a form that the right password matches, and is replaced at the first sign-in (pages, imports)',
  async (_product, given) => {
    const record = readUserRecord({ username: 'ada', password_hash: given });
    const stored = storedHash('password_hash' in record ? record.password_hash : undefined)!;
    const passwords = createPasswordHashing();
    expect(await passwords.verify(stored, password)).toEqual({ outdated: true });
    expect(await passwords.verify(stored, `${password}!`)).toBeUndefined();
    // an unknown name costs the same (security R60)
    expect(isUsableHash(dummyHashLike(stored))).toBe(true);
  },
);

test('a bcrypt hash of 72 bytes or more stays, and one of Django that hashes first is replaced (reports A8)', async () => {
  const long = 'a'.repeat(80);
  // crypt.crypt('a' * 80, …), and of the hexadecimal SHA-256 of it
  const plain = '$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe';
  const hashedFirst = 'bcrypt_sha256$$2b$04$abcdefghijklmnopqrstuuPyIqj2wL6Wc7Io3l2fPv18mNiqjX5p.';
  const passwords = createPasswordHashing();
  expect(await passwords.verify(plain, long)).toEqual({ outdated: false });
  expect(await passwords.verify(hashedFirst, long)).toEqual({ outdated: true });
  expect(await passwords.verify(hashedFirst, `${long}a`)).toBeUndefined();
});

test.each([
  ['a thousand million iterations', keycloak('pbkdf2-sha256', 1e9, sha256)],
  ['iterations that are no whole number', keycloak('pbkdf2-sha256', 1000.5, sha256)],
  ['an unknown algorithm', keycloak('pbkdf2-md5', 1000, sha256)],
  ['the name of a property of every object', keycloak('__proto__', 1000, sha256)],
  ['a gigabyte of memory', keycloak('argon2', 5, sha256.slice(0, 43), { ...argon2, memory: ['1048576'] })],
  ['an older version of Argon2', keycloak('argon2', 5, sha256.slice(0, 43), { ...argon2, version: ['1.0'] })],
  ['a value that is cut', keycloak('pbkdf2-sha256', 1000, 'AAAA')],
  ['data that is no JSON', { ...keycloak('pbkdf2-sha256', 1000, sha256), secretData: '{' }],
  ['a list', []],
  ['SHA-512 crypt', '$6$rounds=50000$0123456789abcdef$abc'],
  [
    'ASP.NET with an unknown digest',
    'AQAAAAkAAAPoAAAAEDAxMjM0NTY3ODlhYmNkZWZIXq0qTq8/MaCOrUopHECFM6kKTwXzzQGiAnmvUqDMiQ==',
  ],
  [
    'ASP.NET with a salt beyond its end',
    'AQAAAAEAAAPo/////zAxMjM0NTY3ODlhYmNkZWZIXq0qTq8/MaCOrUopHECFM6kKTwXzzQGiAnmvUqDMiQ==',
  ],
])('a hash with %s is refused (security R58)', (_fault, given) => {
  expect(storedHash(given)).toBeUndefined();
});
