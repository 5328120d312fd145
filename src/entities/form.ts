// Makes the form of the console from the members of an entity: a field says of its value what the member and its rule say.
import { z } from 'zod';
import { displayText, maxDisplayText } from '../oauth/display-text.ts';
import type { Entity, Input, Member, Members } from './entity.ts';
import type { Field, FormMember, RuleList } from './field.ts';

/** What the rule of a text says of its field: its length, and that users write it in their language. */
function textOf(rule: z.core.$ZodType): Pick<Field, 'most' | 'writing'> {
  if (rule === displayText) return { most: maxDisplayText, writing: 'auto' };
  if (rule instanceof z.ZodOptional) return textOf(rule.unwrap());
  if (rule instanceof z.ZodPipe) return { ...textOf(rule.in), ...textOf(rule.out) };
  return rule instanceof z.ZodString && rule.maxLength !== null ? { most: rule.maxLength } : {};
}

const isList = (form: Member['form']): form is RuleList => typeof form === 'object' && 'kinds' in form;

/** The members that are lists of rules, by their names. */
export const ruleListsOf = (members: Members): Record<string, RuleList> =>
  Object.fromEntries(Object.entries(members).flatMap(([name, { form }]) => (isList(form) ? [[name, form]] : [])));

/** The field of a member; undefined for a member without one. */
export const fieldOf = ({ form, rule, required }: Member): Field | undefined =>
  !form || isList(form)
    ? undefined
    : {
        ...textOf(rule),
        ...(rule instanceof z.ZodEnum && { choices: rule.options.map(String) }),
        ...(required && { required }),
        ...(typeof form === 'string' ? { kind: form } : form),
      };

/** The form of the console. @param values as the API shows them, of the entity that the form changes; undefined for a new one */
export const formOf = (
  { members, order = Object.keys(members) }: Pick<Entity, 'members' | 'order'>,
  values?: Input,
): FormMember[] =>
  order.flatMap((name): FormMember[] => {
    const { required, fixed, start, group, when, refers } = members[name]!;
    const field = fieldOf(members[name]!);
    if (!field || (when && !when(values ?? {}))) return [];
    const removable = !required && start === undefined;
    const picks = field.picks ?? refers;
    return [{ ...field, name, removable, ...(fixed && values && { fixed }), group, ...(picks && { picks }) }];
  });
