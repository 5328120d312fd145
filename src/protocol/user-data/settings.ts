// Reads the body of a write of settings: the keys to set and to remove, within the limits of decisions section 5 (security R87).
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';

const maxKey = 128;
const maxKeys = 256;
const maxDepth = 16;
const maxBytes = 64 * 1024; // of compact JSON

/** In bytes: the body may write each byte of the settings as an escape of six, and has members around them. */
export const settingsBodyLimit = 6 * maxBytes + 1024;

/** @throws OAuthError invalid_request */
export function readSettings(body: unknown): { set: Record<string, unknown>; remove: string[] } {
  const settings = isObject(body) ? body['settings'] : undefined;
  if (!isObject(settings))
    throw invalidRequest('send {"settings": {key: value}} as application/json'.replaceAll('"', "'"));
  const entries = Object.entries(settings);
  // a write removes at most all existing keys, and sets at most the maximum number of keys
  if (entries.length > 2 * maxKeys) throw tooLarge();
  const set: Record<string, unknown> = {};
  const remove: string[] = [];
  for (const [key, value] of entries) {
    if (key.length < 1 || [...key].length > maxKey || !/^[\P{C}]+$/u.test(key)) {
      throw invalidRequest(`a key must have 1 to ${maxKey} printable characters`);
    }
    if (value === null) remove.push(key);
    else {
      if (depth(value) > maxDepth) throw invalidRequest(`a value may be nested at most ${maxDepth} levels deep`);
      set[key] = value;
    }
  }
  if (Buffer.byteLength(JSON.stringify(set)) > maxBytes) throw tooLarge();
  return { set, remove };
}

/** The settings would exceed their limits. */
export function tooLarge(): OAuthError {
  return new OAuthError(
    'invalid_request',
    `the settings may have at most ${maxKeys} keys and ${maxBytes / 1024} KiB of compact JSON`,
    413,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function depth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, member) => Math.max(deepest, depth(member)), 0);
}
