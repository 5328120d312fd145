// Makes the form of a connection: its members, and the settings of its kind.
import type { ConnectionVariant } from '../../../domain/connections/kind.ts';
import { connections } from '../../../entities/connections.ts';
import { type Input, starts, view } from '../../../entities/entity.ts';
import type { FormMember } from '../../../entities/field.ts';
import { formOf } from '../../../entities/form.ts';
import type { FieldView } from '../../../pages/views/parts.ts';
import { fieldsOf, type Typed } from '../form.ts';
import { type ConnectionType, groupOrder } from './types.ts';

/** @param values as the API shows them, of the connection that the form changes */
export function formOfType(
  { kind, order, shows = [] }: ConnectionType,
  { settings }: ConnectionVariant,
  values?: Input,
): FormMember[] {
  // an empty setting has its default
  const ofKind = formOf({ members: settings }, values).map((member): FormMember => ({
    ...member,
    inside: 'settings',
    removable: member.kind !== 'check',
  }));
  const all = new Map([...formOf(connections, values), ...ofKind].map((member) => [member.name, member]));
  // only a provider knows users whose accounts are linked here
  const status = all.get('status')!;
  if (kind === 'ldap') all.set('status', { ...status, choices: status.choices!.filter((one) => one !== 'link_only') });
  const members = order.flatMap((name) => (name === 'settings' ? ofKind : (all.get(name) ?? [])));
  const placed = members.map(({ group, ...one }): FormMember =>
    group === undefined || shows.includes(one.name) ? one : { ...one, group },
  );
  return groupOrder.flatMap((group) => placed.filter((one) => one.group === group));
}

/** The values that the form of a new connection proposes. @param taken the ids of the connections that exist */
export function proposedBy(
  { proposes = {} }: ConnectionType,
  { settings, starts: own }: ConnectionVariant,
  taken: readonly string[],
): Input {
  const ofKind = Object.fromEntries(Object.entries(settings).map(([name, { start }]) => [name, start]));
  return {
    ...view(connections, starts(connections)),
    ...own,
    ...proposes,
    ...(typeof proposes['id'] === 'string' && { id: freeId(proposes['id'], taken) }),
    settings: { ...ofKind, ...(proposes['settings'] as Input | undefined) },
  };
}

/** The first of `google`, `google-2` and so on that no connection has. */
function freeId(id: string, taken: readonly string[]): string {
  for (let count = 1; ; count++) {
    const free = count === 1 ? id : `${id}-${count}`;
    if (!taken.includes(free)) return free;
  }
}

const directoryNames = {
  openldap: 'OpenLDAP',
  active_directory: 'Active Directory',
  '389ds': '389 Directory Server',
  freeipa: 'FreeIPA',
};

/** The fields of the form, with the words that only this type has. @param hasSecret whether the connection has a secret, which an empty field keeps */
export const connectionFields = (
  { name: type }: ConnectionType,
  form: readonly FormMember[],
  typed: Typed,
  hasSecret: boolean,
): FieldView[] =>
  fieldsOf(form, typed).map((field) => {
    if (type === 'google' && field.name === 'domains') return { ...field, hint: 'domains.google' };
    if (field.name === 'preset') return { ...field, names: directoryNames };
    if (field.name !== 'secret') return field;
    return {
      ...field,
      ...((type === 'apple' || type === 'saml') && { words: `secret.${type}` }),
      ...(hasSecret && { hint: 'secret.kept' }),
      required: type === 'directory' && !hasSecret && typed['status'] === 'enabled',
    };
  });
