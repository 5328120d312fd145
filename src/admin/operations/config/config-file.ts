// Reads configuration files: what each entry stands for, or the first fault with its line (federation 10).
import type { Input } from '../../../entities/entity.ts';
import { invalidRequest, OAuthError } from '../../../oauth/errors.ts';
import {
  maxAll,
  readYaml,
  YamlFault,
  type YamlMap,
  type YamlText,
  type YamlValue,
} from '../../../rules/files/yaml-text.ts';
import { nearestOf } from '../../../rules/files/near-names.ts';
import type { OperationContext } from '../operation.ts';
import type { FileNoun, Wanted } from './noun.ts';
import { fileNouns } from './nouns.ts';

export const apiVersion = 'gatehouse/v1';

/** One text of a configuration. @param name as a fault names it */
export interface FileText {
  name: string;
  text: string;
  /** What the text says, where it was read before. */
  read?: YamlText;
}

export interface Entry {
  noun: FileNoun;
  wanted: Wanted;
  /** Throws a refusal with the place of the entry. */
  fault(reason: string, member?: string): OAuthError;
}

export interface ConfigFile {
  /** The file set, which keeps what it made. */
  name: string;
  /** Whether it takes over what others made. */
  adopt: boolean;
  entries: Entry[];
}

/** A name that events and pages can show. */
const setName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const topMembers = ['apiVersion', 'name', 'adopt'];

interface Read extends YamlText {
  fault(path: readonly string[], sentence: string): OAuthError;
}

async function readText({ name, text, read: before }: FileText): Promise<Read> {
  const place = (line: number, sentence: string) => invalidRequest(`line ${line} of ${name}: ${sentence}`);
  try {
    const read = before ?? (await readYaml(text));
    return { ...read, fault: (path, sentence) => place(read.lineOf(path), sentence) };
  } catch (error) {
    throw error instanceof YamlFault ? place(error.line, error.message) : error;
  }
}

/** Says that a name is unknown, and which ones are most like it. */
export const near = (name: string, names: readonly string[]): string =>
  `${JSON.stringify(name).slice(1, 65)} is unknown: the most similar names are ${nearestOf(name, names).join(', ')}`.replace(
    '"',
    '',
  );

/** @throws OAuthError invalid_request that names the file and the line */
export async function readConfigFile(context: OperationContext, texts: readonly FileText[]): Promise<ConfigFile> {
  if (texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) > maxAll)
    throw invalidRequest(`the files have more than ${maxAll / 1024 / 1024} MiB together`);
  const file: ConfigFile = { name: '', adopt: false, entries: [] };
  const nouns = fileNouns();
  const seen = new Set<string>();
  for (const text of texts) {
    const read = await readText(text);
    readTop(read, file);
    for (const noun of nouns) {
      const section = sectionOf(read, noun.section);
      const entries = noun.isSingle ? { ...(section && { [noun.section]: section }) } : (section ?? {});
      for (const [key, entry] of Object.entries(entries)) {
        const path = noun.isSingle ? [noun.section] : [noun.section, key];
        if (seen.has(path.join('\0'))) throw read.fault(path, `${noun.section}.${key} stands in two files`);
        seen.add(path.join('\0'));
        file.entries.push(entryOf(context, read, noun, key, path, entry));
      }
    }
  }
  if (file.name === '')
    throw invalidRequest(`line 1 of ${texts[0]?.name ?? 'the file'}: name is missing: it names this set of files`);
  const order = (noun: FileNoun) => nouns.indexOf(noun);
  file.entries.sort((a, b) => order(a.noun) - order(b.noun));
  return file;
}

/** Reads what the file says of itself. */
function readTop({ value, fault }: Read, file: ConfigFile): void {
  const sections = fileNouns().map(({ section }) => section);
  const { apiVersion: version, name, adopt = false } = value;
  if (version !== apiVersion) throw fault(['apiVersion'], `apiVersion must be ${apiVersion}`);
  for (const member of Object.keys(value)) {
    if (member === 'settings')
      throw fault([member], 'settings stay in the environment of the service: a file has none of them');
    if (!topMembers.includes(member) && !sections.includes(member))
      throw fault([member], near(member, [...topMembers, ...sections]));
  }
  if (typeof adopt !== 'boolean') throw fault(['adopt'], 'adopt must be true or false');
  if (name !== undefined && (typeof name !== 'string' || !setName.test(name)))
    throw fault(['name'], 'name must have 1 to 63 letters, digits, dots, hyphens and underscores');
  if (name !== undefined && file.name !== '' && name !== file.name)
    throw fault(['name'], `name must be ${file.name}, as in the other files`);
  file.name = name ?? file.name;
  file.adopt ||= adopt;
}

function sectionOf({ value, fault }: Read, section: string): YamlMap | undefined {
  const entries = Object.hasOwn(value, section) ? value[section] : undefined;
  if (entries === undefined || entries === null) return undefined;
  if (typeof entries !== 'object' || Array.isArray(entries))
    throw fault([section], `${section} must be a mapping: the name of each entry, and its members`);
  return entries;
}

function entryOf(
  context: OperationContext,
  read: Read,
  noun: FileNoun,
  key: string,
  path: readonly string[],
  entry: YamlValue,
): Entry {
  const fault = (reason: string, member = '') =>
    read.fault([...path, ...member.split('.')], `${path.join('.')}: ${reason}`);
  if (entry !== null && (typeof entry !== 'object' || Array.isArray(entry))) throw fault('the entry must be a mapping');
  let wanted: Wanted;
  try {
    wanted = noun.read(context, key, entry);
  } catch (error) {
    throw error instanceof OAuthError ? explained(error, noun, entry, fault) : error;
  }
  if (wanted.key !== key) throw fault(`the name is written ${wanted.key}`);
  return { noun, wanted, fault };
}

/** An administrator can allow it, so other answers do not say it. */
const developmentHint = 'development: true also allows http at private addresses and at names such as shop.test';

/** The same refusal with its place; for an unknown member with the names that are most like it. */
function explained(error: OAuthError, noun: FileNoun, entry: YamlValue, fault: Entry['fault']): OAuthError {
  const { refusal, description } = error;
  if (refusal?.code === 'address.http') return fault(`${description} (${developmentHint})`, refusal.member);
  if (refusal?.code !== 'unknown' || !isUnknown(entry, noun, refusal.member))
    return fault(description, refusal?.member);
  return fault(
    near(
      refusal.member,
      Object.keys(noun.of.members).filter((name) => name !== noun.key),
    ),
    refusal.member,
  );
}

const isUnknown = (entry: YamlValue, { of }: FileNoun, member: string): boolean =>
  Object.hasOwn((entry ?? {}) as Input, member) && !Object.hasOwn(of.members, member);
