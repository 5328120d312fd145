// Refuses a change of what a set of configuration files keeps, and says which set keeps one (federation 10).
import type { Input } from '../../../entities/entity.ts';
import { secretsOf } from '../../../entities/file.ts';
import { keptByFile } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import type { OperationCall, OperationContext } from '../operation.ts';
import { differenceOf, type FileNoun, type Found } from './noun.ts';
import { nounOfOperation } from './nouns.ts';

/** One that a set of files keeps. */
export interface Kept {
  noun: FileNoun;
  found: Found;
  fileSet: string;
}

/** @param name as the path of an operation names one */
export async function keptOne(context: OperationContext, noun: FileNoun, name: string): Promise<Kept | undefined> {
  const found = name.includes('\0') ? undefined : await noun.find(context, name);
  if (!found) return undefined;
  const kept = await context.store.keptObjects.find(noun.section, found.key);
  // one that was deleted without its files, and made anew by hand, has another time
  return kept?.madeAt === found.madeAt ? { noun, found, fileSet: kept.fileSet } : undefined;
}

/** The kept one that a page shows or changes. @param operation the one whose permission the page asks for */
export async function keptOnPage(
  context: OperationContext,
  operation: object,
  params: Readonly<Record<string, string>>,
): Promise<Kept | undefined> {
  const noun = nounOfOperation(operation);
  const name = noun && (noun.isSingle ? noun.section : params[noun.on.param]);
  return noun && name !== undefined ? keptOne(context, noun, name) : undefined;
}

/** @throws OAuthError kept_by_file */
export async function refuseKept(
  operation: object,
  context: OperationContext,
  { params, input }: Pick<OperationCall, 'params' | 'input'>,
): Promise<void> {
  const noun = nounOfOperation(operation);
  if (!noun || noun.on.shows.includes(operation)) return;
  for (const name of namesIn(noun, params, input)) {
    const kept = await keptOne(context, noun, name);
    if (kept && !(noun.on.change === operation && isAllowed(context, kept, input as Input))) throw refusalOf(kept);
  }
}

export const refusalOf = ({ noun, found, fileSet }: Kept) =>
  keptByFile(refusal('kept-by-file', noun.section, { one: noun.of.one, key: found.key, files: fileSet }));

const namesIn = (noun: FileNoun, params: unknown, input: unknown): string[] =>
  noun.isSingle
    ? [noun.section]
    : (noun.on.namesIn?.(params, input) ?? [String((params as Record<string, unknown>)[noun.on.param])]);

/** Whether a change leaves what a file has, or only disables. @throws OAuthError invalid_request */
function isAllowed(context: OperationContext, { noun, found }: Kept, input: Input): boolean {
  const { of, key, on } = noun;
  const before: Input = { ...found.shown, [key]: found.key };
  const given = Object.entries(input).filter(([name, value]) => Object.hasOwn(of.members, name) && value !== undefined);
  // whether it is the same secret does not matter: its time changes
  if (given.some(([name]) => secretsOf(of).includes(name))) return false;
  const after = given.map(([name, value]) => [
    name,
    on.merged?.includes(name) ? { ...(before[name] as object), ...(value as object) } : value,
  ]);
  const wanted: Input = { ...before, ...Object.fromEntries(after) };
  const { status, ...others } = differenceOf(of, before, on.complete?.(context, wanted) ?? wanted);
  return Object.keys(others).length === 0 && (status === undefined || status === 'disabled');
}
