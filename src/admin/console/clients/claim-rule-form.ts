// Declares the form of a rule for claims, and makes the rule that its fields say.
import { type FormMember, lines, type Typing } from '../../../entities/field.ts';
import { type ClaimPlace, claimPlaces } from '../../../rules/claims/claim-rules.ts';
import { inputOf, type Typed } from '../form.ts';

/** Replacements on a line each, old=new. */
const replacements: Typing = {
  write: (map: Readonly<Record<string, string>>) =>
    Object.entries(map)
      .map(([old, value]) => `${old}=${value}`)
      .join('\n'),
  read: (text) =>
    Object.fromEntries(
      (lines.read(text) as string[]).map((line) => {
        const at = line.indexOf('=');
        return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
    ),
};

const optional = { kind: 'text', removable: true } as const;
export const ruleForm: readonly FormMember[] = [
  { name: 'claim', kind: 'text', required: true },
  { name: 'from', kind: 'text', required: true, list: 'sources' },
  { name: 'value', ...optional },
  { name: 'prefix', ...optional },
  { name: 'strip', ...optional },
  { name: 'default', ...optional },
  { name: 'case', kind: 'select', removable: true, choices: ['', 'lower', 'upper'] },
  { name: 'as', kind: 'select', removable: true, choices: ['', 'list', 'first', 'joined'] },
  { name: 'one_of', kind: 'lines', removable: true },
  { name: 'map', kind: 'lines', removable: true, typing: replacements },
  { name: 'into', kind: 'boxes', choices: claimPlaces },
];

/** The places that the form of a new rule has chosen. */
export const usualPlaces: readonly ClaimPlace[] = ['id_token', 'userinfo'];

/** The rule that the fields make; its schema checks it. */
export function ruleOf(typed: Typed): Record<string, unknown> {
  const { value, prefix, one_of, ...input } = inputOf(ruleForm, typed);
  const only = prefix !== null ? { prefix } : one_of !== null ? { one_of } : undefined;
  return Object.fromEntries(
    Object.entries({ ...input, value: input['from'] === 'constant' ? (value ?? '') : null, only }).filter(
      ([, given]) => given !== null && given !== undefined,
    ),
  );
}
