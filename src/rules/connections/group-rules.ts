// Declares the rules by which a connection gives groups, and reads and writes one as the line that an administrator types, in the console and on the command line.
import { z } from 'zod';
import { text } from '../../oauth/text.ts';
import { groupName } from '../users/administration.ts';
import { readName } from './distinguished-name.ts';

/** The group for a value in the answer. With `all`, each value is the name of a group, after the prefix. */
export const groupRule = z.union([
  z.strictObject({ equals: text(1000), group: groupName }),
  z.strictObject({ dn: text(4000).refine((dn) => readName(dn) !== undefined), group: groupName }),
  z.strictObject({ starts_with: text(1000), group: groupName }),
  z.strictObject({ all: z.literal(true), prefix: text(100) }),
]);
export type GroupRule = z.infer<typeof groupRule>;

/** `value = group`; `prefix* = group` for values that begin so; `dn:DN = group` for one entry of a directory; `* = prefix*` for every value. The schema checks what it is. */
export function ruleOf(line: string): unknown {
  const at = line.lastIndexOf('=');
  const [value, group] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  if (value === '*' && group.endsWith('*')) return { all: true, prefix: group.slice(0, -1) };
  if (/^dn:/i.test(value)) return { dn: value.slice(3).trim(), group };
  return value.endsWith('*') ? { starts_with: value.slice(0, -1), group } : { equals: value, group };
}

export function lineOf(rule: GroupRule): string {
  if ('all' in rule) return `* = ${rule.prefix}*`;
  if ('dn' in rule) return `dn:${rule.dn} = ${rule.group}`;
  return 'equals' in rule ? `${rule.equals} = ${rule.group}` : `${rule.starts_with}* = ${rule.group}`;
}
