// Makes and opens the key of a connection by SAML: this service signs its requests with it, and decrypts assertions (federation 9).
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { SecretBox } from '../../../crypto/secret-box.ts';
import type { Connection } from '../../../entities/connections.ts';
import { associatedDataOf } from '../../../repositories/keys/sealed-values.ts';
import { belongsTo, bodyOf, makeKeyWithCertificate, readCertificate } from '../../../saml/certificates.ts';
import type { SigningKey } from '../../../saml/signing.ts';
import { ConnectionFailure, type ConnectionKey } from '../kind.ts';

/** @param name stands in the certificate */
export async function makeSamlKey(name: string, now: Date): Promise<ConnectionKey> {
  const { privateKey, certificate } = await makeKeyWithCertificate(name, now);
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: { kty: 'RSA', x5c: [bodyOf(certificate)] },
  };
}

/** The private key in a text, if it is an RSA key of at least 2048 bits. */
function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' && key.asymmetricKeyDetails!.modulusLength! >= 2048 ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a secret is the private key of the certificate in the settings. */
export function isKeyOf(pem: string, certificate: unknown): boolean {
  const key = privateKeyIn(pem);
  return key !== undefined && (typeof certificate !== 'string' || belongsTo(certificate, key));
}

type Kept = Pick<Connection, 'id' | 'settings' | 'keyPublic' | 'keyEncrypted' | 'secretEncrypted'>;

/** The certificate that the connection publishes; undefined before it has one. */
export function ownCertificate({ settings, keyPublic }: Kept): string | undefined {
  const own = settings['own_certificate'];
  if (typeof own === 'string') return own;
  const [body] = Array.isArray(keyPublic?.['x5c']) ? (keyPublic['x5c'] as unknown[]) : [];
  return typeof body === 'string' ? readCertificate(body)?.pem : undefined;
}

/** @throws ConnectionFailure */
export function ownKey(secretBox: SecretBox, connection: Kept): SigningKey {
  const { id, settings, keyEncrypted, secretEncrypted } = connection;
  const certificate = ownCertificate(connection);
  const isOwn = typeof settings['own_certificate'] === 'string';
  const sealed = isOwn ? secretEncrypted : keyEncrypted;
  if (!sealed || certificate === undefined) throw new ConnectionFailure('settings', 'the connection has no key');
  const place = associatedDataOf(isOwn ? 'connections.secret_encrypted' : 'connections.key_encrypted', id);
  const privateKey = privateKeyIn(secretBox.open(sealed, place).toString());
  if (!privateKey || !belongsTo(certificate, privateKey))
    throw new ConnectionFailure('settings', 'the key does not belong to the certificate');
  return { privateKey, certificate };
}
