// Reads and fills the forms of the console: a form is a list of members, each with its field.
import type { z } from 'zod';
import { type FormMember, read, written } from '../../entities/field.ts';
import { faultOf } from '../../oauth/refusals.ts';
import type { FaultView, FieldGroup, FieldView } from '../../pages/views/parts.ts';

/** What was typed, by the names of the members; a control that the form did not send is undefined. */
export type Typed = Readonly<Record<string, string | undefined>>;

/** Reads a submitted form, which has a parameter for each choice of a field with boxes. */
export const typedIn = (form: readonly FormMember[], body: Readonly<Record<string, string>>): Typed =>
  Object.fromEntries(
    form.map(({ name, kind, choices = [] }) => [
      name,
      kind === 'boxes' ? choices.filter((_, index) => body[`${name}.${index}`] !== undefined).join('\n') : body[name],
    ]),
  );

/** Fills a form with values as the API shows them. */
export const typedOf = (form: readonly FormMember[], values: Readonly<Record<string, unknown>>): Typed =>
  Object.fromEntries(
    form.map((member) => {
      const { name, inside } = member;
      const all = inside === undefined ? values : (values[inside] as Record<string, unknown> | undefined);
      return [name, written(member, all?.[name])];
    }),
  );

/** The input of an operation, whose rules check it. */
export const inputOf = (form: readonly FormMember[], typed: Typed): Record<string, unknown> =>
  checkedInput(form, typed, {}).input;

export type Faults = Readonly<Record<string, FaultView>>;

/** The input with each value in the form that its rule gives it, and all faults at once, by the names of the fields. */
export function checkedInput(
  form: readonly FormMember[],
  typed: Typed,
  rules: Readonly<Record<string, z.ZodType>>,
): { input: Record<string, unknown>; faults: Record<string, FaultView> } {
  const input: Record<string, unknown> = {};
  const faults: Record<string, FaultView> = {};
  for (const member of form) {
    const { name, inside, fixed, required, most } = member;
    const text = typed[name] ?? '';
    const value = fixed ? undefined : read(member, typed[name]);
    if (value === undefined) continue;
    const checked = value === null ? undefined : rules[name]?.safeParse(value);
    if (required && text.trim() === '') faults[name] = { code: 'missing' };
    else if (most !== undefined && text.length > most)
      faults[name] = { code: 'too-long', params: { most: String(most) } };
    else if (checked?.error) faults[name] = faultOf(checked.error.issues[0]!);
    const into = inside === undefined ? input : ((input[inside] ??= {}) as Record<string, unknown>);
    into[name] = checked?.success ? checked.data : value;
  }
  return { input, faults };
}

/** The fields as a page shows them. */
export const fieldsOf = (form: readonly FormMember[], typed: Typed, faults: Faults = {}): FieldView[] =>
  form.map(({ name, kind, choices, required, most, lines, list, writing, group, fixed, picks }) => ({
    name,
    kind,
    choices,
    required,
    most,
    lines,
    list,
    picks,
    writing,
    group,
    fixed,
    value: typed[name] ?? '',
    fault: faults[name],
  }));

/** The fields in their groups. */
export const groupsOf = (form: readonly FormMember[], typed: Typed, faults?: Faults): FieldGroup[] =>
  [...new Set(form.map(({ group }) => group))].map((group) => ({
    name: group!,
    fields: fieldsOf(
      form.filter((member) => member.group === group),
      typed,
      faults,
    ).map((field) => ({ ...field, group: undefined })),
  }));

/** The names of the fields that a refusal can mark. */
export const namesOf = (form: readonly FormMember[]): string[] =>
  form.flatMap(({ name, fixed }) => (fixed ? [] : [name]));
