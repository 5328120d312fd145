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
import { invalidRequest } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import type { Administrator, OperationContext } from '../operation.ts';

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
  /** @throws OAuthError invalid_request, which names the member */
  read(context: OperationContext, key: string, entry: unknown): Wanted;
  /** Checks what no rule of a member can. @param isNew whether there is none yet @throws OAuthError invalid_request */
  check?(wanted: Wanted, secrets: Secrets, isNew: boolean): void;
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

/** The operations of an entity, as entityOperations() makes them. */
export interface EntityActs {
  list(context: OperationContext): Promise<readonly object[]>;
  create: Runs<never, never>;
  change: Runs<never, never>;
  remove: Runs<never, never>;
}

export interface EntityNounOptions {
  /** The name of the parameter of its path, if it is not the noun. */
  param?: string;
  /** Defaults that depend on other members, as the API shows them. */
  defaults?(context: OperationContext, members: Input): Input;
  /** Completes the values that a file stands for. @throws OAuthError invalid_request */
  complete?(context: OperationContext, values: Input): Input;
  /** Turns the members that differ into the change that the operation takes. */
  changeOf?(before: Input, change: Input): Input;
  isForeign?(one: object): boolean;
  prepare?: FileNoun['prepare'];
  effects?: FileNoun['effects'];
}

/** The noun of an entity: everything follows from its declaration and its operations. */
export function entityNoun(of: Entity, acts: EntityActs, options: EntityNounOptions = {}): FileNoun {
  const { table, one: noun } = of;
  const [key] = Object.keys(of.members) as [string];
  const { param = noun, defaults, complete, changeOf, isForeign } = options;
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
      ...(isForeign?.(one) && { isForeign: true }),
    };
  }
  const given = (values: Input, secrets: Secrets): Input => ({
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)),
    ...Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value])),
  });

  return {
    section: table,
    of,
    key,
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
      const members = changeOf ? changeOf(before.shown, change) : change;
      const values = Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]));
      await run(acts.change, act, byKey(before.key), { ...members, ...values });
    },
    async remove(act, name) {
      await run(acts.remove, act, byKey(name), {});
    },
    ...(options.prepare && { prepare: options.prepare }),
    ...(options.effects && { effects: options.effects }),
  };
}

/** The acts of an entity of the kernel. */
export const kernelActs = (acts: {
  list: { handler(context: OperationContext, call: never): Promise<{ all: readonly object[] }> };
  create: Runs<never, never>;
  change: Runs<never, never>;
  remove: Runs<never, never>;
}): EntityActs => ({
  ...acts,
  async list(context) {
    const call = { params: {}, input: { limit: mostListed, cursor: undefined }, actor: reader };
    // an entity without pages has no input
    return (await acts.list.handler(context, call as never)).all;
  },
});
/** A list is the same for each actor. */
export const reader: Administrator = { actor: 'config', kind: 'administrator' };
/** More than a file can have. */
export const mostListed = 100_000;
