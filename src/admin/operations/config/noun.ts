// Defines what configuration files need of a noun: how one is listed, read, created, changed and removed, by the operations that administrators run.
import { isDeepStrictEqual } from 'node:util';
import {
  changed,
  type Entity,
  type Input,
  keyOf,
  membersOf,
  starts,
  storedOf,
  viewOf,
} from '../../../entities/entity.ts';
import { defaultsOf, type FileEntity, fromFile, type SecretSource, toFile, without } from '../../../entities/file.ts';
import type { Permission } from '../../../entities/permission.ts';
import { invalidRequest, OAuthError } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import type { Administrator, Operation, OperationContext } from '../operation.ts';

/** Where a secret comes from, and its value where the reader knows it. */
export interface Secret {
  source: SecretSource;
  /** Undefined for one that the service makes. */
  value: string | undefined;
}
export type Secrets = Readonly<Record<string, Secret>>;

/** One that exists. */
export interface Found {
  key: string;
  /** The members as the API shows them, without the key and without secrets. */
  shown: Input;
  /** Whether each secret is set, and whether a value is the one that is set. */
  secrets: Readonly<Record<string, { set: boolean; equals(value: string): boolean }>>;
  /** The entry of a file; defaults are left out. */
  entry(): Input;
  /** When it was created, in ISO 8601; empty for what always exists. */
  madeAt: string;
  /** A change of it since it was read shows here. */
  version: string;
  /** What a file says of it, and when each secret was set. */
  state(): string;
  /** Users and clients made it without an administrator: only an export with --all has it. */
  isForeign?: boolean;
}

/** What an entry of a file stands for. */
export interface Wanted {
  key: string;
  /** As `shown` of one that exists. */
  values: Input;
  secrets: Readonly<Record<string, SecretSource>>;
  /** Members of the entry that are no values of one, such as the word that accepts a weak secret. */
  words?: Input;
}

export interface Act {
  context: OperationContext;
  by: Administrator;
}

/** The operations on one of a noun, which are no change of it where a set of files keeps it. */
export interface NounOperations {
  /** The parameter of their paths that names one. */
  param: string;
  /** Those that the pages about one run. */
  shows: readonly object[];
  /** Its input has the members of the noun. */
  change: object;
  /** Members whose change leaves those of their parts that it does not name. */
  merged?: readonly string[];
  /** Completes the values of one. @throws OAuthError invalid_request */
  complete?: EntityNounOptions['complete'];
  /** They change more than this, or delete it. */
  others: readonly object[];
  /** What an operation without the parameter changes. */
  namesIn?(params: unknown, input: unknown): string[];
}

/** A noun of configuration files. Its members say which nouns they name (`refers`). */
export interface FileNoun {
  /** The member of a file that has all of them by their keys. */
  section: string;
  of: FileEntity & { permission: Permission };
  /** The member that is the name of an entry. */
  key: string;
  /** There is one, and the section itself is its entry. */
  isSingle?: true;
  list(context: OperationContext): Promise<Found[]>;
  /** @param name as the paths of its operations name one */
  find(context: OperationContext, name: string): Promise<Found | undefined>;
  on: NounOperations;
  /** @throws OAuthError invalid_request, which names the member */
  read(context: OperationContext, key: string, entry: unknown): Wanted;
  /** Checks what no rule of a member can. @param found undefined where there is none yet @throws OAuthError invalid_request */
  check?(context: OperationContext, wanted: Wanted, secrets: Secrets, found: Found | undefined): void;
  /** Makes a secret, if those of the noun have a form of their own. */
  makeSecret?(): string;
  /** Whether its secrets must be given again, although they stay: another site gets them. */
  moves?(context: OperationContext, found: Found, wanted: Wanted): boolean;
  create(act: Act, wanted: Wanted, secrets: Secrets): Promise<void>;
  /** @param change the members that differ, where null removes one */
  change(act: Act, before: Found, change: Input, secrets: Secrets, wanted: Wanted): Promise<void>;
  remove(act: Act, key: string): Promise<void>;
  /** Does before the transaction what asks other servers. */
  prepare?(context: OperationContext, wanted: Wanted): Promise<Prepared>;
  /** How much ends with a removal or with a change, by the name of what ends. */
  effects?(context: OperationContext, found: Found, change: Input | undefined): Promise<Record<string, number>>;
}

