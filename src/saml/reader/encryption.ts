// Decrypts an assertion that was encrypted for this service, and encrypts one: AES-GCM with RSA-OAEP only (federation 9).
import type { KeyObject } from 'node:crypto';
import { xmlEncryption } from '../libraries.ts';
import { ns } from '../names.ts';
import { SamlRefused } from '../refused.ts';
import { element } from '../writer.ts';
import { childOf, elementsOf, isNamed, textOf, type XmlElement } from './elements.ts';

/** CBC and RSA 1.5 tell by their errors what is inside. */
export const contentAlgorithms = [
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
] as const;
export const keyAlgorithm = 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p';
const sha1 = 'http://www.w3.org/2000/09/xmldsig#sha1';

const refused = (message: string) => new SamlRefused('signature', message);

/** Stands for an assertion that no key decrypts: its signature is refused as every wrong one is (federation FR27). */
const undecrypted = [
  `<a:Assertion xmlns:a="${ns.assertion}" ID="_none" Version="2.0"><s:Signature xmlns:s="${ns.signature}"><s:SignedInfo>`,
  '<s:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>',
  '<s:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>',
  '<s:Reference URI="#_none"><s:Transforms><s:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>',
  '<s:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></s:Transforms>',
  '<s:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><s:DigestValue>AAAA</s:DigestValue></s:Reference>',
  '</s:SignedInfo><s:SignatureValue>AAAA</s:SignatureValue></s:Signature></a:Assertion>',
].join('');

/**
 * Decrypts an EncryptedAssertion. Nothing in it is verified yet.
 * @returns its text, or one that no signature admits if no key decrypts it
 * @throws SamlRefused if it has another form, or names another algorithm
 */
export async function decryptedAssertion(encrypted: XmlElement, keys: readonly KeyObject[]): Promise<string> {
  const text = standardForm(encrypted);
  for (const key of keys) {
    const found = await new Promise<string | undefined>((resolve) =>
      xmlEncryption().decrypt(
        text,
        { key: key.export({ type: 'pkcs8', format: 'pem' }).toString(), disallowDecryptionWithInsecureAlgorithm: true },
        (error, result) => resolve(error ? undefined : result),
      ),
    );
    if (found) return found;
  }
  return undecrypted;
}

/** Writes what was checked in the one form that the library reads: it looks for elements anywhere. */
function standardForm(encrypted: XmlElement): string {
  const data = childOf(encrypted, ns.encryption, 'EncryptedData');
  const all = [...elementsOf(encrypted)];
  const [key, second] = all.filter((one) => isNamed(one, ns.encryption, 'EncryptedKey'));
  if (!data || !key || second) throw refused('there is not one encrypted value with one key');
  const content = methodOf(data);
  if (!(contentAlgorithms as readonly string[]).includes(content.algorithm))
    throw refused('the cipher is not in the list');
  const transport = methodOf(key);
  if (transport.algorithm !== keyAlgorithm || (transport.digest ?? sha1) !== sha1)
    throw refused('the transport of the key is not in the list');
  const value = (text: string) => element('e:CipherData', {}, element('e:CipherValue', {}, text));
  const method = (algorithm: string) => element('e:EncryptionMethod', { Algorithm: algorithm });
  const encryptedKey = element('e:EncryptedKey', {}, [method(transport.algorithm), value(valueOf(key))]);
  return element('e:EncryptedData', { 'xmlns:e': ns.encryption }, [
    method(content.algorithm),
    element('d:KeyInfo', { 'xmlns:d': ns.signature }, encryptedKey),
    value(valueOf(data)),
  ]).xml;
}

function methodOf(of: XmlElement): { algorithm: string; digest: string | undefined } {
  const method = childOf(of, ns.encryption, 'EncryptionMethod');
  const algorithm = method?.attributes.get('Algorithm');
  if (!method || algorithm === undefined) throw refused('an algorithm is missing');
  const others = method.children.filter((one) => !isNamed(one, ns.signature, 'DigestMethod'));
  if (others.length > 0) throw refused('an algorithm has parameters');
  return { algorithm, digest: childOf(method, ns.signature, 'DigestMethod')?.attributes.get('Algorithm') };
}

function valueOf(of: XmlElement): string {
  const data = childOf(of, ns.encryption, 'CipherData');
  const value = data && childOf(data, ns.encryption, 'CipherValue');
  const text = value ? textOf(value).replace(/\s+/g, '') : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw refused('an encrypted value is not base64');
  return text;
}

/** Encrypts an assertion for the holder of a certificate. @param certificate PEM @returns the element EncryptedAssertion */
export async function encryptedAssertion(
  assertion: string,
  certificate: string,
  publicKey: KeyObject,
): Promise<string> {
  const data = await new Promise<string>((resolve, reject) =>
    xmlEncryption().encrypt(
      assertion,
      {
        rsa_pub: publicKey.export({ type: 'spki', format: 'pem' }),
        pem: certificate,
        encryptionAlgorithm: contentAlgorithms[1],
        keyEncryptionAlgorithm: keyAlgorithm,
        disallowEncryptionWithInsecureAlgorithm: true,
      },
      (error, result) => (result === undefined ? reject(error ?? new Error('nothing was encrypted')) : resolve(result)),
    ),
  );
  return `<saml:EncryptedAssertion xmlns:saml="${ns.assertion}">${data}</saml:EncryptedAssertion>`;
}
