// Reads the body of an admin route: it refuses unknown members, and takes those that only the service sets with the value that it shows.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { invalidRequest } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';
import type { Answers } from '../operations/answers.ts';
import type { Operation } from '../operations/operation.ts';

type Shape = Readonly<Record<string, z.ZodType>>;
const shapeOf = (schema: z.ZodType | undefined): Shape => (schema as Partial<z.ZodObject> | undefined)?.shape ?? {};

/** The members that a request may have, with their rules. */
const membersOf = ({ documentedInput }: Pick<Operation, 'documentedInput'>, schema: z.ZodType): Shape =>
  shapeOf(documentedInput ?? schema);

/** The members of the answer that no request sets. */
export function readOnlyMembers(
  route: Pick<Operation, 'answer' | 'documentedInput'>,
  schema: z.ZodType,
  answers: Answers,
): string[] {
  const settable = membersOf(route, schema);
  const shown = route.answer === undefined ? {} : shapeOf(answers[route.answer]);
  return Object.keys(shown).filter((member) => !Object.hasOwn(settable, member));
}

/** Loads the schemas of the answers for the few bodies that need them. */
const readOnly = async (route: Pick<Operation, 'answer' | 'documentedInput'>, schema: z.ZodType): Promise<string[]> =>
  readOnlyMembers(route, schema, (await import('../operations/answers.ts')).answers);

/**
 * Returns the members that the route takes.
 * @param shown returns what the route changes, as the service shows it now; undefined if it changes nothing that is shown
 * @throws OAuthError invalid_request
 */
export async function settableMembers(
  route: Pick<Operation, 'answer' | 'documentedInput'>,
  schema: z.ZodType,
  body: unknown,
  shown: (() => Promise<object>) | undefined,
): Promise<unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const rules = membersOf(route, schema);
  const taken: [string, unknown][] = [];
  let current: Readonly<Record<string, unknown>> | undefined;
  for (const [member, value] of Object.entries(body)) {
    const rule = Object.hasOwn(rules, member) ? rules[member] : undefined;
    if (rule?.safeParse(value).success) {
      taken.push([member, value]);
      continue;
    }
    if (!rule && !(await readOnly(route, schema)).includes(member))
      throw invalidRequest(refusal('unknown', /^[\w-]{1,64}$/.test(member) ? member : 'a member'));
    if (!rule && !shown) throw invalidRequest(refusal('made-here', member));
    // as it travels, without members that are undefined
    current ??= shown && (JSON.parse(JSON.stringify(await shown())) as Record<string, unknown>);
    if (current && Object.hasOwn(current, member) && isDeepStrictEqual(current[member], value)) continue;
    if (!rule) throw invalidRequest(refusal('read-only', member));
    taken.push([member, value]);
  }
  return Object.fromEntries(taken);
}
