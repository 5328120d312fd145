// Checks an XML text before any parser sees it: its size, count, depth and characters, and that it has only what messages need (federation FR24).
import { SamlRefused } from '../refused.ts';

export const maxBytes = 262_144;
const maxElements = 1000;
const maxDepth = 32;
const maxAttributes = 50;
const maxAttributesInAll = 4000;

const qualifiedName = '[A-Za-z_][\\w.-]*(?::[A-Za-z_][\\w.-]*)?';
const opening = new RegExp(`<(${qualifiedName})`, 'y');
const attribute = new RegExp(`[ \\t\\r\\n]+(${qualifiedName})[ \\t\\r\\n]*=[ \\t\\r\\n]*("[^"<]*"|'[^'<]*')`, 'y');
const openingEnd = /[ \t\r\n]*(\/?)>/y;
const closing = new RegExp(`</(${qualifiedName})[ \\t\\r\\n]*>`, 'y');
const declaration =
  /^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(["'])1\.0\1(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(["'])utf-8\2)?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(["'])(?:yes|no)\3)?[ \t\r\n]*\?>/i;
const reference = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));/y;
/** The characters that XML 1.0 allows (XML 1.0 2.2). */
const otherCharacter = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
/** An id is compared as it stands: it holds no reference, and no quotation mark for a path. */
const idValue = /^[A-Za-z_][\w.-]{0,255}$/;

const form = (message: string) => new SamlRefused('form', message);
const weight = (message: string) => new SamlRefused('weight', message);

/** Reads UTF-8, without a mark at its start. @throws SamlRefused */
export function decoded(bytes: Uint8Array): string {
  if (bytes.byteLength > maxBytes) throw weight('the message is too large');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new SamlRefused('form', 'the message is not UTF-8', error);
  }
}

/**
 * Admits a text, or refuses it. There is no DOCTYPE, processing instruction, CDATA section or comment: none can cut a value, or name another file.
 * @param options `comments` admits comments, as published metadata has them
 * @returns the text without its XML declaration
 * @throws SamlRefused
 */
export function admitted(given: string, { comments = false }: { comments?: boolean } = {}): string {
  if (Buffer.byteLength(given) > maxBytes) throw weight('the message is too large');
  if (otherCharacter.test(given)) throw form('a character is not one of XML');
  const text = withoutBlanksAround(given.replace(declaration, ''));
  const open: string[] = [];
  const ids = new Set<string>();
  let [at, elements, attributes, isComplete] = [0, 0, 0, false];
  while (at < text.length) {
    const next = text.indexOf('<', at);
    const run = text.slice(at, next < 0 ? text.length : next);
    if (open.length === 0 && (/[^ \t\r\n]/.test(run) || next < 0)) throw form('there is text outside of the root');
    admitText(run);
    if (next < 0) throw form('an element has no end');
    at = comments ? afterComment(text, next) : next;
    if (at !== next) continue;
    if (isComplete) throw form('there are two roots');
    at = text[at + 1] === '/' ? endTag() : startTag();
    isComplete = open.length === 0;
  }
  if (!isComplete) throw form('there is no root, or it has no end');
  return text;

  function startTag(): number {
    opening.lastIndex = at;
    const name = opening.exec(text)?.[1];
    if (name === undefined) throw form('there is markup that is no element');
    elements += 1;
    if (elements > maxElements) throw weight('there are too many elements');
    const names = new Set<string>();
    let end = opening.lastIndex;
    for (;;) {
      attribute.lastIndex = end;
      const found = attribute.exec(text);
      if (!found) break;
      end = attribute.lastIndex;
      admitAttribute(found[1]!, found[2]!.slice(1, -1), names);
    }
    openingEnd.lastIndex = end;
    const closed = openingEnd.exec(text);
    if (!closed) throw form('a start tag is not well-formed');
    if (open.length >= maxDepth) throw weight('the elements are nested too deeply');
    if (closed[1] === '') open.push(name);
    return openingEnd.lastIndex;
  }

  function endTag(): number {
    closing.lastIndex = at;
    const name = closing.exec(text)?.[1];
    if (name === undefined || name !== open.pop()) throw form('an end tag does not belong to its element');
    return closing.lastIndex;
  }

  function admitAttribute(name: string, value: string, names: Set<string>): void {
    if (names.has(name)) throw form('an element has an attribute twice');
    names.add(name);
    attributes += 1;
    if (names.size > maxAttributes || attributes > maxAttributesInAll) throw weight('there are too many attributes');
    if (/^xmlns:xml(ns)?$/.test(name)) throw form('a namespace takes a reserved name');
    admitText(value);
    if (!/(^|:)id$/i.test(name)) return;
    // another attribute could be taken as the id by another reader (federation FR21)
    if (name !== 'ID' && name !== 'Id') throw form('an id has another name than ID or Id');
    if (!idValue.test(value)) throw form('an id has another form');
    if (ids.has(value)) throw form('two elements have the same id');
    ids.add(value);
  }
}

const isBlank = (character: string | undefined): boolean => character !== undefined && ' \t\r\n'.includes(character);

/** By steps, not by an expression: an expression looks at a run of blanks in the middle again from each of its characters (federation FR24). */
function withoutBlanksAround(text: string): string {
  let [start, end] = [0, text.length];
  while (isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

/** Admits characters with references to the five named characters and to numbers only. */
function admitText(run: string): void {
  if (run.includes(']]>')) throw form('there is the end of a CDATA section');
  for (let at = run.indexOf('&'); at >= 0; at = run.indexOf('&', at + 1)) {
    reference.lastIndex = at;
    const found = reference.exec(run);
    if (!found) throw form('there is an entity');
    const [, , decimal, hex] = found;
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? parseInt(hex, 16) : undefined;
    if (code !== undefined && (code > 0x10ffff || otherCharacter.test(String.fromCodePoint(code))))
      throw form('a reference names no character of XML');
  }
}

/** The position after a comment that begins here; the same position if none does. */
function afterComment(text: string, at: number): number {
  if (!text.startsWith('<!--', at)) return at;
  const end = text.indexOf('--', at + 4);
  if (end < 0 || text[end + 2] !== '>') throw form('a comment is not well-formed');
  return end + 3;
}
