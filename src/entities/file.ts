// Writes an entity as an entry of a configuration file, and reads one: its members as the API has them, without secrets (architecture, entities).
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { invalidRequest } from '../oauth/errors.ts';
import { firstRefusal, rule } from '../oauth/refusals.ts';
import { type Entity, type Input, inputsOf, membersOf, starts, view } from './entity.ts';

/** Where a secret comes from: a file of the configuration never has the secret itself. */
export interface SecretSource {
  /** The variable of the environment that has it. */
  env?: string | undefined;
  /** The file that has it. */
  file?: string | undefined;
  /** The service makes it where there is none yet. */
  generate?: true | undefined;
}

const sources = z
  .strictObject(
    {
      env: z
        .string(rule('string'))
        .regex(/^[A-Z_][A-Z0-9_]*$/, rule('invalid'))
        .optional(),
      file: z.string(rule('string')).min(1, rule('empty')).max(1000, rule('too-long')).optional(),
      generate: z.literal(true).optional(),
    },
    { error: ({ code }) => (code === 'invalid_type' ? 'secret-source' : undefined) },
  )
  .refine((given) => Object.keys(given).length === 1, rule('secret-source'));
const secretSource = z.preprocess((given) => (given === 'generate' ? { generate: true } : given), sources);

export type FileEntity = Pick<Entity, 'one' | 'members'>;

/** The members but for these. */
export const without = <V>(members: Readonly<Record<string, V>>, ...names: readonly string[]): Record<string, V> =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

export const secretsOf = (of: FileEntity): string[] =>
  membersOf(of).flatMap(([name, { secret }]) => (secret ? [name] : []));

/** The schema of an entry. @param key the member that is the name of the entry, and no member of it */
export const entryShape = (of: FileEntity, key?: string): z.ZodObject => {
  const inputs = inputsOf(of.members, true);
  return z.strictObject({
    ...(key === undefined ? inputs : without(inputs, key)),
    ...Object.fromEntries(
      membersOf(of).flatMap(([name, { secret, says }]) =>
        secret ? [[name, secretSource.optional().describe(says)]] : [],
      ),
    ),
  });
};

/** The variable that an export names for a secret. */
export const variableOf = (one: string, key: string, name: string): string =>
  `${one}_${key}_${name}`.toUpperCase().replace(/[^A-Z0-9]+/g, '_');

/** The values of the members before there is one, as the API shows them. */
export const defaultsOf = (of: Entity): Input => view(of, starts(of));

/** The entry of one. A member with its default is left out, and a secret that is set is named by a variable. */
export function toFile(of: Entity, one: object, defaults = defaultsOf(of)): Input {
  const shown = view(of, one);
  const [first] = membersOf(of).map(([name]) => shown[name]);
  return Object.fromEntries(
    membersOf(of).flatMap(([name, { secret: isSecret }]): [string, unknown][] => {
      const value = shown[name];
      if (isSecret ? !(value as { set: boolean }).set : isDeepStrictEqual(value, defaults[name])) return [];
      return [[name, isSecret ? { env: variableOf(of.one, String(first), name) } : value]];
    }),
  );
}

/**
 * The whole input that an entry stands for: a member that is left out has its default, or is removed.
 * @returns secrets: where they come from, by the members; a secret that is left out stays
 * @throws OAuthError invalid_request, which names the member
 */
export function fromFile(
  of: Entity,
  entry: unknown,
  defaults = defaultsOf(of),
): { input: Input; secrets: Record<string, SecretSource> } {
  const { input, secrets } = readEntry(of, entryShape(of), entry);
  const plain = Object.keys(of.members).filter((name) => !secretsOf(of).includes(name));
  return { input: Object.fromEntries(plain.map((name) => [name, input[name] ?? defaults[name] ?? null])), secrets };
}

/** Reads the members that an entry has. @throws OAuthError invalid_request, which names the member */
export function readEntry(
  of: FileEntity,
  shape: z.ZodObject,
  entry: unknown,
): { input: Input; secrets: Record<string, SecretSource> } {
  const { data, error } = shape.safeParse(entry, { reportInput: true });
  if (error) throw invalidRequest(firstRefusal(error, of.one));
  const names = secretsOf(of);
  const [secrets, input] = [true, false].map((isSecret) =>
    Object.fromEntries(
      Object.entries(data).filter(([name, value]) => names.includes(name) === isSecret && value !== undefined),
    ),
  ) as [Record<string, SecretSource>, Input];
  return { input, secrets };
}
