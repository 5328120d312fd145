// Encryption at rest (security R29): AES-256-GCM under a data key, whose version the value names, bound to the place where the value is stored.
import { createHmac } from 'node:crypto';
import { decrypt, encrypt } from './authenticated-encryption.ts';
import type { DataKey } from './data-key.ts';

export interface SecretBox {
  /** Encrypts; `place` names table, column and row, so that a ciphertext moved to another row does not decrypt. */
  seal(plaintext: string | Buffer, place: string): Buffer;
  /** @throws Error when the key, the place or the bytes are not those of seal() */
  open(sealed: Buffer, place: string): Promise<Buffer>;
  /** A keyed digest for values that the service hands out and must recognise (anti-forgery tokens); never a stored secret. */
  mac(purpose: string, ...parts: string[]): string;
  /** The digests that mac() gave under the data keys that are still good: by these a value is recognised, that of today first. */
  macs(purpose: string, ...parts: string[]): string[];
}

export interface DataKeys {
  /** The one that seals. */
  readonly current: DataKey;
  /** All that are good, the one that seals first. */
  readonly all: readonly DataKey[];
  /** One of them; asks the database for a version that is new. */
  find(version: number): Promise<DataKey | undefined>;
}

export function createSecretBox(keys: DataKeys): SecretBox {
  return {
    seal: (plaintext, place) => sealWith(keys.current, plaintext, place),
    async open(sealed, place) {
      const key = await keys.find(sealedWith(sealed));
      if (!key) throw new Error(`the value was sealed with data key ${sealedWith(sealed)}, which is not there`);
      return openWith(key, sealed, place);
    },
    mac: (purpose, ...parts) => macWith(keys.current, purpose, parts),
    macs: (purpose, ...parts) => keys.all.map((key) => macWith(key, purpose, parts)),
  };
}

export function sealWith(key: DataKey, plaintext: string | Buffer, place: string): Buffer {
  return Buffer.concat([header(key.version), encrypt(key.encryption, plaintext, place)]);
}

/** @throws Error when the key, the place or the bytes are not those of sealWith() */
export function openWith(key: DataKey, sealed: Buffer, place: string): Buffer {
  if (sealedWith(sealed) !== key.version) throw new Error('the value was sealed with another data key');
  return decrypt(key.encryption, sealed.subarray(header(key.version).length), place);
}

/** The version of the data key that a value was sealed with; data_key_version() of migration 0020 reads the same. */
export function sealedWith(sealed: Buffer): number {
  return sealed.length > 4 && sealed[0] === 2 ? sealed.readUInt32BE(1) : 1;
}

/** Version 1 is one byte, as values began before there were versions. */
function header(version: number): Buffer {
  if (version === 1) return Buffer.of(1);
  const bytes = Buffer.of(2, 0, 0, 0, 0);
  bytes.writeUInt32BE(version, 1);
  return bytes;
}

function macWith(key: DataKey, purpose: string, parts: string[]): string {
  const text = purpose + parts.map((part) => `\0${part.length}\0${part}`).join('');
  return createHmac('sha256', key.mac).update(text).digest('base64url');
}
