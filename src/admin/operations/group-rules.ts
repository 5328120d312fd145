// Reads and writes a rule for groups as the line that an administrator types, in the console and on the command line.
import type { GroupRule } from '../../repositories/connections/connections.ts';

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
