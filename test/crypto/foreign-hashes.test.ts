// Password hashes of other systems are verified like those systems compute them, and refused if they cost too much.
import { pbkdf2Sync, scryptSync } from 'node:crypto';
import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { expect, test } from 'vitest';
import { createPasswordHashing, isUsableHash } from '../../src/crypto/password-hashing.ts';

const password = 'Grüße an Łukasz 🔑';
const salt = Buffer.from('0123456789abcdef');
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
const adapted = (bytes: Buffer) => base64(bytes).replaceAll('+', '.');
const pbkdf2 = (digest: string, bytes: number) => pbkdf2Sync(password, salt, 1000, bytes, digest);
const blowfish = bcrypt.hashSync(password, 4);

const kinds = {
  'bcrypt $2b$': blowfish,
  'bcrypt $2a$': blowfish.replace('$2b$', '$2a$'),
  'bcrypt $2y$': blowfish.replace('$2b$', '$2y$'),
  argon2i: await argon2.hash(password, { type: argon2.argon2i, memoryCost: 1024, timeCost: 3, parallelism: 1 }),
  argon2d: await argon2.hash(password, { type: argon2.argon2d, memoryCost: 1024, timeCost: 3, parallelism: 1 }),
  'argon2id, weaker': await argon2.hash(password, { memoryCost: 1024, timeCost: 3, parallelism: 1 }),
  scrypt: `$scrypt$ln=10,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 }))}`,
  'PBKDF2 of passlib, SHA-1': `$pbkdf2$1000$${adapted(salt)}$${adapted(pbkdf2('sha1', 20))}`,
  'PBKDF2 of passlib, SHA-256': `$pbkdf2-sha256$1000$${adapted(salt)}$${adapted(pbkdf2('sha256', 32))}`,
  'PBKDF2 of passlib, SHA-512': `$pbkdf2-sha512$1000$${adapted(salt)}$${adapted(pbkdf2('sha512', 64))}`,
  'PBKDF2 with padding, 64 bytes of SHA-256 (Keycloak)': `$pbkdf2-sha256$1000$${salt.toString('base64')}$${pbkdf2('sha256', 64).toString('base64')}`,
  'PBKDF2 of Django': `pbkdf2_sha256$1000$0123456789abcdef$${pbkdf2('sha256', 32).toString('base64')}`,
};

test.each(Object.entries(kinds))(
  '%s is verified, and marked for an upgrade (pages, imports)',
  async (_kind, stored) => {
    const passwords = createPasswordHashing();
    expect(isUsableHash(stored)).toBe(true);
    expect(await passwords.verify(stored, password)).toEqual({ outdated: true });
    expect(await passwords.verify(stored, `${password}!`)).toBeUndefined();
    expect(await passwords.verify(stored, '')).toBeUndefined();
  },
);

test.each([
  ['PBKDF2 (RFC 6070 2)', 'password', '$pbkdf2$4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE'],
  [
    'scrypt (RFC 7914 12)',
    'pleaseletmein',
    `$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$${base64(Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887', 'hex'))}`,
  ],
  ['bcrypt (crypt_blowfish)', 'U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
])('the published test vector of %s is verified', async (_kind, known, stored) => {
  expect(await createPasswordHashing().verify(stored, known)).toBeDefined();
});

test('a hash that costs more than the limit is not usable (security R58)', async () => {
  const end = `${base64(salt)}$${base64(Buffer.alloc(32))}`;
  for (const stored of [
    blowfish.replace('$04$', '$14$'),
    blowfish.replace('$04$', '$31$'),
    blowfish.replace('$04$', '$00$'),
    `$scrypt$ln=18,r=8,p=1$${end}`,
    `$scrypt$ln=17,r=8,p=3$${end}`,
    `$scrypt$ln=99,r=8,p=1$${end}`,
    `$scrypt$ln=1,r=1,p=9999$${end}`.replace('ln=1,', 'ln=20,'),
    `$scrypt$ln=0,r=8,p=1$${end}`,
    `$scrypt$ln=10,r=0,p=1$${end}`,
    `$pbkdf2-sha256$1500001$${end}`,
    `$pbkdf2-sha256$0$${end}`,
    `$pbkdf2-sha256$1000000$${base64(salt)}$${base64(Buffer.alloc(64))}`,
    `$pbkdf2-md5$1000$${end}`,
    `pbkdf2_sha256$99999999$salt$${Buffer.alloc(32).toString('base64')}`,
    `$argon2id$v=19$m=131072,t=5,p=1$${end}`,
    '$5$rounds=5000$salt$hash',
    '$1$salt$hash',
    'password',
    '',
  ])
    expect(isUsableHash(stored), stored).toBe(false);
});
