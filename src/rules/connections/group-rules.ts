// Declares the rules by which a connection gives groups, and reads one from the line that an administrator types on the command line.
import { z } from 'zod';
import { text } from '../../oauth/text.ts';
import { groupName } from '../users/administration.ts';
import { readName } from './distinguished-name.ts';

/** The members of rules. A rule has a value and a group; or, with `all`, each value is the name of a group, after the prefix. */
export const groupRuleMembers = {
  equals: text(1000),
  dn: text(4000).refine((dn) => readName(dn) !== undefined),
  starts_with: text(1000),
  group: groupName,
  prefix: text(100),
};
const { equals, dn, starts_with, group, prefix } = groupRuleMembers;
/** The group for a value in the answer. */
export const groupRule = z.union([
  z.strictObject({ equals, group }),
  z.strictObject({ dn, group }),
  z.strictObject({ starts_with, group }),
  z.strictObject({ all: z.literal(true), prefix }),
]);
export type GroupRule = z.infer<typeof groupRule>;

/** `value = group`; `prefix* = group` for values that begin so; `dn:DN = group` for one entry of a directory; `* = prefix*` for every value. The schema checks what it is. */
export function ruleOf(line: string): unknown {
  const at = line.lastIndexOf('=');
  const [value, name] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  if (value === '*' && name.endsWith('*')) return { all: true, prefix: name.slice(0, -1) };
  if (/^dn:/i.test(value)) return { dn: value.slice(3).trim(), group: name };
  return value.endsWith('*') ? { starts_with: value.slice(0, -1), group: name } : { equals: value, group: name };
}
