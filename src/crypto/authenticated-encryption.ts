// Encrypts with AES-256-GCM under a random nonce: one value holds nonce, ciphertext and tag, and is bound to associated data.
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/** @param associatedData identifies the value, which decrypts with the same text only */
export function encrypt(key: KeyObject, plaintext: string | Buffer, associatedData: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(associatedData));
  // a string is UTF-8
  const body = Buffer.concat([cipher.update(plaintext as string), cipher.final()]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]);
}

/** @throws Error when the key, the associated data or the bytes are not those of encrypt() */
export function decrypt(key: KeyObject, encrypted: Buffer, associatedData: string): Buffer {
  if (encrypted.length < nonceBytes + tagBytes) throw new Error('not an encrypted value');
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(encrypted.subarray(-tagBytes));
  return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}
