// Each statement is prepared on a database, and the row type that its caller declares is compared with the columns that PostgreSQL describes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import ts from 'typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { statementTexts } from '../../src/database/database.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

const root = join(import.meta.dirname, '../../src/repositories');

/** A call of query(), and the columns that its caller declares. */
interface Use {
  location: string;
  /** Matches the names of the statements that the call may send. */
  names: RegExp[];
  columns: { name: string; type: string; nullable: boolean; optional: boolean }[];
}

interface Column {
  name: string;
  /** As the driver returns it. */
  type: string;
  /** Undefined where PostgreSQL does not say: for computed columns. */
  nullable: boolean | undefined;
}

/** The functions that make statements, with the position of the parameter that is the name. */
const factories: Record<string, number> = {
  statement: 0,
  batchedStatement: 1,
  composedStatement: 0,
  batchedSelect: 0,
  batchedCall: 0,
};

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Reads the calls of query() in these files, from their text alone. */
function usesIn(files: readonly string[], texts = new Map<string, string>()): Use[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  host.readFile = (file) => texts.get(file) ?? readFile(file);
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  const program = ts.createProgram([...files], options, host);
  const checker = program.getTypeChecker();
  const uses: Use[] = [];

  /** The names of all statements that the expression makes, or that its identifiers refer to; of an object only those in one member. */
  function namesIn(node: ts.Node, member?: string, seen = new Set<ts.Node>()): RegExp[] {
    if (seen.has(node)) return [];
    seen.add(node);
    if (ts.isPropertyAccessExpression(node)) return namesIn(node.expression, node.name.text, seen);
    if (ts.isObjectLiteralExpression(node) && member !== undefined) {
      const named = node.properties.find((property) => property.name?.getText() === member);
      if (named) return namesIn(named, undefined, seen);
    }
    if (ts.isCallExpression(node)) {
      const position = ts.isIdentifier(node.expression) ? factories[node.expression.text] : undefined;
      const name = position === undefined ? undefined : node.arguments[position];
      if (name && ts.isStringLiteralLike(name)) return [new RegExp(`^${escaped(name.text)}(\\.[0-9a-f]{32})?$`)];
      if (name && ts.isTemplateExpression(name))
        return [
          new RegExp(
            `^${escaped(name.head.text)}${name.templateSpans.map(({ literal }) => `.*${escaped(literal.text)}`).join('')}$`,
          ),
        ];
    }
    // of another call only the callee and the functions among its arguments, and of an element only its object
    if (ts.isElementAccessExpression(node)) return namesIn(node.expression, member, seen);
    if (ts.isCallExpression(node))
      return [node.expression, ...node.arguments.filter(ts.isArrowFunction)].flatMap((part) =>
        namesIn(part, member, seen),
      );
    if (ts.isIdentifier(node)) {
      const declaration = checker.getSymbolAtLocation(node);
      const target =
        declaration && declaration.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(declaration) : declaration;
      const found = target?.valueDeclaration;
      if (!found) return [];
      if (ts.isBindingElement(found)) {
        const pattern = found.parent.parent;
        const property = (found.propertyName ?? found.name).getText();
        if (ts.isVariableDeclaration(pattern) && pattern.initializer)
          return namesIn(pattern.initializer, property, seen);
        return [];
      }
      if (ts.isVariableDeclaration(found) && found.initializer) return namesIn(found.initializer, member, seen);
      if (ts.isFunctionDeclaration(found) && found.body) return namesIn(found.body, member, seen);
      return [];
    }
    const names: RegExp[] = [];
    ts.forEachChild(node, (child) => void names.push(...namesIn(child, member, seen)));
    return names;
  }

  function nameOf(type: ts.Type): string {
    if (type.isUnion()) return [...new Set(type.types.map(nameOf))].filter((name) => name !== 'null').join(' | ');
    if (type.flags & ts.TypeFlags.StringLike) return 'string';
    if (type.flags & ts.TypeFlags.NumberLike) return 'number';
    if (type.flags & ts.TypeFlags.BooleanLike) return 'boolean';
    if (type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) return 'null';
    if (checker.isArrayType(type)) return `${nameOf(checker.getTypeArguments(type as ts.TypeReference)[0]!)}[]`;
    const name = type.getSymbol()?.name;
    return name === 'Date' || name === 'Buffer' ? name : 'json';
  }

  function visit(node: ts.Node): void {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    if (node.expression.name.text !== 'query') return;
    const rows = checker.getAwaitedType(checker.getReturnTypeOfSignature(checker.getResolvedSignature(node)!))!;
    const row = checker.getTypeArguments(rows as ts.TypeReference)[0]!;
    const source = node.getSourceFile();
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    uses.push({
      location: `${source.fileName.slice(root.length + 1)}:${line}`,
      names: namesIn(node.arguments[0]!),
      columns: checker.getPropertiesOfType(row).map((property) => {
        const type = checker.getTypeOfSymbolAtLocation(property, node);
        const parts = type.isUnion() ? type.types : [type];
        const nullable = parts.some(({ flags }) => flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined));
        return {
          name: property.name,
          type: nameOf(type),
          nullable,
          optional: (property.flags & ts.SymbolFlags.Optional) !== 0,
        };
      }),
    });
  }
  for (const file of files) visit(program.getSourceFile(file)!);
  return uses;
}

/** What the driver returns for a type of PostgreSQL. */
const scalars: Record<string, string> = {
  bool: 'boolean',
  int2: 'number',
  int4: 'number',
  float4: 'number',
  float8: 'number',
  int8: 'string',
  numeric: 'string',

  text: 'string',
  varchar: 'string',
  name: 'string',
  uuid: 'string',
  inet: 'string',
  cidr: 'string',
  void: 'string',
  char: 'string',
  timestamptz: 'Date',
  timestamp: 'Date',
  bytea: 'Buffer',
  json: 'json',
  jsonb: 'json',
  xid8: 'string',
};

