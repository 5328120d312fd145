// Lists the languages that a user may choose from, each by its own name.
import { languageName } from '../../pages/language.ts';

const tags = (
  'ar bg bn ca cs da de de-AT de-CH el en en-GB en-US es es-MX et eu fa fi fr fr-CA fr-CH ga gl he hi hr hu hy id is it ja ka ko lt lv ' +
  'mk ms mt nb nl nn pl pt pt-BR ro ru sk sl sq sr sv sw ta th tr uk ur vi zh-Hans zh-Hant'
).split(' ');

let named: { value: string; label: string }[] | undefined;

/** @param present the stored language, which may be one that the list lacks */
export function languages(present: string): { value: string; label: string }[] {
  // made on first use: it would add a tenth to the time of a start
  named ??= tags.map((value) => ({ value, label: languageName(value) }));
  const known = named.some(({ value }) => value === present) || present === '';
  return known ? named : [{ value: present, label: languageName(present) }, ...named];
}