/** @param inside the context with which the transaction goes on */
export interface Prepared {
  warning?: string;
  inside?(context: OperationContext): OperationContext;
}

/** The members that a change must have so that `before` becomes `wanted`: null removes one. */
export function differenceOf({ members }: FileEntity, before: Input, wanted: Input): Input {
  // the service may keep a list in another order than a file has it
  const stored = (name: string, value: unknown) =>
    value === undefined || value === null ? null : (members[name]?.convert?.read(value as never) ?? value);
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(wanted)])].flatMap((name) =>
      isDeepStrictEqual(stored(name, before[name]), stored(name, wanted[name])) ? [] : [[name, wanted[name] ?? null]],
    ),
  );
}

interface Runs<P, I> {
  handler(context: OperationContext, call: { params: P; input: I; actor: Administrator }): Promise<unknown>;
}

/** The operations of an entity. */
export interface EntityActs {
  list(context: OperationContext): Promise<readonly object[]>;
  find(context: OperationContext, name: string): Promise<object | undefined>;
  create: Runs<never, never>;
  change: Runs<never, never>;
  remove: Runs<never, never>;
  /** Those that the pages about one run. */
  shows: readonly object[];
}

export interface EntityNounOptions {
  /** The name of the parameter of its path, if it is not the noun. */
  param?: string;
  /** Defaults that depend on other members, as the API shows them. */
  defaults?(context: OperationContext, members: Input): Input;
  /** Completes the values that a file stands for. @throws OAuthError invalid_request */
  complete?(context: OperationContext, values: Input): Input;
  /** Members of which a change leaves the parts that it does not name. */
  merged?: readonly string[];
  isForeign?(one: object): boolean;
  makeSecret?: FileNoun['makeSecret'];
  check?: FileNoun['check'];
  moves?: FileNoun['moves'];
  prepare?: FileNoun['prepare'];
  effects?: FileNoun['effects'];
}

