// Defines an entity: a noun that administrators manage, declared once by its table and its members, and what follows from that.
import { z } from 'zod';
import type { JsonLimits } from '../oauth/json-text.ts';
import { type Camel, camel } from './camel-case.ts';
import type { Field, FieldKind, RuleList } from './field.ts';
import type { Permission } from './permission.ts';

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
  /** Its column, if that has another name. */
  column?: string;
  /** The levels and the members of objects that its value can have in JSON, if they are many, and its bytes, if they are more than usual. */
  holds?: JsonLimits & { bytes?: number };
  /** A list whose column is jsonb. */
  json?: true;
  /** It is sealed at rest in the column NAME_encrypted, since the time in NAME_since. It is written, and never shown (security R29). */
  secret?: true;
  /** Why it is no secret, although its name looks like that of one. */
  noSecret?: string;
  /** It moves what the service trusts: the event has the old and the new value. */
  trust?: true;
  /** The noun of which its value names one, by its key: the one exists, and is not removed, unless the database then empties the member. */
  refers?: string;
  released?: true;
  /** The field of the form of the console, its kind, or the rules of a list, which have a form each; a member without one is not in the form. */
  form?: FieldKind | Field | RuleList;
  /** Its group in the form. */
  group?: string;
  /** The values for which the form asks for it. */
  when?(values: Input): boolean;
  /** Its schema in answers, if it is not the rule. */
  answer?: z.ZodType;
  /** A column of the list, a tag among the properties of a row, or the text of a column. */
  list?: true | 'tag' | ((value: never) => string);
}

/** Members by their names in the API. */
export type Members = Record<string, Member>;
/** A column that no administrator sets. @param answer its schema in the API's answers @param computed its SQL, if the table has no such column: answers always have it */
export const column = <Value>(answer: z.ZodType, computed?: string): Column<Value> => ({ answer, computed });
type Column<Value = unknown> = Record<'answer', z.ZodType> & { computed?: string | undefined; value?: [Value] };
/** The columns of every entity. */
const versionColumn = { version: column<number>(z.int()) };
const commonColumns = { id: column<string>(z.string()), created_at: column<Date>(z.iso.datetime()) };

type ValueOf<M> = M extends { convert: { read(api: never): infer Value } }
  ? Value
  : M extends { rule: z.ZodType<infer Api> }
    ? Api
    : never;
type Kept<M> = M extends { required: true } | { start: unknown } ? ValueOf<M> : ValueOf<M> | undefined;
/** The values of members, by their names. */
export type ValuesOf<All> = { [Name in keyof All]: Kept<All[Name]> };
type ColumnOf<C> = C extends { value?: [infer Value] } ? Value : never;
type Columns<E> = Omit<typeof commonColumns, E extends { key: string } ? 'id' : never> &
  (E extends { row: infer Row } ? Row : unknown) &
  (E extends { versioned: true } ? typeof versionColumn : unknown);
type Secrets<All> = { [Name in keyof All]: All[Name] extends { secret: true } ? Name : never }[keyof All] & string;

type OwnerOf<E> = E extends { within: { column: infer Name extends string } } ? Record<Camel<Name>, string> : unknown;
/** The values of the members in the service. */
export type MembersOf<E> = OwnerOf<E> &
  (E extends { members: infer All }
    ? { [Name in Exclude<keyof All & string, Secrets<All>> as Camel<Name>]: Kept<All[Name]> } & {
        [Name in Secrets<All> as Camel<`${Name}_encrypted`>]: Buffer | undefined;
      } & { [Name in Secrets<All> as Camel<`${Name}_since`>]: Date | undefined }
    : never);
