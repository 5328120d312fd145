// Reads and writes the form of a connection to a directory.
import type { TypedDirectory } from '../../../pages/views/directories.ts';
import type { Connection } from '../../../repositories/connections/connections.ts';
import { lineOf, ruleOf } from '../../operations/group-rules.ts';
import { linesOf } from './form.ts';

export const emptyDirectoryForm: TypedDirectory = {
  id: '',
  display_name: '',
  preset: 'openldap',
  url: 'ldaps://',
  starttls: '',
  ca: '',
  bind_dn: '',
  secret: '',
  base: '',
  user_filter: '',
  login_attributes: '',
  group_base: '',
  group_filter: '',
  member_attribute: '',
  nested: '',
  import: '',
  status: 'disabled',
  linking: 'ask',
  provisioning: 'on',
  authoritative_domains: '',
  group_rules: '',
  default_groups: '',
};

/** The fields that the form has: a preset decides some at first, and stays. */
export const directoryFields = (isNew: boolean): string[] =>
  Object.keys(emptyDirectoryForm).filter((name) => !(isNew ? ofPreset : ['id', 'preset']).includes(name));
const ofPreset = ['user_filter', 'login_attributes', 'group_filter', 'member_attribute', 'nested'];

export function directoryFormOf({ settings, ...connection }: Connection): TypedDirectory {
  const textOf = (name: string) => {
    const value = settings[name];
    return Array.isArray(value) ? value.join('\n') : String(value ?? '');
  };
  const { import: interval } = settings;
  return {
    id: connection.id,
    display_name: connection.displayName,
    preset: textOf('preset'),
    url: textOf('url'),
    starttls: textOf('starttls'),
    ca: textOf('ca'),
    bind_dn: textOf('bind_dn'),
    secret: '',
    base: textOf('base'),
    user_filter: textOf('user_filter'),
    login_attributes: textOf('login_attributes'),
    group_base: textOf('group_base'),
    group_filter: textOf('group_filter'),
    nested: textOf('nested'),
    member_attribute: textOf('member_attribute'),
    import: typeof interval === 'number' ? String(interval) : '',
    status: connection.status,
    linking: connection.linking,
    provisioning: connection.provisioning,
    authoritative_domains: connection.authoritativeDomains.join('\n'),
    group_rules: connection.groupRules.map(lineOf).join('\n'),
    default_groups: connection.defaultGroups.join('\n'),
  };
}

export const typedDirectory = (body: Readonly<Record<string, string>>): TypedDirectory => {
  const names = Object.keys(emptyDirectoryForm) as (keyof TypedDirectory)[];
  // one text for each of the names
  return Object.fromEntries(names.map((name) => [name, body[name] ?? ''])) as unknown as TypedDirectory;
};

/** The input of the operations. An empty secret keeps the present one; an empty setting is that of the preset. @param isNew whether the form asks for the preset, which then decides what the form does not ask for */
export function directoryInputOf(typed: TypedDirectory, isNew: boolean): Record<string, unknown> {
  const given = (value: string) => value.trim() || null;
  const logins = linesOf(typed.login_attributes);
  const minutes = typed.import.trim();
  const own = {
    user_filter: given(typed.user_filter),
    login_attributes: logins.length > 0 ? logins : null,
    group_filter: given(typed.group_filter),
    member_attribute: given(typed.member_attribute),
    nested: typed.nested === 'true',
  };
  return {
    display_name: typed.display_name.trim(),
    status: typed.status,
    linking: typed.linking,
    provisioning: typed.provisioning,
    authoritative_domains: linesOf(typed.authoritative_domains),
    group_rules: linesOf(typed.group_rules).map(ruleOf),
    default_groups: linesOf(typed.default_groups),
    settings: {
      url: typed.url.trim(),
      starttls: typed.starttls === 'true',
      ca: given(typed.ca),
      bind_dn: typed.bind_dn.trim(),
      base: typed.base.trim(),
      group_base: given(typed.group_base),
      import: minutes === '' ? 'off' : /^\d{1,5}$/.test(minutes) ? Number(minutes) : minutes,
      ...(isNew ? { preset: typed.preset } : own),
    },
    ...(typed.secret !== '' && { secret: typed.secret }),
  };
}
