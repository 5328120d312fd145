// The body of a settings write: which keys are set, which are removed, within the limits of decisions section 5.
import { invalidRequest, OAuthError } from '../../oauth/errors.ts';

const maxKey = 128;
const maxDepth = 16;
const reserved = ['__proto__', 'constructor', 'prototype'];

/** @throws OAuthError invalid_request */
export function readSettings(body: unknown): { set: Record<string, unknown>; remove: string[] } {
  const settings = isObject(body) ? body['settings'] : undefined;
  if (!isObject(settings))
    throw invalidRequest('send {"settings": {key: value}} as application/json'.replaceAll('"', "'"));
  const set: Record<string, unknown> = {};
  const remove: string[] = [];
  for (const [key, value] of Object.entries(settings)) {
    if (key.length < 1 || [...key].length > maxKey || !/^[\P{C}]+$/u.test(key) || reserved.includes(key)) {
      throw invalidRequest(`a key must have 1 to ${maxKey} printable characters and not be reserved`);
    }
    if (value === null) remove.push(key);
    else {
      if (depth(value) > maxDepth) throw invalidRequest(`a value may be nested ${maxDepth} levels deep`);
      set[key] = value;
    }
  }
  if (Buffer.byteLength(JSON.stringify(set)) > 64 * 1024) {
    throw new OAuthError('invalid_request', 'the settings may have 64 KiB in all', 413);
  }
  return { set, remove };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function depth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depth));
}
