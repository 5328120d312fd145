// Reads distinguished names (RFC 4514), so that the service can compare the names of entries and groups. A text that is no name is undefined.

/** One attribute and value of a name, such as `cn` and `Staff`. */
interface Part {
  attribute: string;
  value: string;
}

/** The relative names. The entry's own comes first. */
export type DistinguishedName = readonly (readonly Part[])[];

const maxLength = 4_000;

export function readName(text: string): DistinguishedName | undefined {
  if (text.length === 0 || text.length > maxLength) return undefined;
  const names: Part[][] = [];
  for (const relative of split(text, /[,;]/)) {
    const parts: Part[] = [];
    for (const part of split(relative, /\+/)) {
      const equals = part.indexOf('=');
      const attribute = part.slice(0, Math.max(0, equals)).trim().toLowerCase();
      const value = unescaped(part.slice(equals + 1));
      if (!/^(?:oid\.)?[a-z0-9][a-z0-9.-]*$/.test(attribute) || value === undefined || value === '') return undefined;
      parts.push({ attribute, value });
    }
    names.push(parts.sort((a, b) => (a.attribute < b.attribute ? -1 : 1)));
  }
  return names;
}

/** Splits at separators that no backslash precedes. */
function split(text: string, separator: RegExp): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (separator.test(text[at]!)) {
      pieces.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)];
}

/** The value without escapes and outer spaces; undefined for a quoted or malformed value. */
function unescaped(text: string): string | undefined {
  const trimmed = text.replace(/^ +/, '').replace(/(?<!\\) +$/, '');
  if (trimmed.startsWith('"')) return undefined;
  const bytes: Buffer[] = [];
  for (let at = 0; at < trimmed.length; at++) {
    if (trimmed[at] !== '\\') {
      bytes.push(Buffer.from(String.fromCodePoint(trimmed.codePointAt(at)!)));
      if (trimmed.codePointAt(at)! > 0xffff) at++;
      continue;
    }
    const hex = /^[0-9a-f]{2}/i.exec(trimmed.slice(at + 1))?.[0];
    if (hex) bytes.push(Buffer.from(hex, 'hex'));
    else if (at + 1 < trimmed.length) bytes.push(Buffer.from(trimmed[at + 1]!));
    else return undefined;
    at += hex ? 2 : 1;
  }
  const value = Buffer.concat(bytes).toString();
  return value.includes('\0') ? undefined : value;
}

const keyOfRelative = (parts: readonly Part[]) =>
  parts.map(({ attribute, value }) => `${attribute}=${JSON.stringify(value.toLowerCase())}`).join('+');

/** The key of a name. Two spellings of one name have the same key. */
export const keyOfName = (name: DistinguishedName): string => name.map(keyOfRelative).join(',');

/** The key of a name as text. A text that is no name is its own key, which no name has. */
export function nameKey(text: string): string {
  const name = readName(text);
  return name ? keyOfName(name) : text;
}

/** Whether a name is the base, or that of an entry below it. */
export function isWithin(name: DistinguishedName, base: DistinguishedName): boolean {
  const tail = name.slice(name.length - base.length);
  return name.length >= base.length && keyOfName(tail) === keyOfName(base);
}

/** The value of an entry's own name, such as `Staff` for `cn=Staff,ou=groups,dc=example`. */
export const ownValue = (name: DistinguishedName): string => name[0]![0]!.value;
