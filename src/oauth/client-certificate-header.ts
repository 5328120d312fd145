// Reads the client certificate that a proxy passes on in a header: Client-Cert (RFC 9440 2.2), PEM as nginx writes it, or XFCC as Envoy writes it.

/** The forms of the header. */
export const certificateHeaderFormats = ['rfc9440', 'pem', 'xfcc'] as const;
export type CertificateHeaderFormat = (typeof certificateHeaderFormats)[number];

/** What a header holds: the DER bytes, no certificate, or something that is not exactly one certificate of the form. */
export type HeaderContent = Buffer | 'none' | 'malformed';

/** Reads the value of the header. It does not parse the certificate. */
export function certificateInHeader(value: string, format: CertificateHeaderFormat): HeaderContent {
  const text = value.trim();
  // a proxy sends an empty value for a connection without a certificate
  if (text === '') return 'none';
  if (format === 'rfc9440') return bytesOf(/^:([^:]*):$/.exec(text)?.[1]);
  return format === 'pem' ? certificateInPem(text) : certificateOfLastElement(text);
}

/** Strict base64 (RFC 4648 4), so that one certificate has one form. */
function bytesOf(text: string | undefined): HeaderContent {
  if (text === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return 'malformed';
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : 'malformed';
}

/** One certificate in PEM, percent-encoded. Traefik leaves out the first and the last line. */
function certificateInPem(text: string): HeaderContent {
  let pem: string;
  try {
    pem = decodeURIComponent(text);
  } catch {
    return 'malformed';
  }
  const framed = /^\s*-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----\s*$/.exec(pem);
  return bytesOf((framed?.[1] ?? pem).replace(/\s/g, ''));
}

/**
 * The certificate of the last element, which the proxy next to the service wrote. A client may have sent the elements before it.
 */
function certificateOfLastElement(text: string): HeaderContent {
  const element = splitOutsideQuotes(text, ',')?.at(-1);
  const pairs = element === undefined ? undefined : splitOutsideQuotes(element, ';');
  if (!pairs) return 'malformed';
  const certificates = pairs.flatMap((pair) => {
    const [, name, value] = /^\s*([A-Za-z]+)=(.*?)\s*$/s.exec(pair) ?? [];
    return name?.toLowerCase() === 'cert' ? [value!] : [];
  });
  if (certificates.length === 0) return 'none';
  const quoted = certificates.length === 1 ? /^"(.*)"$/s.exec(certificates[0]!) : null;
  return quoted ? certificateInPem(quoted[1]!) : 'malformed';
}

/** The parts between the separators that are not inside of quotes; undefined if a quote does not end. */
function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] | undefined {
  const parts = [''];
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!;
    if (character === '"') isQuoted = !isQuoted;
    if (character === separator && !isQuoted) parts.push('');
    else if (character === '\\' && isQuoted) parts[parts.length - 1] += character + (text[++index] ?? '');
    else parts[parts.length - 1] += character;
  }
  return isQuoted ? undefined : parts;
}
