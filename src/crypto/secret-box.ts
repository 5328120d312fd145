// Encryption at rest: AES-256-GCM under keys derived from SECRET_KEY, bound to the place where the ciphertext is stored.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const formatVersion = 1;
const nonceBytes = 12;
const tagBytes = 16;

export interface SecretBox {
  /** Encrypts; `place` names table, column and row, so that a ciphertext moved to another row does not decrypt. */
  seal(plaintext: string | Buffer, place: string): Buffer;
  /** @throws Error when the key, the place or the bytes are not those of seal() */
  open(sealed: Buffer, place: string): Buffer;
  /** A keyed digest for values that the service hands out and must recognise (anti-forgery tokens); never a stored secret. */
  mac(purpose: string, ...parts: string[]): string;
}

/** @param secretKey the setting SECRET_KEY: 32 bytes in base64url */
export function createSecretBox(secretKey: string): SecretBox {
  const root = Buffer.from(secretKey, 'base64url');
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', root, '', `gatehouse ${purpose}`, 32));
  const encryptionKey = derive('encryption at rest');
  const macKey = derive('mac');
  return {
    seal(plaintext, place) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce);
      cipher.setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return Buffer.concat([Buffer.of(formatVersion), nonce, body, cipher.getAuthTag()]);
    },
    open(sealed, place) {
      if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== formatVersion)
        throw new Error('not a sealed value');
      const decipher = createDecipheriv('aes-256-gcm', encryptionKey, sealed.subarray(1, 1 + nonceBytes));
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
      return Buffer.concat([decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes)), decipher.final()]);
    },
    mac(purpose, ...parts) {
      const hmac = createHmac('sha256', macKey).update(purpose);
      for (const part of parts) hmac.update(`\0${part.length}\0`).update(part);
      return hmac.digest('base64url');
    },
  };
}
