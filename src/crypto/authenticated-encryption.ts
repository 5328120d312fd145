// AES-256-GCM with a random nonce: nonce, ciphertext and tag in one value, bound to a text that is not in it.
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/** @param binding what the value is, so that it is none in another place */
export function encrypt(key: KeyObject, plaintext: string | Buffer, binding: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(binding));
  // a string is UTF-8
  const body = Buffer.concat([cipher.update(plaintext as string), cipher.final()]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]);
}

/** @throws Error when the key, the binding or the bytes are not those of encrypt() */
export function decrypt(key: KeyObject, encrypted: Buffer, binding: string): Buffer {
  if (encrypted.length < nonceBytes + tagBytes) throw new Error('not an encrypted value');
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(binding));
  decipher.setAuthTag(encrypted.subarray(-tagBytes));
  return Buffer.concat([decipher.update(encrypted.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}
