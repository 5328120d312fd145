// Reads and writes the form of a connection; a textarea has a list, one entry on each line.
import type { TypedConnection } from '../../../pages/views/connections.ts';
import type { Connection, GroupRule } from '../../../repositories/connections/connections.ts';

export const emptyForm: TypedConnection = {
  ...{ id: '', display_name: '', issuer: '', client_id: '', secret: '', scope: 'openid profile email' },
  ...{ token_endpoint_auth_method: 'client_secret_basic', status: 'disabled', linking: 'ask', provisioning: 'off' },
  ...{ authoritative_domains: '', groups_claim: 'groups', group_rules: '', default_groups: '', trust_mfa: '' },
  ...{ position: '0', hidden: '', domains: '', subdomains: '', enforced: '', session_lifetime: '' },
};

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

export const formOf = ({ settings, ...connection }: Connection): TypedConnection => ({
  id: connection.id,
  display_name: connection.displayName,
  issuer: textOf(settings['issuer']),
  client_id: textOf(settings['client_id']),
  secret: '',
  token_endpoint_auth_method: textOf(settings['token_endpoint_auth_method']),
  scope: textOf(settings['scope']),
  status: connection.status,
  linking: connection.linking,
  provisioning: connection.provisioning,
  authoritative_domains: connection.authoritativeDomains.join('\n'),
  groups_claim: textOf(settings['groups_claim']),
  group_rules: connection.groupRules.map(lineOf).join('\n'),
  default_groups: connection.defaultGroups.join('\n'),
  trust_mfa: String(connection.trustMfa),
  position: String(connection.position),
  hidden: String(connection.hidden),
  domains: connection.domains.join('\n'),
  subdomains: String(connection.subdomains),
  enforced: String(connection.enforced),
  session_lifetime: String(connection.sessionLifetime ?? ''),
});

export const typedIn = (body: Readonly<Record<string, string>>): TypedConnection => {
  const names = Object.keys(emptyForm) as (keyof TypedConnection)[];
  return Object.fromEntries(names.map((name) => [name, body[name] ?? ''])) as unknown as TypedConnection;
};

/** The input of the operations. An empty secret keeps the present one. */
export const inputOf = (typed: TypedConnection): Record<string, unknown> => ({
  display_name: typed.display_name.trim(),
  status: typed.status,
  linking: typed.linking,
  provisioning: typed.provisioning,
  authoritative_domains: linesOf(typed.authoritative_domains),
  group_rules: linesOf(typed.group_rules).map(ruleOf),
  default_groups: linesOf(typed.default_groups),
  trust_mfa: typed.trust_mfa === 'true',
  position: numberOf(typed.position) ?? 0,
  hidden: typed.hidden === 'true',
  domains: linesOf(typed.domains),
  subdomains: typed.subdomains === 'true',
  enforced: typed.enforced === 'true',
  session_lifetime: numberOf(typed.session_lifetime) ?? null,
  settings: {
    issuer: typed.issuer.trim(),
    client_id: typed.client_id.trim(),
    token_endpoint_auth_method: typed.token_endpoint_auth_method,
    scope: typed.scope.trim(),
    groups_claim: typed.groups_claim.trim() || 'groups',
  },
  ...(typed.secret !== '' && { secret: typed.secret }),
});

/** What is no number is left to the operation, which refuses it. */
const numberOf = (typed: string): number | string | undefined => {
  const trimmed = typed.trim();
  if (trimmed === '') return undefined;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : trimmed;
};

const linesOf = (typed: string): string[] =>
  typed
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** `value = group`; `prefix* = group` for values that begin so; `* = prefix*` for every value. */
function ruleOf(line: string): unknown {
  const at = line.lastIndexOf('=');
  const [value, group] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  if (value === '*' && group.endsWith('*')) return { all: true, prefix: group.slice(0, -1) };
  return value.endsWith('*') ? { starts_with: value.slice(0, -1), group } : { equals: value, group };
}

function lineOf(rule: GroupRule): string {
  if ('all' in rule) return `* = ${rule.prefix}*`;
  return 'equals' in rule ? `${rule.equals} = ${rule.group}` : `${rule.starts_with}* = ${rule.group}`;
}
