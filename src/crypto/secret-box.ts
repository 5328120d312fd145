// Encrypts values at rest with AES-256-GCM (security R29). Each value names the key that encrypted it and is bound to its associated data.
import { createHmac } from 'node:crypto';
import { decrypt, encrypt } from './authenticated-encryption.ts';
import { createHiddenIds, type HiddenIds } from './hidden-ids.ts';
import type { SecretKey } from './secret-key.ts';

export interface SecretBox {
  /**
   * Encrypts with the first key of SECRET_KEY.
   * @param associatedData names table, column and row: a value that is copied to another row does not decrypt. It is a stored format.
   */
  seal(plaintext: string | Buffer, associatedData: string): Buffer;
  /** @throws Error when no key of SECRET_KEY encrypted the value, or its bytes or its associated data are not those of seal() */
  open(sealed: Buffer, associatedData: string): Buffer;
  /** A keyed digest for values that the service hands out and must recognise (anti-forgery tokens); never a stored secret. */
  mac(purpose: string, ...parts: string[]): string;
  /** The digests that mac() gives under every key of SECRET_KEY, that of the first key first: a value is recognised by any of them. */
  macs(purpose: string, ...parts: string[]): string[];
  /** The numbers of rows, hidden under the first key and read under every key of SECRET_KEY. */
  readonly ids: HiddenIds;
}

/** A sealed value begins with this byte and the 8 bytes of the key's id; the stored function sealed_key_id() reads the same. */
const format = 3;
const headerBytes = 9;

/** @param keys the first encrypts, all decrypt */
export function createSecretBox(keys: readonly [SecretKey, ...SecretKey[]]): SecretBox {
  const [current, ...others] = keys;
  const header = Buffer.concat([Buffer.of(format), Buffer.from(current.id, 'hex')]);
  return {
    seal: (plaintext, associatedData) =>
      Buffer.concat([header, encrypt(current.encryption, plaintext, associatedData)]),
    open(sealed, associatedData) {
      const id = sealed[0] === format ? sealed.toString('hex', 1, headerBytes) : undefined;
      const key = keys.find((one) => one.id === id);
      if (!key) throw new Error('the value was not encrypted with a key of SECRET_KEY');
      return decrypt(key.encryption, sealed.subarray(headerBytes), associatedData);
    },
    mac: (purpose, ...parts) => mac(current, purpose, parts),
    macs: (purpose, ...parts) => keys.map((key) => mac(key, purpose, parts)),
    ids: createHiddenIds([current.hiddenId, ...others.map(({ hiddenId }) => hiddenId)]),
  };
}

function mac(key: SecretKey, purpose: string, parts: string[]): string {
  const text = purpose + parts.map((part) => `\0${part.length}\0${part}`).join('');
  return createHmac('sha256', key.mac).update(text).digest('base64url');
}
