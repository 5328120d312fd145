// Compares configuration files with what exists: the steps that make both equal, and what each does to users (federation 10).
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Input } from '../../../entities/entity.ts';
import { invalidRequest, OAuthError } from '../../../oauth/errors.ts';
import { firstRefusal } from '../../../oauth/refusals.ts';
import { without } from '../../../entities/file.ts';
import type { OperationContext } from '../operation.ts';
import { apiVersion, type ConfigFile, type Entry, type FileText, readConfigFile } from './config-file.ts';
import { differenceOf, type FileNoun, type Found, type Secrets, type Wanted } from './noun.ts';
import { fileNouns } from './nouns.ts';
import type { ReadSecret } from './secret-sources.ts';

/** One change of a plan, as people and programs read it: no secret is in it (federation FR45). */
export interface PlannedChange {
  section: string;
  key: string;
  act: 'create' | 'change' | 'delete' | 'keep';
  /** The old and the new values of members; of a secret `(set)` or `(changes)`. */
  members: Record<string, { old?: unknown; new?: unknown }>;
  /** The set of files that keeps it so far, or null where none does: it is taken over. */
  from?: string | null;
  /** How much ends, or waits. */
  effects?: Record<string, number>;
  /** What the plan saw: apply refuses when it has changed. */
  saw?: string;
}

export interface PlanOptions {
  /** Deletes what the set of files made and no longer has. */
  prune: boolean;
  /** Enables what an administrator disabled. */
  enable: boolean;
}

/** A change with what it takes to make it. */
export interface Step {
  planned: PlannedChange;
  noun: FileNoun;
  found?: Found;
  wanted?: Wanted;
  change: Input;
  secrets: Secrets;
  fault?: Entry['fault'];
}

export interface Steps {
  steps: Step[];
  /** What differs and stays, one sentence each. */
  notes: string[];
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 22);
const called = ({ of }: FileNoun, key: string) => `${of.one} ${key}`;

/** All secrets of an entry, and those that change something, by their members. @throws OAuthError */
function changingSecrets(
  context: OperationContext,
  { noun, wanted, fault }: Entry,
  found: Found | undefined,
  read: ReadSecret,
): [Secrets, Secrets] {
  const all = Object.entries(wanted.secrets).map(([name, source]) => {
    try {
      const secret = read(source, name);
      const { error } = z
        .object({ [name]: noun.of.members[name]!.rule.optional() })
        .safeParse({ [name]: secret.value });
      if (error) throw invalidRequest(firstRefusal(error, noun.of.one));
      return [name, secret] as const;
    } catch (error) {
      throw error instanceof OAuthError ? fault(error.description, name) : error;
    }
  });
  const isMoved = found !== undefined && noun.moves?.(context, found, wanted) === true;
  const changing = all.filter(([name, { value }]) => {
    const now = found?.secrets[name];
    if (!now?.set || isMoved) return true;
    return value !== undefined && !now.equals(value);
  });
  return [Object.fromEntries(all), Object.fromEntries(changing)];
}

const shownMembers = (before: Input, change: Input, secrets: Secrets, found?: Found) => ({
  ...Object.fromEntries(
    Object.entries(change)
      .filter(([name, value]) => !(value === null && before[name] === undefined))
      .map(([name, value]) => [
        name,
        { ...(before[name] !== undefined && { old: before[name] }), ...(value !== null && { new: value }) },
      ]),
  ),
  ...Object.fromEntries(
    Object.keys(secrets).map((name) => [
      name,
      found?.secrets[name]?.set ? { old: '(set)', new: '(changes)' } : { new: '(set)' },
    ]),
  ),
});

