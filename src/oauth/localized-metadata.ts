// Reads and writes client metadata in several languages: `client_name#fr` in a registration (RFC 7591 2.2), `localized` where they are stored.
import { z } from 'zod';
import { displayText, webUri } from './display-text.ts';
import { languageTag } from './language-tag.ts';
import { rule } from './refusals.ts';

const texts = {
  client_name: displayText.optional(),
  client_uri: webUri.optional(),
  logo_uri: webUri.optional(),
  policy_uri: webUri.optional(),
  tos_uri: webUri.optional(),
};
type LocalizedMember = keyof typeof texts;
const members = Object.keys(texts) as LocalizedMember[];

const maxLanguages = 20;

/** What users see of a client, by language. The member without a language is for all others. */
export type Localized = Readonly<Record<string, Readonly<Partial<Record<LocalizedMember, string | undefined>>>>>;
export const localizedMetadata = z
  .record(languageTag, z.strictObject(texts), rule('language'))
  .refine((languages) => Object.keys(languages).length <= maxLanguages, rule('entries', { most: String(maxLanguages) }))
  .optional()
  .describe(
    'The members client_name, client_uri, logo_uri, policy_uri and tos_uri in further languages, by language tag. A registration writes them as client_name#fr.',
  );

const tagged = new RegExp(`^(${members.join('|')})#(.*)$`, 's');

/** The metadata with the members that have a language tag under `localized`. */
export function readLocalized(input: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(input).filter((name) => name.includes('#') && tagged.test(name));
  if (names.length === 0) return input;
  // own members only: a tag may have the name of a member that every object has
  const languages = new Map<string, Record<string, unknown>>(
    isObject(input['localized']) ? (Object.entries(input['localized']) as [string, Record<string, unknown>][]) : [],
  );
  for (const name of names) {
    const [, member, tag] = tagged.exec(name)!;
    languages.set(tag!, { ...languages.get(tag!), [member!]: input[name] });
  }
  return { ...input, localized: Object.fromEntries(languages) };
}

/** The members of `localized` as a registration writes them. */
export const writeLocalized = (localized: Localized | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(localized ?? {}).flatMap(([tag, values]) =>
      members.flatMap((member) => (values[member] === undefined ? [] : [[`${member}#${tag}`, values[member]]])),
    ),
  );

/** The member of a refusal as a registration writes it. */
export function taggedName(member: string): string {
  const [whole, tag, name] = member.split('.');
  return whole === 'localized' && tag !== undefined && name !== undefined ? `${name}#${tag}` : member;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
