// Compares the table of each entity with its declaration: its columns are the members and the row's own, with types that suit the rules.
import { z } from 'zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answerOf,
  column,
  columnsOf as declaredColumns,
  computedIn,
  type Entity,
  member,
  membersOf,
  storedOf,
} from '../../src/entities/entity.ts';
import { declaredEntities } from '../helpers/entities.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

interface Column {
  name: string;
  type: string;
  nullable: boolean;
}

/** The types of columns that hold the values of a JSON schema. */
function typesFor({ type, format, items }: { type?: string; format?: string; items?: { type?: string } }): string[] {
  if (format === 'date-time') return ['timestamp with time zone'];
  if (format === 'base64') return ['bytea'];
  if (type === 'array') return items?.type === 'string' ? ['text[]', 'cidr[]', 'jsonb'] : ['jsonb'];
  const types: Record<string, string[]> = {
    string: ['text', 'uuid'],
    boolean: ['boolean'],
    integer: ['integer', 'smallint', 'bigint'],
    number: ['double precision'],
    object: ['jsonb'],
  };
  return types[type ?? ''] ?? [];
}

/** What differs, one line for each column. */
function differences(of: Entity, columns: readonly Column[]): string[] {
  const found: string[] = [];
  const answers: Record<string, z.ZodType> = {
    version: z.int(),
    ...(of.within && { [of.within.column]: z.string() }),
    ...Object.fromEntries(Object.entries(of.row ?? {}).map(([name, { answer }]) => [name, answer])),
    ...(answerOf(of).shape as Record<string, z.ZodType>),
  };
  const computed = Object.keys(computedIn(of));
  const names = new Set(declaredColumns(of).flatMap(({ column: name }) => (computed.includes(name) ? [] : [name])));
  for (const { name } of columns) if (!names.has(name)) found.push(`${of.table}.${name} is not declared`);
  const members = new Map(
    membersOf(of).flatMap(([name, declared]) =>
      storedOf(name, declared).map(({ column: stored }) => [stored, { name, declared }] as const),
    ),
  );
  for (const name of names) {
    const stored = columns.find((one) => one.name === name);
    if (!stored) {
      found.push(`${of.table} has no column ${name}`);
      continue;
    }
    const { name: ofMember, declared } = members.get(name) ?? { name };
    const shown = typesFor(z.toJSONSchema(answers[ofMember] ?? z.iso.datetime(), { io: 'input' }) as object);
    const isTime = shown.includes('timestamp with time zone');
    const types = declared?.secret
      ? [name.endsWith('_since') ? 'timestamp with time zone' : 'bytea']
      : (declared?.convert && !isTime) || declared?.json
        ? ['jsonb']
        : shown;
    if (!types.includes(stored.type)) found.push(`${of.table}.${name} is ${stored.type}, not ${types.join(' or ')}`);
    const nullable = declared
      ? declared.required === undefined && declared.start === undefined
      : (answers[ofMember]?.isOptional() ?? false);
    if (stored.nullable !== nullable)
      found.push(`${of.table}.${name} ${stored.nullable ? 'may' : 'must not'} be NULL, unlike its declaration`);
  }
  return found;
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

const columnsOf = (table: string): Promise<Column[]> =>
  service.database.sql<Column>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type, NOT attnotnull AS nullable
       FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [table],
  );

test('the columns of each entity are its members and those of its row, with types that suit them (architecture, entities)', async () => {
  const all = await declaredEntities();
  expect(all.length).toBeGreaterThan(0);
  for (const one of all) expect(differences(one, await columnsOf(one.table))).toEqual([]);
});

test('a member without a column, a column without a member, another type and another default are each found (architecture, entities)', async () => {
  const [resources] = (await declaredEntities()).filter(({ table }) => table === 'resources') as [Entity];
  const { clients, ...members } = resources.members;
  expect(clients).toBeDefined();
  const wrong: Entity = {
    ...resources,
    members: {
      ...members,
      color: member('Its color.', z.string()),
      name: member('The name.', z.int(), { required: true }),
      binding: member('The key.', z.string()),
    },
    row: { registered: column(z.iso.datetime()) },
  };
  expect(differences(wrong, await columnsOf('resources')).sort()).toEqual([
    'resources has no column color',
    'resources.binding must not be NULL, unlike its declaration',
    'resources.clients is not declared',
    'resources.name is text, not integer or smallint or bigint',
    'resources.registered is boolean, not timestamp with time zone',
  ]);
});
