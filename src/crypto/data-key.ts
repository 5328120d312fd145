// Data keys: what seals at rest, and how SECRET_KEY wraps them. Every purpose has a key of its own, by HKDF (RFC 5869).
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { decrypt, encrypt } from './authenticated-encryption.ts';

/** 32 bytes, and what is derived of them. */
export interface DataKey {
  readonly version: number;
  readonly root: Buffer;
  readonly encryption: KeyObject;
  readonly mac: KeyObject;
}

const derive = (root: Buffer, purpose: string, length = 32) =>
  Buffer.from(hkdfSync('sha256', root, '', `gatehouse ${purpose}`, length));
/** As the calls of node:crypto use it at once: of bytes they make one each time, and that costs more than the MAC of a cookie. */
const deriveKey = (root: Buffer, purpose: string) => createSecretKey(derive(root, purpose));

export function dataKey(version: number, root: Buffer): DataKey {
  return { version, root, encryption: deriveKey(root, 'encryption at rest'), mac: deriveKey(root, 'mac') };
}

export function newDataKey(version: number): DataKey {
  return dataKey(version, randomBytes(32));
}

/** The first data key of a database whose values were sealed with SECRET_KEY itself, before there were data keys. */
export function dataKeyOfSecretKey(secretKey: string): DataKey {
  return dataKey(1, Buffer.from(secretKey, 'base64url'));
}

/** Tells one SECRET_KEY from another, to anybody, and nothing more: 16 hexadecimal digits. */
export function secretKeyId(secretKey: string): string {
  return derive(Buffer.from(secretKey, 'base64url'), 'secret key id', 8).toString('hex');
}

/** The data key as it is stored under a SECRET_KEY. */
export function wrapDataKey(secretKey: string, { version, root }: DataKey): Buffer {
  return encrypt(wrappingKey(secretKey), root, place(version, secretKey));
}

/** @throws Error when it was wrapped otherwise */
export function unwrapDataKey(secretKey: string, version: number, wrapped: Buffer): DataKey {
  return dataKey(version, decrypt(wrappingKey(secretKey), wrapped, place(version, secretKey)));
}

const wrappingKey = (secretKey: string) => deriveKey(Buffer.from(secretKey, 'base64url'), 'wrapping of data keys');
const place = (version: number, secretKey: string) => `data_key_wrappings.wrapped.${version}.${secretKeyId(secretKey)}`;
