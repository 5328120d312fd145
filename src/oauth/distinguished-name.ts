// Compares the subject of a certificate with a registered distinguished name, attribute by attribute (RFC 4514, RFC 8705 2.1.2).

/** A relative distinguished name: its attributes as `type=value`, in a fixed order. */
type RelativeName = readonly string[];

/** The attribute types by their object identifiers, with the names that they have in distinguished names. */
const attributeTypes: Readonly<Record<string, readonly string[]>> = {
  '2.5.4.3': ['cn', 'commonname'],
  '2.5.4.4': ['sn', 'surname'],
  '2.5.4.5': ['serialnumber'],
  '2.5.4.6': ['c', 'countryname'],
  '2.5.4.7': ['l', 'localityname'],
  '2.5.4.8': ['st', 'stateorprovincename'],
  '2.5.4.9': ['street', 'streetaddress'],
  '2.5.4.10': ['o', 'organizationname'],
  '2.5.4.11': ['ou', 'organizationalunitname'],
  '2.5.4.12': ['title'],
  '2.5.4.13': ['description'],
  '2.5.4.15': ['businesscategory'],
  '2.5.4.17': ['postalcode'],
  '2.5.4.42': ['gn', 'givenname'],
  '2.5.4.43': ['initials'],
  '2.5.4.97': ['organizationidentifier'],
  '0.9.2342.19200300.100.1.1': ['uid', 'userid'],
  '0.9.2342.19200300.100.1.25': ['dc', 'domaincomponent'],
  '1.2.840.113549.1.9.1': ['emailaddress', 'email', 'e'],
  '1.3.6.1.4.1.311.60.2.1.1': ['jurisdictionl', 'jurisdictionlocalityname'],
  '1.3.6.1.4.1.311.60.2.1.2': ['jurisdictionst', 'jurisdictionstateorprovincename'],
  '1.3.6.1.4.1.311.60.2.1.3': ['jurisdictionc', 'jurisdictioncountryname'],
};
const identifiers = new Map(
  Object.entries(attributeTypes).flatMap(([identifier, names]) => names.map((name) => [name, identifier] as const)),
);

/** Universal tags of strings in BER: UTF8String, PrintableString, IA5String. */
const stringTags = [0x0c, 0x13, 0x16];

/**
 * Parses a distinguished name as RFC 4514 writes it, the most specific relative name first.
 * @returns undefined for a text that is no distinguished name
 */
export function parseDistinguishedName(text: string): RelativeName[] | undefined {
  const names = split(text, ',')?.map(relativeName);
  return names?.every((name) => name !== undefined) ? names : undefined;
}

/** @param subject of a certificate, as node:crypto has it: each relative name on a line of its own, in the order of the certificate */
export function hasSubject(subject: string | undefined, registered: string): boolean {
  const expected = parseDistinguishedName(registered);
  // RFC 4514 2.1: the text has the last relative name of the certificate first
  const found = subject?.split('\n').reverse().map(relativeName);
  if (!expected || !found || found.length !== expected.length) return false;
  return expected.every((name, index) => {
    const other = found[index];
    return other !== undefined && other.length === name.length && name.every((pair, at) => pair === other[at]);
  });
}

/** The attributes of a relative name, which has no order of its own (RFC 4514 2.2). */
function relativeName(text: string): RelativeName | undefined {
  const pairs = split(text, '+')?.map(attribute);
  return pairs?.every((pair) => pair !== undefined) ? pairs.sort() : undefined;
}

/** One attribute, with the object identifier of its type and without the escapes of its value (RFC 4514 2.3, 2.4). */
function attribute(text: string): string | undefined {
  const [, given, encoded = ''] = /^ *([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+) *=(.*)$/s.exec(text) ?? [];
  if (given === undefined) return undefined;
  const type = identifiers.get(given.toLowerCase()) ?? given.toLowerCase();
  const trimmed = encoded.replace(/^ +/, '').replace(/((?:^|[^\\])(?:\\\\)*) +$/, '$1');
  const value = trimmed.startsWith('#') ? valueOfHex(trimmed.slice(1)) : unescaped(trimmed);
  return value === undefined || value === '' ? undefined : `${type}=${value}`;
}

/** Splits at a separator that is not escaped; undefined if an escape is cut off. */
function split(text: string, separator: ',' | '+'): string[] | undefined {
  const parts = [''];
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!;
    if (character === separator) parts.push('');
    else if (character !== '\\') parts[parts.length - 1] += character;
    else if (index + 1 < text.length) parts[parts.length - 1] += character + text[++index];
    else return undefined;
  }
  return parts;
}

/** The value without escapes: a backslash before a special character, or before two hexadecimal digits of a UTF-8 byte. */
function unescaped(text: string): string | undefined {
  const bytes: Buffer[] = [];
  for (let index = 0; index < text.length; index++) {
    const character = String.fromCodePoint(text.codePointAt(index)!);
    if (character !== '\\') {
      // these must be escaped in a value
      if (/["+,;<>\0]/.test(character)) return undefined;
      bytes.push(Buffer.from(character));
      index += character.length - 1;
    } else if (/^[0-9A-Fa-f]{2}$/.test(text.slice(index + 1, index + 3))) {
      bytes.push(Buffer.from(text.slice(index + 1, index + 3), 'hex'));
      index += 2;
    } else if (/^[ "#+,;<=>\\]$/.test(text[index + 1] ?? '')) bytes.push(Buffer.from(text[++index]!));
    else return undefined;
  }
  return textOf(Buffer.concat(bytes));
}

/** The value of a string in BER, in hexadecimal digits (RFC 4514 2.4). Other types than short strings have no place in a subject. */
function valueOfHex(digits: string): string | undefined {
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(digits)) return undefined;
  const [tag, length, ...content] = Buffer.from(digits, 'hex');
  if (!stringTags.includes(tag!) || length === undefined || length > 127 || length !== content.length) return undefined;
  return textOf(Buffer.from(content));
}

function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : undefined;
}
