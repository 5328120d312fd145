// Writes an entity as an entry of a configuration file, and reads one: its members as the API has them, without secrets (architecture, entities).
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { invalidRequest } from '../oauth/errors.ts';
import { firstRefusal, rule } from '../oauth/refusals.ts';
import { type Entity, type Input, membersOf, newShape, starts, view } from './entity.ts';

/** The variable of the environment that has a secret: a file never has the secret itself. */
const secret = z.strictObject({ env: z.string(rule('string')).regex(/^[A-Z_][A-Z0-9_]*$/, rule('invalid')) });

/** The entry of one. A member with its default is left out, and a secret that is set is named by a variable. */
export function toFile(of: Entity, one: object): Input {
  const shown = view(of, one);
  const defaults = view(of, starts(of));
  const [first] = membersOf(of).map(([name]) => shown[name]);
  const variable = (name: string) => `${of.one}_${String(first)}_${name}`.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  return Object.fromEntries(
    membersOf(of).flatMap(([name, { secret: isSecret }]): [string, unknown][] => {
      const value = shown[name];
      if (isDeepStrictEqual(value, defaults[name])) return [];
      return [[name, isSecret ? { env: variable(name) } : value]];
    }),
  );
}

/**
 * The whole input that an entry stands for: a member that is left out has its default, or is removed.
 * @returns secrets: the variables by the members; a secret that is left out stays
 * @throws OAuthError invalid_request, which names the member
 */
export function fromFile(of: Entity, entry: unknown): { input: Input; secrets: Record<string, string> } {
  const secrets = membersOf(of).flatMap(([name, declared]) => (declared.secret ? [name] : []));
  const shape = newShape(of).extend(Object.fromEntries(secrets.map((name) => [name, secret.optional()])));
  const { data, error } = shape.safeParse(entry, { reportInput: true });
  if (error) throw invalidRequest(firstRefusal(error, of.one));
  const defaults = view(of, starts(of));
  const plain = Object.keys(of.members).filter((name) => !secrets.includes(name));
  return {
    input: Object.fromEntries(plain.map((name) => [name, data[name] ?? defaults[name] ?? null])),
    secrets: Object.fromEntries(
      secrets.flatMap((name) => (data[name] === undefined ? [] : [[name, (data[name] as z.infer<typeof secret>).env]])),
    ),
  };
}
