// Reads and writes the form of a connection; a textarea has a list, one entry on each line.
import type { TypedConnection } from '../../../pages/views/connections.ts';
import type { Connection, ConnectionMembers } from '../../../repositories/connections/connections.ts';
import { lineOf, ruleOf } from '../../operations/group-rules.ts';
import { type ConnectionType, fieldsOf } from './types.ts';

const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? value.join('\n')
    : typeof value === 'string' || typeof value === 'boolean'
      ? String(value)
      : '';

/**
 * The form of a new connection. A choice of the type has its first value.
 * @param members what a new connection of the type has
 */
export const emptyForm = (type: ConnectionType, members: Partial<ConnectionMembers> = {}): TypedConnection => ({
  ...Object.fromEntries(fieldsOf(type, true).map(({ name, values }) => [name, values?.[0] ?? ''])),
  position: '0',
  username_from: members.usernameFrom ?? 'preferred_username',
  username_local_part: String(members.usernameLocalPart ?? false),
  trust_email: String(members.trustEmail ?? false),
  ...starts(type),
});

/** What the form proposes; the settings of a preset have their own defaults. */
function starts({ name }: ConnectionType): TypedConnection {
  if (name === 'oidc') return { scope: 'openid profile email', groups_claim: 'groups' };
  if (name === 'oauth') return { subject_claim: 'sub', email_claim: 'email', groups_claim: 'groups' };
  return name === 'github' ? { base: 'https://github.com' } : {};
}

export const formOf = (type: ConnectionType, { settings, ...connection }: Connection): TypedConnection => ({
  ...Object.fromEntries(type.settings.map(({ name }) => [name, textOf(settings[name])])),
  id: connection.id,
  display_name: connection.displayName,
  secret: '',
  status: connection.status,
  linking: connection.linking,
  provisioning: connection.provisioning,
  domains: connection.domains.join('\n'),
  authoritative_domains: connection.authoritativeDomains.join('\n'),
  group_rules: connection.groupRules.map(lineOf).join('\n'),
  default_groups: connection.defaultGroups.join('\n'),
  username_from: connection.usernameFrom,
  username_local_part: String(connection.usernameLocalPart),
  username_suffix: String(connection.usernameSuffix),
  trust_email: String(connection.trustEmail),
  trust_mfa: String(connection.trustMfa),
  position: String(connection.position),
  session_lifetime: String(connection.sessionLifetime ?? ''),
  hidden: String(connection.hidden),
  subdomains: String(connection.subdomains),
  enforced: String(connection.enforced),
  logout: connection.logout,
  store_tokens: String(connection.storeTokens),
});

export const typedIn = (type: ConnectionType, body: Readonly<Record<string, string>>): TypedConnection =>
  Object.fromEntries(fieldsOf(type, true).map(({ name }) => [name, body[name] ?? '']));

/** The input of the operations. An empty secret keeps the present one, and an empty setting has its default. */
export function inputOf(type: ConnectionType, typed: TypedConnection): Record<string, unknown> {
  const value = (name: string) => (typed[name] ?? '').trim();
  const settings = type.settings.map(({ name, type: input }) => {
    if (input === 'check') return [name, value(name) === 'true'] as const;
    return [name, input === 'lines' ? linesOf(value(name)) : value(name) || null] as const;
  });
  return {
    display_name: value('display_name'),
    status: value('status'),
    linking: value('linking'),
    provisioning: value('provisioning'),
    ...(value('username_from') !== '' && { username_from: value('username_from') }),
    username_local_part: value('username_local_part') === 'true',
    username_suffix: value('username_suffix') === 'true',
    ...(!type.tellsMailbox && { trust_email: value('trust_email') === 'true' }),
    domains: linesOf(value('domains')),
    subdomains: value('subdomains') === 'true',
    enforced: value('enforced') === 'true',
    hidden: value('hidden') === 'true',
    position: numberOf(value('position')) ?? 0,
    session_lifetime: numberOf(value('session_lifetime')) ?? null,
    authoritative_domains: linesOf(value('authoritative_domains')),
    ...(type.hasGroups && { group_rules: linesOf(value('group_rules')).map(ruleOf) }),
    default_groups: linesOf(value('default_groups')),
    ...(type.signsOut && { logout: value('logout') || 'local' }),
    store_tokens: value('store_tokens') === 'true',
    ...(type.tellsFactors && { trust_mfa: value('trust_mfa') === 'true' }),
    settings: Object.fromEntries(settings),
    ...(typed['secret'] && { secret: typed['secret'] }),
  };
}

/** What is no number is left to the operation, which refuses it. */
const numberOf = (typed: string): number | string | undefined =>
  typed === '' ? undefined : /^\d{1,9}$/.test(typed) ? Number(typed) : typed;

export const linesOf = (typed: string): string[] =>
  typed
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
