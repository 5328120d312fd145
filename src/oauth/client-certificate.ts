// Reads what the service needs of a client's certificate: its thumbprint, its names, its dates and its public key (RFC 8705).
import { createHash, createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto';

export interface ClientCertificate {
  /** The SHA-256 of its DER bytes, in base64url (RFC 8705 3.1). */
  readonly x5t: string;
  /** Its relative distinguished names, a line for each. */
  readonly subject: string | undefined;
  readonly validFrom: Date;
  readonly validTo: Date;
  /** Its alternative names. */
  alternativeNames(): AlternativeName[];
  /** Whether its public key is that of the JSON Web Key. */
  hasKey(key: Readonly<Record<string, unknown>>): boolean;
}

export interface AlternativeName {
  type: 'dns' | 'uri' | 'ip' | 'email' | 'other';
  value: string;
}

/** The names of the types in the text of node:crypto. */
const nameTypes: Readonly<Record<string, AlternativeName['type']>> = {
  DNS: 'dns',
  URI: 'uri',
  'IP Address': 'ip',
  email: 'email',
};

/** @returns undefined if the bytes are not exactly one certificate */
export function readClientCertificate(der: Buffer): ClientCertificate | undefined {
  try {
    const x509 = new X509Certificate(der);
    // what follows the certificate is not part of it, and text in PEM is not DER
    return x509.raw.equals(der) ? certificateOf(x509) : undefined;
  } catch {
    return undefined;
  }
}

export function certificateOf(x509: X509Certificate): ClientCertificate {
  return {
    x5t: createHash('sha256').update(x509.raw).digest('base64url'),
    subject: x509.subject,
    validFrom: new Date(x509.validFrom),
    validTo: new Date(x509.validTo),
    alternativeNames: () => namesIn(x509.subjectAltName ?? ''),
    hasKey(key) {
      try {
        return x509.publicKey.equals(createPublicKey({ key: key as JsonWebKey, format: 'jwk' }));
      } catch {
        return false;
      }
    },
  };
}

/** Whether the first certificate of a key's `x5c` has this key (RFC 7517 4.7); true for a key without `x5c`. */
export function hasOwnCertificate(key: Readonly<Record<string, unknown>>): boolean {
  const chain = key['x5c'];
  if (chain === undefined) return true;
  const first: unknown = Array.isArray(chain) ? chain[0] : undefined;
  if (typeof first !== 'string') return false;
  return readClientCertificate(Buffer.from(first, 'base64'))?.hasKey(key) ?? false;
}

/**
 * The names in the text that node:crypto makes of them, such as `DNS:a.example, URI:"https://b.example/?x=1, 2"`. It writes a value with
 * special characters as a JSON string, so that no value can pass for two.
 */
function namesIn(text: string): AlternativeName[] {
  const names: AlternativeName[] = [];
  const entry = /([A-Za-z][A-Za-z ]*):(?:"((?:[^"\\]|\\.)*)"|([^",]*))(?:, |$)/gsy;
  while (entry.lastIndex < text.length) {
    const match = entry.exec(text);
    // an unknown form of text names nothing
    if (!match) return [];
    const [, type, quoted, plain] = match;
    names.push({ type: nameTypes[type!] ?? 'other', value: quoted === undefined ? plain! : unquoted(quoted) });
  }
  return names;
}

const unquoted = (text: string): string => JSON.parse(`"${text}"`) as string;
