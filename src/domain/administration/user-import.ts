// Imports a batch of users in one transaction, a part of administration.ts. Each user has an audit event; a refusal affects no other user.
import {
  DatabaseUnavailable,
  isCheckViolation,
  isInvalidValue,
  isTakenKey,
  isUniqueViolation,
} from '../../database/database.ts';
import { withNewDeadline } from '../../database/deadline.ts';
import type { ImportNote, ImportReason } from '../../rules/users/import-reasons.ts';
import { checkValues } from '../users/attributes.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { userEvent } from '../../repositories/audit/audit-diff.ts';
import type { LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { ImportedUser, UserAdditions } from '../../repositories/users/user-batches.ts';
import type { User } from '../../repositories/users/users.ts';
import { entriesOf, hasOtherAddressAsName } from '../../rules/users/user-record.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { addToUsers, TakenIdentity } from './user-additions.ts';
import { givesPower, requireDecidedLinks, unlessUndecided } from './power.ts';

export interface ImportOptions {
  /** Whether to change existing users; otherwise they stay unchanged. */
  update: boolean;
  /** Whether the import may create and change administrators. */
  admins: boolean;
  /** Whether a confirmed address of the file counts as confirmed by an administrator; otherwise it is so by a word only (security R156). */
  trustConfirmations?: boolean | undefined;
  /** The groups that give power. */
  guarded: readonly string[];
  /** Whether to store nothing. */
  dryRun: boolean;
}

export type ImportOutcome =
  | { outcome: 'created' | 'updated' | 'unchanged'; note?: ImportNote }
  | { outcome: 'refused'; column: string; reason: ImportReason };

const refused = (column: string, reason: ImportReason): ImportOutcome => ({ outcome: 'refused', column, reason });

/** Rolls back the transaction of a dry run. */
class DryRun extends Error {
  readonly outcomes: ImportOutcome[];
  constructor(outcomes: ImportOutcome[]) {
    super('dry run');
    this.outcomes = outcomes;
  }
}

export function importUsers(store: Store) {
  /**
   * Imports a batch. If the same batch is imported again, all its users are unchanged.
   * @param users of different names, and at most some hundreds: the transaction has the deadline of a request
   * @returns the outcome of each, in the same order
   */
  return (by: Actor, users: readonly ImportedUser[], options: ImportOptions): Promise<ImportOutcome[]> =>
    attempt(by, users, options);

  async function attempt(
    by: Actor,
    users: readonly ImportedUser[],
    options: ImportOptions,
    again = false,
  ): Promise<ImportOutcome[]> {
    try {
      return await withNewDeadline(() =>
        store.transaction(async (repositories) => {
          const outcomes = await importAll(repositories, by, users, options);
          if (options.dryRun) throw new DryRun(outcomes);
          return outcomes;
        }),
      );
    } catch (error) {
      if (error instanceof DryRun) return error.outcomes;
      const refusal = error instanceof DatabaseUnavailable ? undefined : refusalOfDatabase(error);
      if (!refusal) throw error;
      // a batch that fails is imported again by halves, down to the row that is wrong
      if (users.length > 1) {
        const half = users.length >> 1;
        const first = await attempt(by, users.slice(0, half), options);
        return [...first, ...(await attempt(by, users.slice(half), options))];
      }
      // another request took the text meanwhile: the next look finds it
      return isTakenKey(error) && !again ? attempt(by, users, options, true) : [refusal];
    }
  }
}

/** The constraints on one member of a user, with what other entrances say before the database does. */
const ofConstraints = {
  users_sub_check: refused('sub', 'sub'),
  users_name_is_no_sub: refused('username', 'like-sub'),
  users_email_check: refused('email', 'email'),
  users_username_check: refused('username', 'invalid'),
};

/** What the database refused about a row; undefined for an error that is not of its values. */
function refusalOfDatabase(error: unknown): ImportOutcome | undefined {
  if (error instanceof TakenIdentity) return refused('links', 'taken');
  if (error instanceof SharedValue) return refused('attributes', 'taken');
  for (const [name, refusal] of Object.entries(ofConstraints)) if (isCheckViolation(error, name)) return refusal;
  if (isUniqueViolation(error)) return refused('email', 'taken');
  return isInvalidValue(error) ? refused('', 'value') : undefined;
}

async function importAll(
  repositories: Repositories,
  by: Actor,
  given: readonly ImportedUser[],
  { update, admins, guarded }: ImportOptions,
): Promise<ImportOutcome[]> {
  await repositories.linkedIdentities.claimAll(given.flatMap(({ additions }) => additions?.links ?? []));
  if (update && given.some((user) => user.admin === false || user.status === 'disabled'))
    await repositories.users.lockAdmins();
  const keys = await repositories.userBatches.keys(given.map((user) => user.username));
  const present = await repositories.userBatches.lock(given.map((user) => user.username));
  // read once the users are locked
  const subsThere = [...present.values()].map(({ sub }) => sub);
  const links = update ? await repositories.linkedIdentities.ofUsers(subsThere) : [];
  const outcomes: ImportOutcome[] = [];
  const events: AuditEvent[] = [];
  const fresh = new Map<string, number>();
  const { refuse, unique } = await withAttributes(repositories, given);
  const users = refuse.map(({ user }) => user);
  for (const [index, user] of users.entries()) {
    const key = keys[index]!;
    const column = refuse[index]!.column;
    if (column !== undefined) {
      outcomes[index] = refused(column, 'attribute');
      continue;
    }
    const there = present.get(key);
    if (there === undefined && user.connection !== undefined) outcomes[index] = refused('subject', 'other-identity');
    else if (there === undefined) fresh.set(key, index);
    else if (!update) outcomes[index] = { outcome: 'unchanged' };
    else {
      const own = links.filter(({ sub }) => sub === there.sub);
      outcomes[index] = await change(repositories, by, there, user, { admins, guarded, links: own }, events);
    }
  }
  const made = await repositories.userBatches.insert([...fresh.values()].map((index) => users[index]!));
  const added: { user: User; additions: UserAdditions }[] = [];
  for (const [key, user] of made) {
    const index = fresh.get(key)!;
    outcomes[index] = { outcome: 'created', ...noteOf(user) };
    const { additions } = users[index]!;
    if (additions) added.push({ user, additions });
    const factors = additions?.authenticators.length ?? 0;
    const { admin } = user;
    const detail = { admin, imported: true, ...(factors > 0 && { second_factors: factors }) };
    events.push({ ...by, type: 'user.created', outcome: 'success', sub: user.sub, detail });
  }
  events.push(...(await addToUsers(repositories, by, added)));
  const left = [...fresh.values()].filter((index) => outcomes[index] === undefined);
  if (left.length > 0) await explain(repositories, users, keys, left, outcomes);
  const subs = [...made.values(), ...present.values()].map(({ sub }) => sub);
  if (!(await repositories.attributes.keepUnique(subs, unique))) throw new SharedValue('two users share a value');
  await repositories.auditEvents.insertMany(events);
  return outcomes;
}

/** Another user has the same value of a unique attribute. */
class SharedValue extends Error {}

/** Compares attributes with their definitions, and makes those that fit members of the claims. A table has texts only. */
async function withAttributes({ attributes }: Repositories, given: readonly ImportedUser[]) {
  if (!given.some((user) => user.attributes))
    return { refuse: given.map((user) => ({ user, column: undefined })), unique: [] };
  const definitions = await attributes.listForUse();
  const types = new Map(definitions.map(({ name, type }) => [name, type]));
  const refuse = given.map(({ attributes: values, ...user }) => {
    if (!values) return { user, column: undefined };
    const read = Object.entries(values).map(([name, value]): [string, unknown] => {
      const isList = types.get(name) === 'string_list' && typeof value === 'string';
      return [name, isList ? entriesOf(value) : value];
    });
    const { values: fitting, faults } = checkValues(definitions, Object.fromEntries(read));
    const [fault] = Object.keys(faults);
    const kept = Object.fromEntries(Object.entries(fitting).filter(([, value]) => value !== null));
    return {
      user: { ...user, claims: { ...user.claims, ...kept } },
      column: fault === undefined ? undefined : `attributes.${fault}`,
    };
  });
  return { refuse, unique: definitions.filter((one) => one.unique).map(({ name }) => name) };
}

/** Finds out why users were not created: a concurrent import created them, or the name, the address or the sub is taken. */
async function explain(
  { userBatches }: Repositories,
  users: readonly ImportedUser[],
  keys: readonly string[],
  left: readonly number[],
  outcomes: ImportOutcome[],
): Promise<void> {
  const present = await userBatches.lock(left.map((index) => users[index]!.username));
  const own = await keysOfUsers(
    userBatches,
    left.map((index) => users[index]!),
  );
  const taken = await userBatches.taken(own.flatMap((each) => Object.values(each)));
  for (const [place, index] of left.entries())
    outcomes[index] = present.has(keys[index]!)
      ? { outcome: 'unchanged' }
      : refused(columnsIn(own[place]!, taken), 'taken');
}

/** The keys of the name, the address and the sub of each user, by the names of their columns. */
export async function keysOfUsers(
  userBatches: Pick<Repositories['userBatches'], 'keys'>,
  users: readonly ImportedUser[],
): Promise<Record<string, string>[]> {
  const texts = users.map(({ username, email, sub }) =>
    Object.entries(defined({ username, email: email ?? undefined, sub })),
  );
  const keys = await userBatches.keys(texts.flatMap((own) => own.map(([, text]) => text)));
  let next = 0;
  return texts.map((own) => Object.fromEntries(own.map(([column]) => [column, keys[next++]!])));
}

/** The columns whose keys are among these. */
export const columnsIn = (own: Record<string, string>, taken: ReadonlySet<string>): string =>
  Object.keys(own)
    .filter((column) => taken.has(own[column]!))
    .join(', ');

/**
 * Whether a row may change a user: one whose name only looks like that of the row, or who is known by an identity, may be another person
 * (security R155).
 */
function refusalOf(before: User, user: ImportedUser, links: readonly LinkedIdentity[]): ImportOutcome | undefined {
  const isOwn = ({ connectionId, subject }: LinkedIdentity) =>
    connectionId === user.connection && subject === user.subject;
  const isIdentity = user.connection !== undefined || user.subject !== undefined;
  if (isIdentity && !links.some(isOwn)) return refused('subject', 'other-identity');
  if (isIdentity || user.sub !== undefined) return undefined;
  if (links.length > 0) return refused('username', 'linked');
  return sameButForCase(before.username, user.username) ? undefined : refused('username', 'other-spelling');
}

/** Whether links that were made without a person would become a way to power (security R165). */
async function refusalOfPower(
  repositories: Repositories,
  before: User,
  user: ImportedUser,
  guarded: readonly string[],
): Promise<ImportOutcome | undefined> {
  if (!givesPower(before, user, guarded)) return undefined;
  const passwordHash = before.passwordHash ?? user.passwordHash;
  const { refused: why } = await unlessUndecided(
    requireDecidedLinks(repositories, { ...before, passwordHash }, 'groups'),
  );
  return why && refused(user.admin && !before.admin ? 'admin' : 'groups', why);
}

/** A final sigma is a sigma. */
const sameButForCase = (one: string, other: string): boolean => {
  const [a, b] = [one, other].map((name) => name.trim().toLowerCase().replaceAll('ς', 'σ'));
  return a === b;
};

/** Changes an existing user. The password stays: it may be newer than the imported one. */
async function change(
  repositories: Repositories,
  by: Actor,
  before: User,
  user: ImportedUser,
  { admins, guarded, links }: { admins: boolean; guarded: readonly string[]; links: readonly LinkedIdentity[] },
  events: AuditEvent[],
): Promise<ImportOutcome> {
  if (user.sub !== undefined && user.sub !== before.sub) return refused('sub', 'other-sub');
  if (before.admin && !admins) return refused('username', 'is-administrator');
  const losesPower =
    before.admin && before.status === 'enabled' && (user.admin === false || user.status === 'disabled');
  if (losesPower && !(await repositories.users.hasAdmin(before.sub))) return refused('admin', 'last-administrator');
  const claims = user.claims && { ...before.claims, ...user.claims };
  const { email, status, admin, groups } = user;
  const isSame = user.email === undefined || user.email === before.email;
  // of a confirmed address, a word says nothing new
  const saysNothing = isSame && before.emailVerified && user.confirmedBy === 'word';
  const confirmedBy = saysNothing ? undefined : user.confirmedBy;
  const change = { email, confirmedBy, status, admin, groups, claims };
  const wanted = {
    ...before,
    ...defined(change),
    email: user.email === undefined ? before.email : (user.email ?? undefined),
    confirmedBy: confirmedBy === undefined ? before.confirmedBy : (confirmedBy ?? undefined),
    passwordHash: before.passwordHash ?? user.passwordHash,
  };
  if (userEvent(before, wanted) === undefined) return { outcome: 'unchanged' };
  const reason = refusalOf(before, user, links) ?? (await refusalOfPower(repositories, before, user, guarded));
  if (reason) return reason;
  if (user.passwordHash !== undefined && before.passwordHash === undefined)
    await repositories.users.setPassword(before.sub, user.passwordHash);
  const after = (await repositories.users.update(before.sub, change))!;
  const event = userEvent(before, after);
  if (event) events.push({ ...event, ...by, outcome: 'success' });
  return event ? { outcome: 'updated', ...noteOf(after) } : { outcome: 'unchanged' };
}

const noteOf = (user: User): { note?: ImportNote } => (hasOtherAddressAsName(user) ? { note: 'other-address' } : {});

const defined = <T extends object>(value: T): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<T>;
