// Shows a list of rules as lines, and reads the form of one rule: its kind decides the fields.
import { digest } from '../../crypto/secrets.ts';
import type { RuleField, RuleKind, RuleList } from '../../entities/field.ts';
import type { Refusal } from '../../oauth/refusals.ts';
import type { FieldView } from '../../pages/views/parts.ts';
import type { RuleLineView } from '../../pages/views/console-rules.ts';
import { checkedInput, fieldsOf, type Typed, typedOf } from './form.ts';

type Values = Readonly<Record<string, unknown>>;

/** Names a rule by what it says: a rule that was changed in the meantime is another one. */
export function idOf(rule: unknown): string {
  const sorted = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return digest('rule', JSON.stringify(rule, sorted)).toString('base64url').slice(0, 22);
}

/** Undefined for a rule of a newer version. */
export const kindOf = ({ kinds }: RuleList, rule: unknown): RuleKind | undefined =>
  kinds.find(({ is }) => is(rule as never));

/** The kinds that the list of this one offers, and the kind of a rule that it has. */
export const kindsFor = (list: RuleList, one: Values, rule?: unknown): RuleKind[] => {
  const own = rule === undefined ? undefined : kindOf(list, rule);
  return list.kinds.filter((kind) => kind === own || (kind.when?.(one) ?? true));
};

/** @param uri the address of a rule */
export const linesOf = (list: RuleList, rules: readonly unknown[], uri: (id: string) => string): RuleLineView[] =>
  rules.flatMap((rule) => {
    const [id, kind] = [idOf(rule), kindOf(list, rule)];
    return kind ? [{ id, uri: uri(id), ...kind.says(rule as never) }] : [];
  });

/** The values of the fields for a rule. */
export const valuesOf = (kind: RuleKind, rule: unknown): Values => kind.read?.(rule as never) ?? (rule as Values);

/** What the fields have for a rule, or for a new one. */
export const typedOfRule = (kind: RuleKind, values: Values): Typed => typedOf(kind.fields, values);

/** The fields that the form of a rule has. */
const shown = (kind: RuleKind, typed: Typed): RuleField[] =>
  kind.fields.filter(({ name, rare }) => !rare || (typed[name] ?? '') !== '');

export const viewOfRule = (kind: RuleKind, typed: Typed): FieldView[] => {
  const fields = shown(kind, typed);
  const views = fieldsOf(fields, typed);
  return views.map((view, index) => ({ ...view, ...(fields[index]!.words && { words: fields[index]!.words }) }));
};

/** What was typed as a rule, or all its faults. @param before the values of the rule that is changed: a field with the same text keeps its value, of whatever type */
export function ruleOf(kind: RuleKind, typed: Typed, before: Values = {}): { rule: unknown } | { refused: Refusal } {
  const rules = Object.fromEntries(kind.fields.map(({ name, rule }) => [name, rule]));
  const { input, faults } = checkedInput(kind.fields, typed, rules);
  const [first, ...others] = Object.entries(faults).map(([member, { code, params }]) => ({ code, member, params }));
  if (first) return { refused: { ...first, others } };
  const old = typedOfRule(kind, before);
  const kept = kind.fields.filter(({ name }) => before[name] !== undefined && old[name] === (typed[name] ?? ''));
  const values = { ...input, ...Object.fromEntries(kept.map(({ name }) => [name, before[name]])) };
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));
  return { rule: kind.make ? kind.make(given) : given };
}

/** The refusal of a whole list, for the form of the rule at this place: one for another rule names the list. */
export function refusalOfRule(
  given: Refusal,
  { list, member, at }: { list: RuleList; member: string; at: number },
): Refusal {
  const { others = [], ...first } = given;
  const { standIn = {} } = list;
  const own = `${member}.${at}.`;
  const mine = (one: Refusal): Refusal => {
    const [part = ''] = one.member.startsWith(own) ? one.member.slice(own.length).split('.') : [];
    return { ...one, member: standIn[one.code] ?? standIn[part] ?? (part || one.member) };
  };
  return { ...mine(first), others: others.map(mine) };
}
