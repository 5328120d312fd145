// Defines an entity: a noun that administrators manage, declared once by its table and its members, and what follows from that.
import { z } from 'zod';
import type { Field, FieldKind, FormMember } from './field.ts';
import type { Permission } from './permission.ts';

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

export interface Member {
  /** One sentence for the API's document, the help of commands and the reference. */
  says: string;
  /** The rule of the value in the API. */
  rule: z.ZodType;
  /** The value of a new entity; a member with neither this nor `required` is absent until it is set, and null removes it. */
  start?: unknown;
  /** It must be given at the creation. */
  required?: true;
  /** It is given at the creation, and never changes. */
  fixed?: true;
  /** Converts a value that has another form in the service and the database than in the API. */
  convert?: { read(api: never): unknown; show(value: never): unknown };
  /** The name of its option in commands; by default its name with hyphens. */
  option?: string;
  /** The field of the form of the console, or its kind; a member without one is not in the form. */
  form?: FieldKind | Field;
  /** Its group in the form. */
  group?: string;
  /** The values for which the form asks for it. */
  when?(values: Input): boolean;
  /** A column of the list, a tag among the properties of a row, or the text of a column. */
  list?: true | 'tag' | ((value: never) => string);
}

/** A column that no administrator sets. @param answer its schema in the API's answers */
export const column = <Value>(answer: z.ZodType): { answer: z.ZodType; value?: Value } => ({ answer });
/** The columns of every entity. */
const commonColumns = { id: column<string>(z.string()), created_at: column<Date>(z.iso.datetime()) };

type ValueOf<M> = M extends { convert: { read(api: never): infer Value } }
  ? Value
  : M extends { rule: z.ZodType<infer Api> }
    ? Api
    : never;
type Kept<M> = M extends { required: true } | { start: unknown } ? ValueOf<M> : ValueOf<M> | undefined;
type ColumnOf<C> = C extends { value?: infer Value } ? Exclude<Value, undefined> : never;
type Columns<E> = typeof commonColumns & (E extends { row: infer Row } ? Row : unknown);

/** The values of the members in the service. */
export type MembersOf<E> = E extends { members: infer All }
  ? { [Name in keyof All & string as Camel<Name>]: Kept<All[Name]> }
  : never;
/** One entity, as the service uses it. */
export type EntityOf<E> = MembersOf<E> & {
  [Name in keyof Columns<E> & string as Camel<Name>]: ColumnOf<Columns<E>[Name]>;
} & { id: string; createdAt: Date };

export interface Entity {
  /** What administrators need to read one, and to change one. */
  permission: Permission;
  /** The table, the path below /admin/api, and the key of the list. */
  table: string;
  /** The noun of one, with which events, commands and path parameters begin. */
  one: string;
  /** The condition by which $1 names one. */
  find: string;
  /** Assignments of every change, such as a mark that an administrator made one. */
  marks?: string;
  /** Whether all instances are told of each change. */
  notifies?: true;
  /** The section of the console. */
  section?: string;
  /** The member by which pages call one, and name its address if its id does not. */
  called?: string;
  address?: string;
  /** The order of the form, if it is not that of the members. */
  order?: readonly string[];
  members: Record<string, Member>;
  /** The columns that no administrator sets, beside `id` and `created_at`. */
  row?: Record<string, { answer: z.ZodType }>;
}

export const entity = <const E extends Entity>(declaration: E): E => declaration;

type Options = Omit<Member, 'says' | 'rule'>;

export const member = <R extends z.ZodType, const O extends Options = object>(
  says: string,
  rule: R,
  options = {} as O,
): { says: string; rule: R } & O => ({ says, rule, ...options });

export const membersOf = (of: Entity): [string, Member][] => Object.entries(of.members);

/** The columns of the table, and the names of their values in the service. */
export const namesOf = ({ members, row }: Entity): (readonly [column: string, name: string])[] =>
  ['id', ...Object.keys(members), ...Object.keys(row ?? {}), 'created_at'].map((name) => [name, camel(name)]);

export const valuesOf = (names: readonly string[], given: object): unknown[] =>
  names.map((name) => (given as Record<string, unknown>)[camel(name)]);

/** What a request gives, by the names of the members: their rules have checked it. */
export type Input = Record<string, unknown>;

/** The schema of a new entity. */
export const newShape = (of: Entity): z.ZodObject => z.strictObject(inputsOf(of, true));

/** The schema of a change: a member that is not given stays, and null removes a member without a default. */
export const changeShape = (of: Entity): z.ZodObject => z.strictObject(inputsOf(of, false));

const inputsOf = (of: Entity, isNew: boolean) =>
  Object.fromEntries(
    membersOf(of)
      .filter(([, { fixed }]) => isNew || !fixed)
      .map(([name, { says, rule, required, start }]) => {
        const removable = required || start !== undefined ? rule : rule.nullable();
        return [name, (required && isNew ? removable : removable.optional()).describe(says)];
      }),
  );

/** The schema of an answer: a member without a default may be absent. */
export const answerOf = (of: Entity): z.ZodObject =>
  z.strictObject({
    ...Object.fromEntries(
      membersOf(of).map(([name, { says, rule, required, start }]) => [
        name,
        (required || start !== undefined ? rule : rule.optional()).describe(says),
      ]),
    ),
    ...Object.fromEntries(Object.entries({ ...of.row, ...commonColumns }).map(([name, { answer }]) => [name, answer])),
  });

/** The form of the console. @param values as the API shows them, of the entity that the form changes; undefined for a new one */
export const formOf = ({ members, order = Object.keys(members) }: Entity, values?: Input): FormMember[] =>
  order.flatMap((name): FormMember[] => {
    const { form, rule, required, fixed, start, group, when } = members[name]!;
    if (form === undefined || (when && !when(values ?? {}))) return [];
    const field: Field = typeof form === 'string' ? { kind: form } : form;
    return [
      {
        ...(rule instanceof z.ZodEnum && { choices: rule.options.map(String) }),
        ...(required && { required }),
        ...field,
        name,
        removable: !required && start === undefined,
        ...(fixed && values && { fixed }),
        ...(group !== undefined && { group }),
      },
    ];
  });

/** The values of the members before a new entity has any. */
export const starts = (of: Entity): Record<string, unknown> =>
  Object.fromEntries(membersOf(of).map(([name, { start }]) => [camel(name), start]));

/** The values of the members after a change. */
export function changed<Values extends object>(of: Entity, before: Values, change: Input): Values {
  const after = { ...before } as Record<string, unknown>;
  for (const [name, { convert }] of membersOf(of)) {
    const given = change[name];
    if (given === undefined) continue;
    after[camel(name)] = given === null ? undefined : convert ? convert.read(given as never) : given;
  }
  return after as Values;
}

/** One entity as the API and the commands show it. */
export function view(of: Entity, one: object): Record<string, unknown> {
  const shown = ([column, name]: readonly [string, string]) => {
    const value: unknown = (one as Record<string, unknown>)[name];
    const { convert } = of.members[column] ?? {};
    if (value instanceof Date) return [column, value.toISOString()];
    return [column, convert && value !== undefined ? convert.show(value as never) : value];
  };
  return Object.fromEntries(namesOf(of).map(shown));
}
