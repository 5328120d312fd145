// Writes what exists as a configuration file: sorted, without defaults, with the names of variables in place of secrets (federation 10).
import type { Input } from '../../../entities/entity.ts';
import { reservedName, writeYaml } from '../../../rules/files/yaml-text.ts';
import type { OperationContext } from '../operation.ts';
import { harmless } from '../text-table.ts';
import { apiVersion } from './config-file.ts';
import { secretsOf, type SecretSource } from '../../../entities/file.ts';
import type { FileNoun } from './noun.ts';
import { fileNouns } from './nouns.ts';

/** By code units, as every program sorts. */
const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);

/** Two names can differ in characters that no variable has: the second gets a number. */
function withOwnVariables({ of }: FileNoun, entry: Input, taken: Set<string>): Input {
  const secrets = secretsOf(of).flatMap((member): [string, Input][] => {
    const { env } = (entry[member] ?? {}) as SecretSource;
    if (env === undefined) return [];
    let own = env;
    for (let number = 2; taken.has(own); number++) own = `${env}_${number}`;
    taken.add(own);
    return [[member, { env: own }]];
  });
  return { ...entry, ...Object.fromEntries(secrets) };
}

/** Whether a file could not have this entry. */
const hasReservedName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, inner]) => name === reservedName || hasReservedName(inner));

/** @param name of the set of files @param all also what clients registered themselves */
export async function exportConfig(context: OperationContext, name: string, all: boolean): Promise<string> {
  const sections: Input = {};
  const variables = new Set<string>();
  const leftOut: string[] = [];
  for (const noun of fileNouns().toSorted((a, b) => (a.section < b.section ? -1 : 1))) {
    const found = (await noun.list(context)).filter(({ isForeign }) => all || !isForeign).sort(byKey);
    const entered = found.map((one) => [one.key, withOwnVariables(noun, one.entry(), variables)] as const);
    const [odd, usual] = [true, false].map((is) =>
      entered.filter((one) => hasReservedName(Object.fromEntries([one])) === is),
    );
    leftOut.push(...odd!.map(([key]) => `${noun.section}.${key}`));
    const entries = Object.fromEntries(usual!);
    const section = noun.isSingle ? entries[noun.section] : entries;
    if (Object.keys(section ?? {}).length > 0) sections[noun.section] = section;
  }
  // a service that was made by hand comes under files by its own export
  const text = await writeYaml({ apiVersion, name, adopt: true, ...sections });
  const notes = leftOut.map((one) => `# ${harmless(one)} is left out: no file can have the name ${reservedName}\n`);
  return notes.join('') + text;
}