/** @throws OAuthError invalid_request */
export async function stepsOf(
  context: OperationContext,
  file: ConfigFile,
  read: ReadSecret,
  { prune, enable }: PlanOptions,
): Promise<Steps> {
  const keepers = new Map<string, string>();
  const idOf = (section: string, key: string, madeAt: string) => [section, key, madeAt].join('\0');
  for (const { section, key, fileSet, madeAt } of await context.store.keptObjects.list())
    keepers.set(idOf(section, key, madeAt), fileSet);
  const keeperOf = ({ section }: FileNoun, { key, madeAt }: Found) => keepers.get(idOf(section, key, madeAt));
  const steps: Step[] = [];
  const notes: string[] = [];
  const deletions: Step[] = [];
  for (const noun of fileNouns()) {
    const existing = new Map((await noun.list(context)).map((found) => [found.key, found]));
    const entries = file.entries.filter((entry) => entry.noun === noun);
    for (const entry of entries) {
      const found = existing.get(entry.wanted.key);
      const step = stepOf(entry, found, found && keeperOf(noun, found));
      if (step) steps.push(step);
    }
    const named = new Set(entries.map(({ wanted }) => wanted.key));
    for (const found of existing.values()) {
      if (named.has(found.key) || keeperOf(noun, found) !== file.name) continue;
      if (prune) deletions.unshift(deletionOf(noun, found));
      else notes.push(`the ${called(noun, found.key)} is no longer in the file: --prune deletes it`);
    }
  }
  return { steps: [...steps, ...deletions], notes };

  function stepOf(entry: Entry, found: Found | undefined, keeper: string | undefined): Step | undefined {
    const { noun, wanted, fault } = entry;
    const [all, secrets] = changingSecrets(context, entry, found, read);
    try {
      noun.check?.(context, wanted, all, found);
    } catch (error) {
      throw error instanceof OAuthError ? fault(error.description, error.refusal?.member) : error;
    }
    const about = { section: noun.section, key: wanted.key };
    if (!found) {
      const change = differenceOf(noun.of, {}, wanted.values);
      const members = shownMembers({}, change, secrets);
      return { planned: { ...about, act: 'create', members }, noun, wanted, change, secrets, fault };
    }
    // a default appearance takes nothing from another set of files
    const isTaken =
      keeper !== file.name && !(noun.isSingle && keeper === undefined && Object.keys(found.shown).length === 0);
    if (isTaken && !file.adopt)
      throw fault(
        keeper === undefined
          ? `the ${called(noun, found.key)} exists, and no file made it: adopt: true at the top of the file takes it over`
          : `the ${called(noun, found.key)} is managed by ${keeper}: adopt: true at the top of the file takes it over`,
      );
    const { status, ...rest } = differenceOf(noun.of, found.shown, wanted.values);
    const isStopped = status === 'enabled' && found.shown['status'] === 'disabled' && !enable;
    if (isStopped) notes.push(`the ${called(noun, found.key)} is disabled and stays so: --enable enables it`);
    const change = { ...rest, ...(status !== undefined && !isStopped && { status }) };
    const fixed = Object.keys(change).find((name) => noun.of.members[name]?.fixed);
    if (fixed !== undefined)
      throw fault(`${fixed} never changes: delete the ${noun.of.one}, and create it anew`, fixed);
    const members = shownMembers(found.shown, change, secrets, found);
    if (Object.keys(members).length === 0 && !isTaken) return undefined;
    const act = Object.keys(members).length === 0 ? 'keep' : 'change';
    const from = isTaken && { from: keeper ?? null };
    const planned: PlannedChange = { ...about, act, members, ...from, saw: digestOf(found.version) };
    return { planned, noun, found, wanted, change, secrets, fault };
  }

  function deletionOf(noun: FileNoun, found: Found): Step {
    const planned: PlannedChange = {
      section: noun.section,
      key: found.key,
      act: 'delete',
      members: {},
      saw: digestOf(found.version),
    };
    return { planned, noun, found, change: {}, secrets: {} };
  }
}

/** Adds how much each change ends. */
export async function withEffects(context: OperationContext, { steps }: Steps): Promise<PlannedChange[]> {
  const planned: PlannedChange[] = [];
  for (const { planned: one, noun, found, change } of steps) {
    const counted = found && (await noun.effects?.(context, found, one.act === 'delete' ? undefined : change));
    const effects = Object.fromEntries(Object.entries(counted ?? {}).filter(([, count]) => count > 0));
    planned.push({ ...one, ...(Object.keys(effects).length > 0 && { effects }) });
  }
  return planned;
}

/** A plan that is stored until it is applied. It has the texts of its files, which have no secrets. */
export interface Plan extends PlanOptions {
  apiVersion: string;
  name: string;
  changes: PlannedChange[];
  notes: string[];
  files: { name: string; text: string }[];
  /** The folder to which paths of secrets are relative; a request has none. */
  folder?: string;
}

/** @throws OAuthError invalid_request */
export async function makePlan(
  context: OperationContext,
  files: readonly FileText[],
  read: ReadSecret,
  { prune, enable }: PlanOptions,
): Promise<Plan> {
  const file = await readConfigFile(context, files);
  const found = await stepsOf(context, file, read, { prune, enable });
  const changes = await withEffects(context, found);
  return { apiVersion, name: file.name, prune, enable, changes, notes: found.notes, files: [...files] };
}

/** What must be the same when a plan is applied. */
export const bound = (changes: readonly PlannedChange[]): string =>
  JSON.stringify(changes.map((change) => without({ ...change }, 'effects')));

/** Reads a stored plan. @throws OAuthError invalid_request */
export function readPlan(given: unknown): Plan {
  const plan = given as Partial<Plan> | null;
  const isPlan =
    typeof plan === 'object' &&
    plan !== null &&
    Array.isArray(plan.changes) &&
    Array.isArray(plan.files) &&
    plan.files.every((one: unknown) => {
      const { name, text } = (one ?? {}) as Record<string, unknown>;
      return typeof name === 'string' && typeof text === 'string';
    }) &&
    ['string', 'undefined'].includes(typeof plan.folder) &&
    [plan.prune, plan.enable].every((one) => typeof one === 'boolean');
  if (!isPlan) throw invalidRequest('this is not a plan: send the plan of a file');
  return plan as Plan;
}
