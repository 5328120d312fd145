// The import rules of the architecture, executed: down only, siblings never, one door for each outside package.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../src');

/** From left to right; a file imports from its own layer (endpoints never) and from layers to the right. */
const layers = [
  ['server.ts', 'process.ts', 'cli.ts', 'commands'],
  ['service.ts', 'workers.ts', 'connection.ts', 'clean-up.ts', 'log-destination.ts', 'stray-output.ts'],
  ['app.ts', 'logout-delivery.ts', 'mail-delivery.ts', 'delivery-loop.ts', 'mail-composition.ts'],
  ['endpoints'],
  ['http'],
  ['tokens'],
  ['repositories'],
  ['database', 'oauth', 'crypto', 'outbound', 'mail', 'config.ts'],
];

/** Which places may import an outside package; packages that are not named are for anybody. */
const doors: Record<string, (file: string) => boolean> = {
  fastify: (file) =>
    file === 'app.ts' ||
    file.startsWith('http/') ||
    /[/-]routes\.ts$/.test(file) ||
    file === 'endpoints/token/grant-type.ts',
  '@fastify/cookie': (file) => file === 'app.ts' || file.startsWith('http/'),
  '@fastify/cors': (file) => file.startsWith('http/'),
  '@fastify/formbody': (file) => file.startsWith('http/') || file.endsWith('/routes.ts'),
  pg: (file) => file.startsWith('database/'),
  'node-pg-migrate': (file) => file === 'database/migrations.ts',
  jose: (file) => file.startsWith('tokens/'),
  '@simplewebauthn/server': (file) => file === 'crypto/passkey.ts',
  argon2: (file) => file === 'crypto/password-hashing.ts',
  bcrypt: (file) => file === 'crypto/foreign-hashes.ts',
  'csv-parse': (file) => file === 'http/user-records.ts',
  'csv-stringify': (file) => file === 'http/user-records.ts',
  eta: (file) => file === 'http/pages.ts',
  otpauth: (file) => file === 'crypto/one-time-codes.ts',
  uqr: (file) => file === 'http/qr-code.ts',
  'prom-client': (file) => file === 'http/metrics.ts',
  nodemailer: (file) => file === 'mail/transport.ts',
  'request-filtering-agent': (file) => file === 'outbound/guarded-fetch.ts',
};

interface Source {
  file: string;
  text: string;
}

/** What breaks the rules in these sources, one line each. */
function violations(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { file, text } of sources) {
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) {
        const target = join(dirname(file), specifier);
        const reason = wrongDirection(file, target);
        if (reason) found.push(`${file} imports ${target}: ${reason}`);
      } else if (!specifier.startsWith('node:')) {
        const name = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/');
        if (doors[name] && !doors[name](file)) found.push(`${file} imports ${name}, which has another door`);
      }
    }
    if (/\bprocess\.env\b/.test(text) && file !== 'config.ts')
      found.push(`${file} reads process.env: only config.ts does`);
    if (/\bprocess\.(argv|std(in|out|err))\b/.test(text) && !['cli.ts', 'process.ts'].includes(file))
      found.push(`${file} reads or prints by itself: a command gets its terminal`);
    if (/\bdeclare module\b/.test(text)) found.push(`${file} extends somebody else's types`);
    if (!/^(\/\/|#!)/.test(text)) found.push(`${file} does not say in its first line what it is for`);
    if (
      /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.*\b(FROM|VALUES|SET|WHERE)\b/s.test(codeOf(text)) &&
      !/^(repositories|database)\//.test(file)
    ) {
      found.push(`${file} holds SQL: only repositories/ and database/ do`);
    }
  }
  return found;
}

function wrongDirection(from: string, to: string): string | undefined {
  const [source, target] = [layerOf(from), layerOf(to)];
  if (target < 0) return 'that is in no layer';
  if (target < source) return 'that is upwards';
  const siblings = (path: string) => path.split('/').slice(0, 2).join('/');
  if (from.startsWith('endpoints/') && to.startsWith('endpoints/') && siblings(from) !== siblings(to))
    return 'endpoints never import each other';
  if (target === layers.length - 1 && source === target && from.split('/')[0] !== to.split('/')[0])
    return 'these are side by side';
  return undefined;
}

function layerOf(file: string): number {
  return layers.findIndex((layer) => layer.includes(file.split('/')[0]!));
}

function importsOf(text: string): string[] {
  const statement =
    /^\s*(?:import|export)\s(?:[^;'"=(]*?\bfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;
  return [...text.matchAll(statement)].map((match) => (match[1] ?? match[2])!);
}

/** The text without comments. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}

function sources(): Source[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { file: relative(root, path), text: readFileSync(path, 'utf8') };
    });
}

test('imports go down, siblings never talk, and each outside package has one door (architecture, directions)', () => {
  expect(violations(sources())).toEqual([]);
});

test.each([
  ['endpoints/token/routes.ts', `import { x } from '../login/routes.ts';`, 'endpoints never import each other'],
  ['repositories/users.ts', `import { x } from '../tokens/id-token.ts';`, 'upwards'],
  ['http/pages.ts', `import type { x } from '../endpoints/token/routes.ts';`, 'upwards'],
  ['oauth/scope.ts', `import { x } from '../crypto/secrets.ts';`, 'side by side'],
  ['endpoints/token/routes.ts', `import pg from 'pg';`, 'another door'],
  ['http/errors.ts', `import { jwtVerify } from 'jose';`, 'another door'],
  ['tokens/key-ring.ts', `const key = process.env['SECRET_KEY'];`, 'process.env'],
  ['commands/users.ts', `const given = await text(process.stdin);`, 'terminal'],
  ['endpoints/token/routes.ts', 'const text = `SELECT * FROM clients WHERE client_id = 1`;', 'holds SQL'],
])('a planted fault in %s is found: %s (architecture, directions)', (file, line, reason) => {
  expect(violations([{ file, text: `// A planted fault.\n${line}\n` }]).join('\n')).toContain(reason);
});
