// Reads and fills the forms of the console: a form is a list of members, each with its field.
import { type FormMember, read, written } from '../../entities/field.ts';
import type { FieldView } from '../../pages/views/parts.ts';

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
export function inputOf(form: readonly FormMember[], typed: Typed): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const member of form) {
    const { name, inside, fixed } = member;
    const value = fixed ? undefined : read(member, typed[name]);
    if (value === undefined) continue;
    const into = inside === undefined ? input : ((input[inside] ??= {}) as Record<string, unknown>);
    into[name] = value;
  }
  return input;
}

/** The fields as a page shows them. */
export const fieldsOf = (form: readonly FormMember[], typed: Typed): FieldView[] =>
  form.map(({ name, kind, choices, required, most, lines, writing, group, fixed }) => ({
    name,
    kind,
    choices,
    required,
    most,
    lines,
    writing,
    group,
    fixed,
    value: typed[name] ?? '',
  }));

/** The names of the fields that a refusal can mark. */
export const namesOf = (form: readonly FormMember[]): string[] =>
  form.flatMap(({ name, fixed }) => (fixed ? [] : [name]));
