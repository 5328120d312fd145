// Parses JSON of strangers: bounded in depth and size, without reserved or repeated names, of which JSON.parse silently keeps the last.
import { invalidRequest } from './errors.ts';

/** Counts the members of all objects in a value, without the items of arrays. A loop, so that a deep value cannot exhaust the stack. */
export function countMembers(value: unknown): number {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += members.length;
    for (const member of members) rest.push(member);
  }
  return count;
}

/** Levels of nesting, and members of all objects together. */
export interface JsonLimits {
  depth: number;
  members: number;
}

/**
 * Measures a valid JSON text in one pass, before it is parsed: each member has one colon outside strings. So a body that is refused for its
 * size costs neither the time nor the memory of its values.
 */
function measured(text: string): JsonLimits {
  let [depth, level, members] = [0, 0, 0];
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    // a valid text has backslashes only in strings
    if (character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === ':') members++;
    else if (character === '{' || character === '[') depth = Math.max(depth, ++level);
    else if (character === '}' || character === ']') level--;
  }
  return { depth, members };
}

/**
 * Whether every name in a JSON text is unique in its object (RFC 8259 4: else "the behavior of software that receives such
 * an object is unpredictable"). A value with fewer members than its text has lost one.
 * @param value the result of JSON.parse
 */
export const hasUniqueNames = (text: string, value: unknown): boolean => measured(text).members === countMembers(value);

/** The limits of a body whose address declares no others, its bytes, and those of its JSON (security R103). */
export const usualBody = 64 * 1024;
export const usualJson: JsonLimits = { depth: 16, members: 256 };

/**
 * Parses a JSON text (security R48, R103).
 * @param what names the text in a refusal, such as 'the body'
 * @throws OAuthError invalid_request
 */
export function parseJson(text: string, limits: JsonLimits, what: string): unknown {
  const { depth, members } = measured(text);
  if (depth > limits.depth) throw invalidRequest(`${what} is nested deeper than ${limits.depth} levels`);
  if (members > limits.members) throw invalidRequest(`${what} has more than ${limits.members} members`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidRequest(`${what} is not JSON`);
  }
  if (checked(value, what) !== members) throw invalidRequest(`${what} contains an object with a repeated member`);
  checkNumbers(text, what);
  return value;
}

const reserved = ['__proto__', 'constructor', 'prototype']; // (security R88)

/** Checks the texts of a value and of all that is in it, and returns the members of its objects. */
function checked(value: unknown, what: string): number {
  if (typeof value === 'string') checkText(value, what);
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + checked(one, what), 0);
  let members = 0;
  for (const [name, member] of Object.entries(value)) {
    if (reserved.includes(name)) throw invalidRequest(`${what} has a member named ${name}, which is a reserved name`);
    checkText(name, what);
    members += 1 + checked(member, what);
  }
  return members;
}

/** Refuses a number that JavaScript cannot keep: one beyond its range, or with digits beyond its precision. */
function checkNumbers(text: string, what: string): void {
  if (!/\d{16}|\de/i.test(text)) return;
  JSON.parse(text, (_name, value: unknown, context?: { source?: string }) => {
    if (typeof value === 'number' && !isKept(value, context!.source!)) {
      throw invalidRequest(
        `${what} has a number that cannot be stored exactly: send whole numbers beyond ${Number.MAX_SAFE_INTEGER}, and numbers that are too large or too small, as strings`,
      );
    }
    return value;
  });
}

/** A double keeps fifteen significant digits; RFC 8259 6 promises no more for fractions. */
function isKept(value: number, source: string): boolean {
  const digits = source
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (value === 0) return digits === '';
  return Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || digits.length <= 15);
}

function checkText(value: string, what: string): void {
  if (value.includes('\0') || !value.isWellFormed())
    throw invalidRequest(`${what} contains text that is not well-formed`);
}
