// Reads request parameters by a zod schema: each at most once, and an empty one counts as absent (RFC 6749 3.1, 3.2; security R5, R106).
import { z } from 'zod';
import { invalidRequest } from '../oauth/errors.ts';
import { firstRefusal, sentenceOf } from '../oauth/refusals.ts';
import { text } from '../oauth/text.ts';

export { text };

/** The schema of a form whose fields may be absent. @param fields the most characters of each */
export const textFields = (fields: Readonly<Record<string, number>>): z.ZodType<Record<string, string | undefined>> =>
  z.object(Object.fromEntries(Object.entries(fields).map(([name, max]) => [name, text(max).optional()])));

/**
 * Validates the parameters of a query or a form against a schema; unknown ones are ignored, and none is coerced.
 * @throws OAuthError invalid_request
 */
export function readParameters<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const values = singleValued(input);
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  // only a refusal needs the input beside its reasons
  const { error } = schema.safeParse(values, { reportInput: true });
  throw invalidRequest(`the parameter ${sentenceOf(firstRefusal(error ?? parsed.error, 'given'))}`);
}

/** Whether the parameters name one, with a value. */
export const isNamed = (input: unknown, name: string): boolean => Object.hasOwn(singleValued(input), name);

/** True if every percent-encoding in a query or a form is complete, and the decoded bytes are UTF-8 (RFC 3986 2.1). */
export function isPercentEncoded(encoded: string): boolean {
  if (!encoded.includes('%')) return true;
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}

/** The most of a request whose address declares no others (security R103). */
export const usualParameters = 64;
const longForms = new WeakMap<object, number>();

/** Lets a form have more parameters than other requests: as many as it has fields. */
export function allowLongForm(body: unknown, most: number): void {
  if (typeof body === 'object' && body !== null) longForms.set(body, most);
}

/**
 * Returns the parameters as a plain record of strings, without empty ones. Only `resource` may be repeated (RFC 8707 2): its values are
 * joined by spaces, which no URI contains, so that the code that reads `resource` can refuse them.
 * @throws OAuthError invalid_request for a repeated parameter, or for too many
 */
export function singleValued(input: unknown): Readonly<Record<string, string>> {
  if (typeof input !== 'object' || input === null) return {};
  // a form is read with several schemas, and the record never changes
  const before = (input as Read)[readAs];
  // a copy of the input also has this property, but is another object
  if (before?.of === input) return before.read;
  const read = readOnce(input);
  (input as Read)[readAs] = { of: input, read };
  return read;
}

/** One value of a query, for what a page of an error shows, too: it refuses nothing, and takes no value that is repeated. */
export function valueIn(query: unknown, name: string): string | undefined {
  const value =
    typeof query === 'object' && query !== null
      ? (Object.entries(query).find(([key]) => key === name)?.[1] as unknown)
      : undefined;
  return typeof value === 'string' ? value : undefined;
}

const readAs = Symbol('read as');
type Read = { [readAs]?: { of: object; read: Record<string, string> } };

function readOnce(input: object): Record<string, string> {
  const values: Record<string, string> = {};
  const names = Object.keys(input);
  const most = longForms.get(input) ?? usualParameters;
  if (names.length > most) throw invalidRequest(`more than ${most} parameters`);
  for (const name of names) {
    const value = (input as Record<string, unknown>)[name];
    if (Array.isArray(value) && name === 'resource') values[name] = value.join(' ');
    else if (Array.isArray(value))
      throw invalidRequest(`the parameter ${/^[a-z_-]{1,40}$/.test(name) ? name : 'given'} is repeated`);
    if (typeof value !== 'string' || value === '' || name === '__proto__') continue;
    values[name] = value;
  }
  return values;
}