/** A change, as a request gives it: a member that is not given stays, and null removes a member without a default. */
export type ChangeOf<All> = {
  [Name in keyof All]?:
    | z.infer<All[Name] extends { rule: infer R extends z.ZodType } ? R : never>
    | (All[Name] extends { required: true } | { start: unknown } ? never : null)
    | undefined;
};
/** One entity, as the service uses it. */
export type EntityOf<E> = MembersOf<E> & {
  [Name in keyof Columns<E> & string as Camel<Name>]: ColumnOf<Columns<E>[Name]>;
} & { createdAt: Date };

export interface Entity {
  /** What administrators need to read one, and to change one. */
  permission: Permission;
  /** The table, the path below /admin/api, and the key of the list. */
  table: string;
  /** The noun of one, with which events, commands and path parameters begin. */
  one: string;
  /** The condition by which $1 names one, if it is not that of the key. */
  find?: string;
  /** The member that identifies one; without it one has an id, and lists have pages. With it the API shows no column of the row. */
  key?: string;
  /** The noun below which it lives, and the column that names it: the key is unique there. The parameter of its path is its own. */
  within?: { table: string; param: string; named: string; column: string };
  /** The order of the list, if it is not that of the key, and the most that there can be. */
  sorted?: string;
  most?: number;
  /** A version that each change increases, and that a change can name: a newer one is a conflict. */
  versioned?: true;
  /** Assignments of every change, such as a mark that an administrator made one. */
  marks?: string;
  /** Whether all instances are told of each change. */
  notifies?: true;
  /** The section of the console. */
  section?: string;
  /** The member by which pages call one. */
  called?: string;
  /** The order of the form, if it is not that of the members. */
  order?: readonly string[];
  members: Members;
  /** The columns that no administrator sets, beside `id` and `created_at`. */
  row?: Record<string, Column>;
}

export const entity = <const E extends Entity>(declaration: E): E => declaration;
type Options = Omit<Member, 'says' | 'rule'>;

export const member = <R extends z.ZodType, const O extends Options = object>(
  says: string,
  rule: R,
  options = {} as O,
): { says: string; rule: R } & O => ({ says, rule, ...options });

export const membersOf = (of: Pick<Entity, 'members'>): [string, Member][] => Object.entries(of.members);

/** A column of the table, and the name of its value in the service. */
export interface Stored {
  column: string;
  name: string;
  fixed?: boolean | undefined;
  json?: boolean | undefined;
}
const sealedIn = (name: string) => [`${name}_encrypted`, `${name}_since`] as const;

/** The columns of a member: a secret has two. */
export const storedOf = (name: string, { secret, column = name, fixed, json }: Member): Stored[] =>
  secret
    ? sealedIn(name).map((each) => ({ column: each, name: camel(each), fixed }))
    : [{ column, name: camel(name), fixed, json }];

/** The columns that no administrator sets. */
export const rowOf = ({ row, key, versioned, within }: Entity): string[] => [
  ...(key === undefined ? ['id'] : []),
  ...(within ? [within.column] : []),
  ...Object.keys(row ?? {}),
  ...(versioned ? ['version'] : []),
  'created_at',
];

/** Every column of the table. */
export const columnsOf = (of: Entity): Stored[] => [
  ...membersOf(of).flatMap(([name, declared]) => storedOf(name, declared)),
  ...rowOf(of).map((column) => ({ column, name: camel(column) })),
];

/** The columns of the row that answers show: without a key all, with one those that are computed. */
const shownRow = (of: Entity) => (of.key === undefined ? rowOf(of) : Object.keys(computedIn(of)));

/** The SQL of the columns that the table does not have. */
export const computedIn = ({ row = {} }: Entity): Record<string, string> =>
  Object.fromEntries(Object.entries(row).flatMap(([name, { computed }]) => (computed ? [[name, computed]] : [])));

/** What identifies one. */
export const keyOf = ({ key = 'id' }: Entity, one: object): string =>
  String((one as Record<string, unknown>)[camel(key)]);

/** What a request gives, by the names of the members: their rules have checked it. */
export type Input = Record<string, unknown>;

/** The schema of a new entity. */
export const newShape = (of: Entity): z.ZodObject => z.strictObject(inputsOf(of.members, true));

