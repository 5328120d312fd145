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

/**
 * Whether every name in a JSON text is unique in its object (RFC 8259 4: else "the behavior of software that receives such
 * an object is unpredictable"). Each member of the text has one colon outside strings: a value with fewer members than
 * colons has lost one.
 * @param value the result of JSON.parse
 */
export function hasUniqueNames(text: string, value: unknown): boolean {
  let colons = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    // a valid text has backslashes only in strings
    if (character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (character === ':' && !quoted) colons++;
  }
  return colons === countMembers(value);
}

/** Levels of nesting, and members of all objects together. */
export interface JsonLimits {
  depth: number;
  members: number;
}

/**
 * Parses a JSON text (security R48, R103).
 * @param what names the text in a refusal, such as 'the body'
 * @throws OAuthError invalid_request
 */
export function parseJson(text: string, limits: JsonLimits, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidRequest(`${what} is not JSON`);
  }
  check(value, 1, limits, what);
  if (countMembers(value) > limits.members) throw invalidRequest(`${what} has more than ${limits.members} members`);
  if (!hasUniqueNames(text, value)) throw invalidRequest(`${what} contains an object with a repeated member`);
  checkNumbers(text, what);
  return value;
}

const reserved = ['__proto__', 'constructor', 'prototype']; // (security R88)

function check(value: unknown, depth: number, limits: JsonLimits, what: string): void {
  if (typeof value === 'string') checkText(value, what);
  if (typeof value !== 'object' || value === null) return;
  if (depth > limits.depth) throw invalidRequest(`${what} is nested deeper than ${limits.depth} levels`);
  for (const [name, member] of Object.entries(value)) {
    if (reserved.includes(name)) throw invalidRequest(`${what} has a member named ${name}, which is a reserved name`);
    checkText(name, what);
    check(member, depth + 1, limits, what);
  }
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
