// Turns a filter of SCIM into a condition over listed columns: names come from the lists here, and values are parameters (federation FR36).
import { invalidFilter, UnknownAttribute } from '../../rules/scim/errors.ts';
import type { AttributePath, Comparison, Filter, FilterValue } from '../../rules/scim/filter.ts';

/** A column that a filter may name, and how its values are compared (RFC 7643 2.2). */
interface Column {
  sql: string;
  type: 'text' | 'exact' | 'boolean' | 'time';
}
/** A list of values: `from` makes their rows, and `condition` chooses those of the resource. */
interface List {
  from: string;
  condition: string;
  parts: Record<string, Column>;
}

export interface Filterable {
  schema: string;
  columns: Record<string, Column>;
  lists: Record<string, List>;
}

const text = (sql: string): Column => ({ sql, type: 'text' });
const shared = {
  externalid: { sql: 's.external_id', type: 'exact' },
  'meta.created': { sql: 's.created_at', type: 'time' },
  'meta.lastmodified': { sql: 's.updated_at', type: 'time' },
} as const;

export const filterableUsers: Filterable = {
  schema: 'urn:ietf:params:scim:schemas:core:2.0:user',
  columns: {
    ...shared,
    id: { sql: 's.sub', type: 'exact' },
    username: text('s.user_name'),
    displayname: text(`s.resource ->> 'displayName'`),
    'name.formatted': text(`s.resource #>> '{name,formatted}'`),
    'name.familyname': text(`s.resource #>> '{name,familyName}'`),
    'name.givenname': text(`s.resource #>> '{name,givenName}'`),
    'name.middlename': text(`s.resource #>> '{name,middleName}'`),
    'name.honorificprefix': text(`s.resource #>> '{name,honorificPrefix}'`),
    'name.honorificsuffix': text(`s.resource #>> '{name,honorificSuffix}'`),
    active: { sql: `(SELECT u.status = 'enabled' FROM users u WHERE u.sub = s.sub)`, type: 'boolean' },
  },
  lists: {
    emails: {
      from: `jsonb_array_elements(coalesce(s.resource -> 'emails', '[]')) AS e (value)`,
      condition: 'true',
      parts: {
        value: text(`e.value ->> 'value'`),
        type: text(`e.value ->> 'type'`),
        display: text(`e.value ->> 'display'`),
        primary: { sql: `(e.value ->> 'primary')::boolean`, type: 'boolean' },
      },
    },
  },
};

export const filterableGroups: Filterable = {
  schema: 'urn:ietf:params:scim:schemas:core:2.0:group',
  columns: { ...shared, id: { sql: 's.id', type: 'exact' }, displayname: text('s.display_name') },
  lists: {
    members: {
      from: 'group_memberships m',
      condition: `m.group_name = s.name AND m.source = 'scim:' || s.source_id AND m.source <> 'manual'`,
      parts: { value: { sql: 'm.sub', type: 'exact' } },
    },
  },
};

/** @param first the number of the first free parameter @throws ScimError invalidFilter */
export function conditionOf(of: Filterable, filter: Filter, first: number): { sql: string; values: unknown[] } {
  const values: unknown[] = [];
  const parameter = (value: unknown, type: string) => `$${first + values.push(value) - 1}::${type}`;

  function nameOf({ schema, name, sub }: AttributePath): string {
    if (schema !== undefined && schema.toLowerCase() !== of.schema) throw new UnknownAttribute(`${schema}:${name}`);
    return (sub === undefined ? name : `${name}.${sub}`).toLowerCase();
  }
  const inList = ({ from, condition }: List, sql: string) =>
    `EXISTS (SELECT FROM ${from} WHERE ${condition} AND ${sql})`;

  /** @param parts those of the list in whose brackets the term is */
  function term(path: AttributePath, test: (column: Column) => string, parts?: Record<string, Column>): string {
    const name = nameOf(path);
    if (parts) return test(own(parts, name) ?? refuse(name));
    const column = own(of.columns, name);
    if (column) return test(column);
    // a list stands for the values of its values (RFC 7644 3.4.2.2)
    const [head = '', part = 'value'] = name.split('.');
    const list = own(of.lists, head) ?? refuse(name);
    return inList(list, test(own(list.parts, part) ?? refuse(name)));
  }

  function sqlOf(one: Filter, parts?: Record<string, Column>): string {
    switch (one.kind) {
      case 'and':
      case 'or':
        return `(${one.parts.map((part) => sqlOf(part, parts)).join(one.kind === 'and' ? ' AND ' : ' OR ')})`;
      case 'not':
        return `(${sqlOf(one.part, parts)}) IS NOT TRUE`;
      case 'values': {
        const list = own(of.lists, nameOf(one.path)) ?? refuse(one.path.name);
        return inList(list, sqlOf(one.part, list.parts));
      }
      case 'present':
        return term(one.path, ({ sql }) => `(${sql} IS NOT NULL)`, parts);
      case 'compare':
        return term(one.path, (column) => comparing(column, one.comparison, one.value, parameter), parts);
    }
  }
  return { sql: sqlOf(filter), values };
}

const own = <T>(of: Record<string, T>, name: string): T | undefined => (Object.hasOwn(of, name) ? of[name] : undefined);
function refuse(name: string): never {
  throw new UnknownAttribute(name);
}

const order = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

function comparing(
  { sql, type }: Column,
  comparison: Comparison,
  value: FilterValue,
  parameter: (value: unknown, type: string) => string,
): string {
  const equality = comparison === 'eq' ? 'IS NOT DISTINCT FROM' : comparison === 'ne' ? 'IS DISTINCT FROM' : undefined;
  if (value === null) {
    if (!equality) throw invalidFilter(`${comparison} needs a value`);
    return `(${sql} ${equality} NULL)`;
  }
  if (type === 'boolean') {
    // Entra writes booleans as texts
    const flag = typeof value === 'string' && /^(true|false)$/i.test(value) ? value.toLowerCase() === 'true' : value;
    if (typeof flag !== 'boolean' || !equality) throw invalidFilter('a boolean is compared by eq or ne');
    return `(${sql} ${equality} ${parameter(flag, 'boolean')})`;
  }
  if (typeof value !== 'string') throw invalidFilter('a text is compared with a text');
  if (type === 'time') {
    if (!isTime(value)) throw invalidFilter('write times as 2026-01-31T12:00:00Z');
    if (!equality && !(comparison in order)) throw invalidFilter(`times are not compared by ${comparison}`);
    return `(${sql} ${equality ?? order[comparison as keyof typeof order]} ${parameter(value, 'timestamptz')})`;
  }
  const folded = (one: string) => (type === 'exact' ? one : `lower(${one})`);
  const [found, wanted] = [folded(sql), folded(parameter(value, 'text'))];
  switch (comparison) {
    // an index serves the plain comparison
    case 'eq':
      return `(${found} = ${wanted})`;
    case 'ne':
      return `(${found} IS DISTINCT FROM ${wanted})`;
    case 'co':
      return `(strpos(${found}, ${wanted}) > 0)`;
    case 'sw':
      return `starts_with(${found}, ${wanted})`;
    case 'ew':
      return `(right(${found}, char_length(${wanted})) = ${wanted})`;
    default:
      return `(${found} COLLATE "C" ${order[comparison]} ${wanted} COLLATE "C")`;
  }
}

const isTime = (value: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.test(value) &&
  !Number.isNaN(Date.parse(value));
