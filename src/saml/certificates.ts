// Reads certificates, whose keys are pinned, and makes the certificate that publishes a key of this service.
import { KeyObject, randomBytes, X509Certificate } from 'node:crypto';

export interface PinnedCertificate {
  /** In the usual form: with its two lines, and 64 characters a line. */
  pem: string;
  publicKey: KeyObject;
  subject: string;
  /** SHA-256, as pairs of hexadecimal digits with colons. */
  fingerprint: string;
  notAfter: Date;
}

const minRsaBits = 2048;
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];

/** A certificate as PEM, or as the base64 that metadata has. Undefined for anything else, and for a key that is too weak to be pinned. */
export function readCertificate(text: string): PinnedCertificate | undefined {
  const body =
    /^\s*-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/.exec(text)?.[1] ?? text;
  const base64 = body.replace(/\s+/g, '');
  if (base64.length > 20_000 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  try {
    const read = new X509Certificate(Buffer.from(base64, 'base64'));
    const { publicKey, subject, fingerprint256: fingerprint, validToDate: notAfter } = read;
    if (!isStrong(publicKey)) return undefined;
    return { pem: pemOf(read.raw.toString('base64')), publicKey, subject, fingerprint, notAfter };
  } catch {
    return undefined;
  }
}

function isStrong({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= minRsaBits;
  return type === 'ec' && curves.includes(details?.namedCurve ?? '');
}

const pemOf = (base64: string): string =>
  `-----BEGIN CERTIFICATE-----\n${base64.replace(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`;

/** The base64 of a certificate, as a message has it. */
export const bodyOf = (pem: string): string => pem.replace(/-----[A-Z ]+-----|\s+/g, '');

/** Whether a certificate publishes the public half of a private key. */
export const belongsTo = (pem: string, privateKey: KeyObject): boolean =>
  new X509Certificate(pem).checkPrivateKey(privateKey);

const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const;
const lifetime = 10; // years

/** Makes a key of RSA-3072 that signs and decrypts, with a certificate of ten years that it signs itself. @param name for the reader only */
export async function makeKeyWithCertificate(
  name: string,
  now: Date,
): Promise<{ privateKey: KeyObject; certificate: string }> {
  // a service without SAML need not load this
  await import('reflect-metadata');
  const { X509CertificateGenerator } = await import('@peculiar/x509');
  const keys = await crypto.subtle.generateKey(
    { ...algorithm, modulusLength: 3072, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ['sign', 'verify'],
  );
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + lifetime);
  // positive, and not longer than 20 octets (RFC 5280 4.1.2.2)
  const serialNumber = `01${randomBytes(16).toString('hex')}`;
  const made = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name: [{ CN: [name] }],
    notBefore: now,
    notAfter,
    signingAlgorithm: algorithm,
    keys,
  });
  return {
    privateKey: KeyObject.from(keys.privateKey),
    certificate: pemOf(Buffer.from(made.rawData).toString('base64')),
  };
}
