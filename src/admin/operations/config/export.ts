// Writes what exists as a configuration file: sorted, without defaults, with the names of variables in place of secrets (federation 10).
import type { Input } from '../../../entities/entity.ts';
import { writeYaml } from '../../../rules/files/yaml-text.ts';
import type { OperationContext } from '../operation.ts';
import { apiVersion } from './config-file.ts';
import { fileNouns } from './nouns.ts';

/** By code units, as every program sorts. */
const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);

/** @param name of the set of files @param all also what clients registered themselves */
export async function exportConfig(context: OperationContext, name: string, all: boolean): Promise<string> {
  const sections: Input = {};
  for (const noun of [...fileNouns].sort((a, b) => (a.section < b.section ? -1 : 1))) {
    const found = (await noun.list(context)).filter(({ isForeign }) => all || !isForeign).sort(byKey);
    const entries = Object.fromEntries(found.map((one) => [one.key, one.entry()]));
    const section = noun.isSingle ? entries[noun.section] : entries;
    if (Object.keys(section ?? {}).length > 0) sections[noun.section] = section;
  }
  // a service that was made by hand comes under files by its own export
  return writeYaml({ apiVersion, name, adopt: true, ...sections });
}
