// Finds what a field picks: the things of a noun that words find, for the list below the field, and the key of a thing whose name was typed.
import type { FormMember } from '../../entities/field.ts';
import { isPermitted } from '../../entities/permission.ts';
import { storableClaims } from '../../oauth/claim-names.ts';
import { operations } from '../operations/index.ts';
import type { AdminSession } from './admin-session.ts';
import type { Typed } from './form.ts';

/** A thing that a field offers: what the field then has, and what else says which one it is. */
export interface Picked {
  value: string;
  name: string;
}

/** The most things that the list below a field has. */
export const mostPicked = 10;
/** Of nouns without a search, which are few, so many are read. */
const mostRead = 200;

/** The member that a field has, the members that name the thing, and whether its key is none that users type (`coded`). */
interface Shape {
  key: string;
  names: readonly string[];
  searched?: true;
  coded?: true;
}
const shapes: Readonly<Record<string, Shape>> = {
  users: { key: 'username', names: ['email', 'sub'], searched: true },
  groups: { key: 'name', names: ['description'], searched: true },
  clients: { key: 'client_id', names: ['client_name'], searched: true, coded: true },
  connections: { key: 'id', names: ['display_name'], coded: true },
  attributes: { key: 'name', names: [] },
  claims: { key: 'name', names: [] },
  scopes: { key: 'name', names: [] },
  resources: { key: 'resource', names: ['name'], coded: true },
};

/** Another noun of the API, which a member of an entity names by its key. */
const shapeOf = (noun: string): Shape => shapes[noun] ?? { key: 'id', names: ['display_name', 'name'], coded: true };

/** The operation that lists a noun. */
const listOf = (noun: string) =>
  operations.find(({ method, path }) => method === 'GET' && path === `/admin/api/${noun}`);

/** Names that the service itself gives to things, beside those that administrators define: `claims` are attributes and standard claims. */
const ownNames: Readonly<Record<string, { beside: string; names: readonly string[] }>> = {
  claims: { beside: 'attributes', names: storableClaims },
};

/** Whether a field can pick from a noun. */
export const isPicked = (noun: string): boolean => Object.hasOwn(ownNames, noun) || listOf(noun) !== undefined;

type Runs = Pick<AdminSession, 'by' | 'run'>;

/** The first things that words find; none for an administrator who may not see them. */
export const findPicked = async (admin: Runs, noun: string, words: string): Promise<Picked[]> =>
  (await read(admin, noun, words)).slice(0, mostPicked);

async function read(admin: Runs, noun: string, words: string): Promise<Picked[]> {
  const own = Object.hasOwn(ownNames, noun) ? ownNames[noun] : undefined;
  if (!own) return readListed(admin, noun, words);
  const found = own.names.filter((name) => name.includes(words.toLowerCase()));
  return [...(await readListed(admin, own.beside, words)), ...found.map((value) => ({ value, name: '' }))];
}

async function readListed({ by, run }: Runs, noun: string, words: string): Promise<Picked[]> {
  const list = listOf(noun);
  if (!list || !isPermitted(by.kind, list.permission, list.act)) return [];
  const { key, names, searched } = shapeOf(noun);
  const input = searched ? { limit: mostPicked, ...(words !== '' && { q: words }) } : { limit: mostRead };
  const answer = list.view(await run(list, {}, noun === 'users' ? { ...input, order: 'newest' } : input));
  const things = (answer as Record<string, Record<string, unknown>[]>)[noun] ?? [];
  const wanted = words.toLowerCase();
  return things
    .map((one) => ({ value: textOf(one, [key, 'name']), name: textOf(one, names) }))
    .filter(({ value, name }) => searched || `${value}\n${name}`.toLowerCase().includes(wanted));
}

const textOf = (one: Record<string, unknown>, members: readonly string[]): string => {
  const found = members.map((member) => one[member]).find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : '';
};

/** What was typed, with the key in place of each name that one thing has: a field takes names, too. */
export async function withKeys(admin: Runs, form: readonly FormMember[], typed: Typed): Promise<Typed> {
  const changed: Record<string, string | undefined> = { ...typed };
  for (const { name, kind, picks, fixed } of form) {
    const text = typed[name];
    if (!picks || !shapeOf(picks).coded || fixed || !text) continue;
    const entries = kind === 'lines' ? text.split(/\r?\n/) : [text];
    changed[name] = (await Promise.all(entries.map((entry) => keyOf(admin, picks, entry)))).join('\n');
  }
  return changed;
}

async function keyOf(admin: Runs, noun: string, entry: string): Promise<string> {
  const wanted = entry.trim().toLowerCase();
  if (wanted === '' || wanted.includes('\0')) return entry;
  const found = await read(admin, noun, entry.trim());
  if (found.some(({ value }) => value.toLowerCase() === wanted)) return entry;
  const named = found.filter(({ name }) => name.toLowerCase() === wanted);
  return named.length === 1 ? named[0]!.value : entry;
}
