// Lets a command that changes something empty its members: --unset NAME, for each of them that may be without a value.
import type { z } from 'zod';
import type { Operation } from '../admin/operations/operation.ts';
import { nearestOf } from '../rules/files/near-names.ts';
import { UsageError } from './command.ts';
import { type Field, unsetNameOf } from './options.ts';

/** The fields that a command can empty. */
export async function emptiable(
  { method, answer, internalInput }: Operation,
  fields: readonly Field[],
): Promise<Field[]> {
  if (method !== 'PATCH') return [];
  // loaded for the commands that change something: no other one needs the schemas
  const { answers } = await import('../admin/operations/answers.ts');
  const shown = answer === undefined ? {} : (answers[answer] as z.ZodObject).shape;
  return fields.filter(
    ({ name, kind, empty }) =>
      empty !== undefined &&
      !Object.hasOwn(internalInput?.shape ?? {}, name) &&
      // a flag that no answer shows orders something once
      (kind !== 'flag' || Object.hasOwn(shown, name)),
  );
}

const nameOf = (field: Field): string => (field.merged ? `${unsetNameOf(field)}.KEY` : unsetNameOf(field));

/** The option for the help. */
export const unsetHelp = (fields: readonly Field[]) =>
  ['--unset NAME …', `Removes the value of: ${fields.map(nameOf).join(', ')}.`] as const;

/** The values of the emptied members, by the names of their fields. @param names as typed @throws UsageError */
export function emptyValues(fields: readonly Field[], names: readonly string[] = []): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const typed of names) {
    const [first, key] = typed.split(/\.(.*)/s) as [string, string?];
    const field = fields.find((one) => unsetNameOf(one) === first.replaceAll('_', '-'));
    if (!field || field.merged !== Boolean(key)) throw new UsageError(unknownName(typed, fields));
    values[field.name] = key ? { ...(values[field.name] as object), [key]: null } : field.empty;
  }
  return values;
}

function unknownName(typed: string, fields: readonly Field[]): string {
  const nearest = nearestOf(typed, fields.map(nameOf));
  return `--unset cannot remove ${typed}. ${fields.length > nearest.length ? 'The most similar names are' : 'It removes'} ${nearest.join(', ')}.`;
}
