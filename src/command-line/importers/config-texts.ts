// Writes the configuration of a move as texts that `config apply` reads: several files where one would be too large.
import { maxAll, readYaml, writeYaml, YamlFault } from '../../rules/files/yaml-text.ts';
import type { Entry } from './entries.ts';
import type { Report } from './report.ts';

export type ConfigSection = 'clients' | 'connections' | 'groups';
type Row = [section: ConfigSection, id: string, entry: Entry];

/** The texts with the names of their files: each section is a mapping by ids, in their order. */
export async function configTexts(
  name: string,
  entries: Record<ConfigSection, Map<string, Entry>>,
  report: Report,
): Promise<{ name: string; text: string }[]> {
  const rows = Object.entries(entries).flatMap(([section, all]) =>
    [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, entry]): Row => [section as ConfigSection, id, entry]),
  );
  const texts = await divided(name, rows);
  if (texts.length > 1)
    report.note(
      'file gatehouse.yaml',
      `One file of this size is not read, so there are ${texts.length} files: apply the folder.`,
    );
  if (texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > maxAll)
    report.note(
      'file gatehouse.yaml',
      'The files have more than 4 MiB together: apply them one after the other, each with a name of its own.',
    );
  return texts.map((text, index) => ({ name: index === 0 ? 'gatehouse.yaml' : `gatehouse-${index + 1}.yaml`, text }));
}

/** Halves what is too large for one file. */
async function divided(name: string, rows: readonly Row[]): Promise<string[]> {
  const text = await textOf(name, rows);
  if (rows.length < 2 || (await isRead(text))) return [text];
  const half = rows.length >> 1;
  return [...(await divided(name, rows.slice(0, half))), ...(await divided(name, rows.slice(half)))];
}

function textOf(name: string, rows: readonly Row[]): Promise<string> {
  const sections = new Map<string, Map<string, Entry>>();
  for (const [section, id, entry] of rows) {
    if (!sections.has(section)) sections.set(section, new Map());
    sections.get(section)!.set(id, entry);
  }
  return writeYaml(new Map<string, unknown>([['apiVersion', 'gatehouse/v1'], ['name', name], ...sections]));
}

async function isRead(text: string): Promise<boolean> {
  try {
    await readYaml(text);
    return true;
  } catch (error) {
    if (error instanceof YamlFault) return false;
    throw error;
  }
}
