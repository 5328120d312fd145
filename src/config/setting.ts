// Defines a setting: the name of its environment variable and the rule of its value, declared in the place of Config that it fills.
import type { z } from 'zod';

export interface Setting<Rule extends z.ZodType = z.ZodType> {
  variable: string;
  rule: Rule;
}

export const setting = <const Variable extends string, Rule extends z.ZodType>(variable: Variable, rule: Rule) => ({
  variable,
  rule,
});

/** Settings by their names in Config, in groups. */
export interface Settings {
  [name: string]: Setting | Settings;
}

export type ValuesOf<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Setting<infer Rule>
    ? z.infer<Rule>
    : ValuesOf<Declared[Name]>;
};

const isSetting = (entry: Setting | Settings): entry is Setting => typeof entry['variable'] === 'string';

const settingsIn = (declared: Settings): Setting[] =>
  Object.values(declared).flatMap((entry) => (isSetting(entry) ? [entry] : settingsIn(entry)));

/** The names of the variables. */
type VariableOf<Declared> = {
  [Name in keyof Declared]: Declared[Name] extends Setting ? Declared[Name]['variable'] : VariableOf<Declared[Name]>;
}[keyof Declared];

/** The rules by the names of the variables. */
export const rulesOf = <Declared extends Settings>(declared: Declared) =>
  // the compiler cannot follow the names through entries
  Object.fromEntries(settingsIn(declared).map(({ variable, rule }) => [variable, rule])) as Record<
    VariableOf<Declared> & string,
    z.ZodType
  >;

/** @param read the values by the names of the variables, as the rules returned them */
export function valuesOf<Declared extends Settings>(
  declared: Declared,
  read: Readonly<Record<string, unknown>>,
): ValuesOf<Declared> {
  const values = Object.entries(declared).map(([name, entry]) => [
    name,
    isSetting(entry) ? read[entry.variable] : valuesOf(entry, read),
  ]);
  return Object.freeze(Object.fromEntries(values)) as ValuesOf<Declared>;
}

/** What is wrong with a setting whose rule has no message of its own. */
export function defaultMessage(issue: z.core.$ZodRawIssue): string {
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : 'is not valid';
}
