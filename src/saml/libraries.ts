// Loads the packages of XML with the first message: a service without SAML spends no memory on them.
import { createRequire } from 'node:module';
import type * as Xmldom from '@xmldom/xmldom';
import type * as XmlCrypto from 'xml-crypto';

const load = createRequire(import.meta.url);

type Done = (error: Error | null, result?: string) => void;
/** What the service uses of the package, which has no types of its own. */
interface XmlEncryption {
  decrypt(xml: string, options: { key: string; disallowDecryptionWithInsecureAlgorithm: true }, done: Done): void;
  encrypt(content: string, options: Record<string, unknown>, done: Done): void;
}

// each cast: what a package exports is known by its types alone
export const xmlParser = () => load('@xmldom/xmldom') as typeof Xmldom;
export const xmlSignatures = () => load('xml-crypto') as typeof XmlCrypto;
export const xmlEncryption = () => load('xml-encryption') as XmlEncryption;