let service: TestService;
let client: pg.Client;
beforeAll(async () => {
  service = await startTestService();
  client = new pg.Client(service.database.connection);
  await client.connect();
  const names = await client.query<{ oid: number; name: string }>('SELECT oid, typname AS name FROM pg_type');
  types = new Map(names.rows.map(({ oid, name }) => [oid, name]));
  const columns = await client.query<{ at: string; name: string; nullable: boolean }>(
    `SELECT attrelid || '.' || attnum AS at, attname AS name, NOT attnotnull AS nullable
       FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE c.relnamespace = 'public'::regnamespace`,
  );
  attributes = new Map(columns.rows.map(({ at, ...attribute }) => [at, attribute]));
  // statements that are composed of filters exist once they were sent
  const { auditSearch, auditView, clients, scimGroups, scimUsers } = service.store;
  await auditSearch.search({ actor: 'x', clientId: 'y' }, { limit: 1, before: undefined });
  await auditView.list({}, { limit: 1, before: undefined });
  // no token has an address, so no event can match
  await auditView.list({ type: 'token.issued', address: '127.0.0.1' }, { limit: 1, before: undefined });
  await clients.list({ search: 'x' }, { limit: 1, after: undefined });
  await scimUsers.list('x', { filter: undefined, offset: 0, limit: 1 }, true);
  await scimGroups.list('x', { filter: undefined, offset: 0, limit: 1 }, true);
});
afterAll(async () => {
  await client?.end();
  await service?.stop();
});

interface Field {
  name: string;
  tableID: number;
  columnID: number;
  dataTypeID: number;
}

/** Prepares a statement, and returns what PostgreSQL says about its result. */
function describe(text: string): Promise<Field[]> {
  return new Promise((resolve, reject) => {
    let fields: Field[] = [];
    client.query({
      submit(connection: pg.Connection) {
        connection.parse({ name: '', text, types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleRowDescription: (message: { fields: Field[] }) => void (fields = message.fields),
      // after an error the driver calls no other handler of the query
      handleError: (error: Error) => reject(new Error(`${error.message} in: ${text}`)),
      handleReadyForQuery: () => resolve(fields),
    } as unknown as pg.Submittable);
  });
}

/** The names of types by their OID, and the columns of tables by the OID and the number under which they are described. */
let types: Map<number, string>;
let attributes: Map<string, { name: string; nullable: boolean }>;

async function columnsOf(text: string): Promise<Column[]> {
  return (await describe(text)).map((field) => {
    const name = types.get(field.dataTypeID)!;
    const attribute = attributes.get(`${field.tableID}.${field.columnID}`);
    return {
      name: field.name,
      type: name.startsWith('_') ? `${scalars[name.slice(1)] ?? name}[]` : (scalars[name] ?? name),
      nullable: attribute?.nullable && !text.includes(`${attribute.name} IS NOT NULL`),
    };
  });
}

/** Lists what is wrong with a call, one line each. */
async function faultsOf(use: Use): Promise<string[]> {
  const names = [...statementTexts.keys()].filter((name) => use.names.some((pattern) => pattern.test(name)));
  if (use.columns.length === 0) return [];
  if (names.length === 0) return [`${use.location}: its statement was not found`];
  const faults: string[] = [];
  for (const name of names) {
    const described = new Map((await columnsOf(statementTexts.get(name)!)).map((column) => [column.name, column]));
    for (const declared of use.columns) {
      const column = described.get(declared.name);
      const about = `${use.location} ${name}: ${declared.name}`;
      if (!column) {
        if (!declared.optional) faults.push(`${about} is no column`);
      } else if (declared.type !== column.type && column.type !== 'json' && declared.type !== 'json') {
        faults.push(`${about} is declared ${declared.type} and comes as ${column.type}`);
      } else if (column.nullable && !declared.nullable) {
        faults.push(`${about} may be null`);
      }
    }
  }
  return faults;
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(root, file));

test('every statement of the repositories is valid, and returns the columns that its caller declares (decisions section 8)', async () => {
  const faults: string[] = [];
  const uses = usesIn(files);
  // other test files share these modules, and make statements, too
  const own = [...statementTexts].filter(([name]) =>
    uses.some(({ names }) => names.some((pattern) => pattern.test(name))),
  );
  for (const [name, text] of own)
    await describe(text).catch((error: Error) => faults.push(`${name}: ${error.message}`));
  expect(uses.length).toBeGreaterThan(200);
  for (const use of uses) faults.push(...(await faultsOf(use)));
  expect(faults).toEqual([]);
}); // it compiles the repositories

test('the comparison finds a wrong name, a wrong type and an undeclared null (decisions section 8)', async () => {
  const planted = join(root, 'planted.ts');
  const text = `
    import { type Sql, statement } from '../database/database.ts';
    const find = statement('users.find', 'SELECT * FROM users WHERE sub = $1');
    export const rows = (sql: Sql) =>
      sql.query<{ sub: string; name: string; created_at: string; email: string; password_hash: string | null }>(find);
    export const others = (sql: Sql, unknown: ReturnType<typeof statement>) => sql.query<{ sub: string }>(unknown);`;
  const uses = usesIn([planted], new Map([[planted, text]]));
  const faults = (await Promise.all(uses.map(faultsOf))).flat();
  expect(faults).toEqual([
    'planted.ts:5 users.find: name is no column',
    'planted.ts:5 users.find: created_at is declared string and comes as Date',
    'planted.ts:5 users.find: email may be null',
    'planted.ts:6: its statement was not found',
  ]);
});