/** The noun of an entity: everything follows from its declaration and its operations. */
export function entityNoun(of: Entity, acts: EntityActs, options: EntityNounOptions = {}): FileNoun {
  const { table, one: noun } = of;
  const [key] = Object.keys(of.members) as [string];
  const { param = noun, defaults, complete, isForeign, merged = [] } = options;
  const hidden = (name: string) => name === key || of.members[name]!.secret === true;
  const visible = (values: Input): Input =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !hidden(name)));
  // the operations of all nouns have other types, and an entry was checked by the rules of its declaration
  const run = (act: Runs<never, never>, { context, by }: Act, params: Input, input: Input) =>
    act.handler(context, { params, input, actor: by } as never);
  const byKey = (name: string) => ({ [param]: name });
  const defaultsFor = (context: OperationContext, members: Input) => ({
    ...defaultsOf(of),
    ...defaults?.(context, members),
  });

  function foundOf(context: OperationContext, one: object): Found {
    const all = viewOf(of.members, one);
    const row = one as Record<string, unknown>;
    const secrets = membersOf(of).flatMap(([name, declared]) => {
      if (!declared.secret) return [];
      const [sealed] = storedOf(name, declared);
      const bytes = row[sealed!.name] as Buffer | undefined;
      const equals = (value: string) =>
        bytes !== undefined &&
        context.secretBox.open(bytes, `${table}.${sealed!.column}.${keyOf(of, one)}`).toString() === value;
      return [[name, { set: bytes !== undefined, equals }] as const];
    });
    return {
      key: String(all[key]),
      shown: visible(all),
      secrets: Object.fromEntries(secrets),
      entry: () => without(toFile(of, one, defaultsFor(context, all)), key),
      madeAt: (row['createdAt'] as Date).toISOString(),
      version: JSON.stringify([row['version'], all]),
      state: () => JSON.stringify(all),
      ...(isForeign?.(one) && { isForeign: true }),
    };
  }
  const given = (values: Input, secrets: Secrets): Input => ({
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)),
    ...Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value])),
  });

  /** A change merges these members, and null removes a part. */
  const whole = (before: Input, change: Input): Input => ({
    ...change,
    ...Object.fromEntries(
      merged
        .filter((name) => change[name] !== undefined)
        .map((name) => [
          name,
          {
            ...Object.fromEntries(Object.keys(before[name] ?? {}).map((part) => [part, null])),
            ...(change[name] as object),
          },
        ]),
    ),
  });

  return {
    section: table,
    of,
    key,
    on: { param, shows: acts.shows, change: acts.change, merged, complete, others: [acts.remove] },
    async find(context, name) {
      const one = await acts.find(context, name);
      return one && foundOf(context, one);
    },
    list: async (context) => (await acts.list(context)).map((one) => foundOf(context, one)),
    read(context, name, entry) {
      const members = typeof entry === 'object' && entry !== null ? (entry as Input) : {};
      if (Object.hasOwn(members, key)) throw invalidRequest(refusal('made-here', key));
      const whole = { ...members, [key]: name };
      const { input, secrets } = fromFile(of, entry === null ? { [key]: name } : whole, defaultsFor(context, whole));
      // as the service would show it
      const values = viewOf(of.members, changed(of, starts(of), input));
      const completed = complete ? complete(context, values) : values;
      return { key: String(completed[key]), values: visible(completed), secrets };
    },
    async create(act, { key: name, values }, secrets) {
      await run(acts.create, act, {}, { ...given(values, secrets), [key]: name });
    },
    async change(act, before, change, secrets) {
      const fixed = Object.keys(change).find((name) => of.members[name]!.fixed);
      if (fixed !== undefined) throw invalidRequest(refusal('fixed', fixed));
      const values = Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]));
      await run(acts.change, act, byKey(before.key), { ...whole(before.shown, change), ...values });
    },
    async remove(act, name) {
      await run(acts.remove, act, byKey(name), {});
    },
    ...(options.makeSecret && { makeSecret: options.makeSecret }),
    ...(options.check && { check: options.check }),
    ...(options.moves && { moves: options.moves }),
    ...(options.prepare && { prepare: options.prepare }),
    ...(options.effects && { effects: options.effects }),
  };
}

/** The acts of an entity of the kernel, among the operations of the service. */
export function actsOf(of: Entity, operations: readonly Operation[]): EntityActs | undefined {
  const own = operations.filter((one) => one.of === of);
  const act = (method: Operation['method'], isOfOne: boolean) =>
    own.find((one) => one.method === method && one.path.endsWith(`/:${of.one}`) === isOfOne);
  const [list, create, show, change, remove] = [
    act('GET', false),
    act('POST', false),
    act('GET', true),
    act('PATCH', true),
    act('DELETE', true),
  ];
  if (!list || !create || !change || !remove) return undefined;
  const all: EntityActs['list'] = async (context) => {
    // an entity without pages has no input
    const input = { limit: mostListed, cursor: undefined };
    return ((await list.handler(context, { params: {}, input, actor: reader })) as { all: readonly object[] }).all;
  };
  return {
    create,
    change,
    remove,
    list: all,
    shows: show ? [show] : [],
    async find(context, name) {
      // there are few of those that are not shown alone
      if (!show) return (await all(context)).find((one) => keyOf(of, one) === name);
      const call = { params: { [of.one]: name }, input: {}, actor: reader };
      return show.handler(context, call).then((one) => one as object, unlessGone);
    },
  };
}
function unlessGone(error: unknown): undefined {
  if (!(error instanceof OAuthError) || error.status !== 404) throw error;
}
/** A list is the same for each actor. */
export const reader: Administrator = { actor: 'config', kind: 'administrator' };
/** More than a file can have. */
export const mostListed = 100_000;
