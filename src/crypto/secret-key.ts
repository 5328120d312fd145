// Derives from each key of SECRET_KEY its public id and one key per purpose, by HKDF (RFC 5869).
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

export interface SecretKey {
  /** 16 hexadecimal digits that tell this key from another one and reveal nothing else about it. */
  readonly id: string;
  readonly encryption: KeyObject;
  readonly mac: KeyObject;
  readonly dpopNonce: KeyObject;
  readonly hiddenId: KeyObject;
}

/** @param text 32 bytes in base64url, as config.ts has checked them */
export function parseSecretKey(text: string): SecretKey {
  const root = Buffer.from(text, 'base64url');
  return {
    id: derive(root, 'secret key id', 8).toString('hex'),
    encryption: deriveKey(root, 'encryption at rest'),
    mac: deriveKey(root, 'mac'),
    dpopNonce: deriveKey(root, 'dpop nonce'),
    hiddenId: deriveKey(root, 'hidden id'),
  };
}

/** Returns a KeyObject, because node:crypto would make one from bytes in every call, which costs more than the MAC of a cookie. */
export function deriveKey(root: Buffer, purpose: string): KeyObject {
  return createSecretKey(derive(root, purpose, 32));
}

function derive(root: Buffer, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', root, '', `gatehouse ${purpose}`, length));
}