/** The schema of a change: a member that is not given stays, and null removes a member without a default. */
export const changeShape = (of: Entity): z.ZodObject =>
  z.strictObject({
    ...inputsOf(of.members, false),
    ...(of.versioned && {
      version: z.int().optional().describe('The version that the change is for: a newer one is a conflict.'),
    }),
  });

/** The rules of members in a request that makes or changes one. */
export const inputsOf = (members: Members, isNew: boolean): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(members)
      .filter(([, { fixed }]) => isNew || !fixed)
      .map(([name, { says, rule, required, fixed, start, secret }]) => {
        const removable = required || fixed || start !== undefined ? rule : rule.nullable();
        // a command reads a secret from standard input, and no option has it
        const meta = { ...(says && { description: says }), ...(secret && { writeOnly: true }) };
        return [name, (required && isNew ? removable : removable.optional()).meta(meta)];
      }),
  );

const shownSecret = z.strictObject({ set: z.boolean(), since: z.iso.datetime().optional() });

/** The schema of an answer: a member without a default may be absent. */
export const answerOf = (of: Entity): z.ZodObject => {
  const own: Record<string, Column> = { ...of.row, ...(of.versioned && versionColumn), ...commonColumns };
  return z.strictObject({
    ...Object.fromEntries(
      membersOf(of).map(([name, { says, rule, required, start, secret }]) => [
        name,
        (secret ? shownSecret : required || start !== undefined ? rule : rule.optional()).describe(says),
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(own).flatMap(([name, { answer }]) => (shownRow(of).includes(name) ? [[name, answer]] : [])),
    ),
  });
};

/** The values of the members before a new entity has any. @param owner the one below which it lives, if there is any */
export const starts = (of: Entity, owner?: string): Record<string, unknown> => ({
  ...Object.fromEntries(membersOf(of).map(([name, { start }]) => [camel(name), start])),
  ...(of.within && { [camel(of.within.column)]: owner }),
});

/** The values of the members after a change. @param seal encrypts the value of a secret for its column */
export function changed<Values extends object>(
  of: Pick<Entity, 'members'>,
  before: Values,
  change: Input,
  seal?: (value: string, column: string) => Buffer,
): Values {
  const after = { ...before } as Record<string, unknown>;
  for (const [name, { convert, secret }] of membersOf(of)) {
    const given = change[name];
    if (given === undefined) continue;
    if (secret) {
      const [sealed, since] = sealedIn(name);
      // without a key the service could only store it as it is: it fails instead
      after[camel(sealed)] = given === null ? undefined : seal!(String(given), sealed);
      after[camel(since)] = given === null ? undefined : new Date();
    } else after[camel(name)] = given === null ? undefined : convert ? convert.read(given as never) : given;
  }
  return after as Values;
}

/** One entity as the API and the commands show it. */
export function view(of: Entity, one: object): Record<string, unknown> {
  const values = one as Record<string, unknown>;
  const own = of.key === undefined && { id: values['id'] };
  const all: Record<string, unknown> = { ...own, ...viewOf(of.members, one) };
  for (const name of shownRow(of)) all[name] = plain(values[camel(name)]);
  return all;
}

const plain = (value: unknown) => (value instanceof Date ? value.toISOString() : value);

/** The values of members as the API shows them. */
export function viewOf(members: Members, one: object): Record<string, unknown> {
  const values = one as Record<string, unknown>;
  const all: Record<string, unknown> = {};
  for (const [name, { secret, convert }] of Object.entries(members)) {
    const value = values[camel(name)];
    if (secret) {
      const [sealed, since] = sealedIn(name).map((each) => values[camel(each)]);
      all[name] = { set: sealed !== undefined, ...(since !== undefined && { since: plain(since) }) };
    } else all[name] = convert && value !== undefined ? convert.show(value as never) : plain(value);
  }
  return all;
}
