// Executes the import rules of the architecture: down only, never between siblings, no circles, one importer for each outside package.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../src');

/** A file imports from its own layer, and from the layers below; layers on one line do not import each other. */
const layers = [
  ['server.ts', 'cli.ts', 'dev-server.ts'],
  ['start'],
  ['app.ts', 'command-line', 'dev'],
  ['services.ts'],
  ['protocol', 'login', 'account', 'admin', 'jobs'],
  ['interaction'],
  ['authenticators'],
  ['browser'],
  ['client-authentication'],
  ['sender-constraint'],
  ['pages'],
  ['server'],
  ['domain'],
  ['tokens'],
  ['repositories'],
  ['database'],
  ['entities'],
  ['rules'],
  ['saml'],
  ['oauth', 'crypto', 'outbound'],
  ['config.ts'],
  ['config'],
];
const featureAreas = ['protocol', 'login', 'account', 'admin', 'jobs'];

/** The only places that import an outside package; a package that is not named may be imported anywhere. */
const soleImporters: Record<string, (file: string) => boolean> = {
  fastify: (file) =>
    file === 'app.ts' ||
    file === 'services.ts' ||
    !/^(domain|tokens|repositories|database|rules|saml|oauth|crypto|outbound|jobs|command-line|start)\//.test(file),
  '@fastify/cookie': (file) => file === 'app.ts' || /^(browser|authenticators|interaction|login|admin)\//.test(file),
  '@fastify/cors': (file) => file.startsWith('server/'),
  '@fastify/multipart': (file) => file === 'server/file-upload.ts',
  '@fastify/formbody': (file) => file.startsWith('server/') || file.endsWith('/routes.ts'),
  pg: (file) => file.startsWith('database/'),
  'node-pg-migrate': (file) => file === 'database/migrations.ts',
  jose: (file) => file.startsWith('tokens/'),
  ldapts: (file) => file === 'outbound/directory.ts',
  '@simplewebauthn/server': (file) => file === 'crypto/passkey.ts',
  argon2: (file) => file === 'crypto/password-hashing.ts',
  bcrypt: (file) => file === 'crypto/foreign-hashes.ts',
  'csv-parse': (file) => file === 'domain/users/user-records.ts',
  'csv-stringify': (file) => file === 'domain/users/user-records.ts',
  eta: (file) => file === 'pages/renderer.ts',
  otpauth: (file) => file === 'crypto/one-time-codes.ts',
  uqr: (file) => file === 'pages/qr-code.ts',
  '@streamparser/json': (file) => file === 'command-line/importers/json-stream.ts',
  'prom-client': (file) => file === 'server/metrics.ts',
  '@opentelemetry/api': (file) => file === 'outbound/tracing.ts',
  '@opentelemetry/sdk-trace': (file) => /^outbound\/(tracing|span-queue)\.ts$/.test(file),
  '@opentelemetry/otlp-transformer': (file) => file === 'outbound/tracing.ts',
  '@opentelemetry/resources': (file) => file === 'outbound/tracing.ts',
  nodemailer: (file) => file === 'outbound/mail-transport.ts',
  'xml-crypto': (file) => file === 'saml/libraries.ts',
  'xml-encryption': (file) => file === 'saml/libraries.ts',
  '@xmldom/xmldom': (file) => file === 'saml/libraries.ts',
  '@peculiar/x509': (file) => file === 'saml/certificates.ts',
  'request-filtering-agent': (file) => file === 'outbound/node-http.ts',
};

interface Source {
  file: string;
  text: string;
}

/** A second response would follow the first, and what fails in the first would be an error of the request (reports B3). */
const awaitedReply = /\bawait (?:reply|pages|admin)\.(?:send|redirect|refuse)\(/;

/** Parameters that only requests of OAuth have: the pages of a sign-in serve every protocol, and read those that `StoredRequest` names. */
const ofOneProtocol =
  /\b(response_type|response_mode|code_challenge|code_verifier|nonce|request_uri|acr_values|id_token(_hint)?|grant_types?|authorization_code|redirect_uris)\b/;

/** The doors of `gatehouse dev` sign any user in: the program of that command imports them, and nothing else (delivery 5). */
const mayOpenDoors = (file: string, target: string): boolean =>
  target.startsWith('dev/')
    ? file.startsWith('dev/') || file === 'start/dev.ts'
    : target !== 'start/dev.ts' || file === 'dev-server.ts';

/** The pages of administrators, and the two files that give each page its operations. */
const ofPages = /^admin\/(console|registration-approval)\//;
const sessionOfConsole = ['admin/console/admin-session.ts', 'admin/registration-approval/routes.ts'];

/** The violations of the rules in these sources, one line each. */
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
        if (soleImporters[name] && !soleImporters[name](file))
          found.push(`${file} imports ${name}, which has another importer`);
      }
    }
    if (/^(domain|rules)\/[^/]+$/.test(file))
      found.push(`${file} is a loose file: it belongs in a folder of its subject`);
    const ofOauth = file.startsWith('interaction/') && ofOneProtocol.exec(codeOf(text))?.[0];
    if (ofOauth) found.push(`${file} knows ${ofOauth}: only the relying party of a protocol does`);
    if (/\bprocess\.env\b/.test(text) && file !== 'config.ts')
      found.push(`${file} reads process.env: only config.ts does`);
    if (
      /\bprocess\.(argv|std(in|out|err))\b/.test(text) &&
      !['cli.ts', 'start/process.ts', 'start/dev.ts', 'start/terminal-log.ts'].includes(file)
    )
      found.push(`${file} reads or prints by itself: a command gets its terminal`);
    if (/Promise<(?:FastifyReply \||[^<>]*\| FastifyReply\b)/.test(text) || awaitedReply.test(text))
      found.push(`${file} awaits a reply: it is a promise of the end of the response, and brings no value`);
    if (/^(admin|command-line)\//.test(file) && !file.startsWith('admin/operations/') && /\.handler\(/.test(text))
      found.push(`${file} calls a handler: run() asks for the permission of the operation first`);
    if (
      ofPages.test(file) &&
      /\brepositories\/store\.ts|\boperationContext\b|\bstore\.(?!accessTokens\.|keptForms\.)/.test(codeOf(text)) &&
      !sessionOfConsole.includes(file)
    )
      found.push(
        `${file} goes past the operations: a page reads and changes through them, and they ask for permission`,
      );
    const door = importsOf(text).find((specifier) => /(^|\/)(dev\/[^/]+|start\/dev|dev)\.ts$/.test(specifier));
    if (door !== undefined && !mayOpenDoors(file, join(dirname(file), door)))
      found.push(`${file} imports ${door}: only gatehouse dev knows its doors`);
    if (/\bdeclare module\b/.test(text)) found.push(`${file} extends the types of another module`);
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
  if (target < 0) return 'it is in no layer';
  if (target < source) return 'that is upwards';
  const withoutHttp = from.startsWith('command-line/') || from.startsWith('admin/operations/');
  if (withoutHttp && /^(server|pages|browser|interaction)\//.test(to)) return 'an operation and a command know no HTTP';
  if (
    from.startsWith('command-line/') &&
    featureAreas.includes(to.split('/')[0]!) &&
    !to.startsWith('admin/operations/')
  )
    return 'a command runs operations, and nothing else of the feature areas';
  if (source !== target) return undefined;
  const [fromPath, toPath] = [from.split('/'), to.split('/')];
  if (fromPath[0] !== toPath[0]) return 'these are side by side';
  // a file in a folder may import the folders beside it, and they may import it
  const depth = fromPath[0] === 'admin' && fromPath[1] === 'console' && toPath[1] === 'console' ? 2 : 1;
  const siblings = fromPath.length > depth + 1 && toPath.length > depth + 1 && fromPath[depth] !== toPath[depth];
  if (featureAreas.includes(fromPath[0]!) && siblings && toPath[1] !== 'operations')
    return 'folders of a feature area do not import each other';
  return undefined;
}

const parsing = [
  // a pattern that is applied to the text of an error
  /\.(test|exec)\(\s*([\w$]+[!?]*\.)*(message|description)\b/,
  /\b(message|description)[!?]*\.(match|matchAll|search|startsWith|endsWith|includes|indexOf)\(/,
  /\.(message|description)\s*[!=]==?\s*['"`]/,
];
/** A rule of zod that holds a sentence where oauth/refusals.ts expects a code. */
const wordedRule = /(error:|[,(])\s*['"`](must|is|holds|may) [^'"`]*['"`]/;

/** The files that parse an English sentence, or put one into a rule. The database layer can tell some errors apart in no other way. */
function parsedEnglish(sources: readonly Source[]): string[] {
  return sources.flatMap(({ file, text }) => {
    const code = codeOf(text);
    const parses = !file.startsWith('database/') && parsing.some((pattern) => pattern.test(code));
    const words = !file.startsWith('config') && /from 'zod'/.test(code) && wordedRule.test(code);
    return [...(parses ? [`${file} parses a sentence`] : []), ...(words ? [`${file} words a rule`] : [])];
  });
}

/** The groups of files that import each other in a circle. */
function circles(sources: readonly Source[]): string[][] {
  const imports = new Map(
    sources.map(({ file, text }) => [
      file,
      importsOf(text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => join(dirname(file), specifier)),
    ]),
  );
  const found: string[][] = [];
  const done = new Set<string>();
  function visit(file: string, path: string[]): void {
    if (path.includes(file)) found.push(path.slice(path.indexOf(file)));
    if (done.has(file)) return;
    done.add(file);
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
  }
  for (const file of imports.keys()) visit(file, []);
  return found;
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

function sources(folder = root): Source[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { file: relative(folder, path), text: readFileSync(path, 'utf8') };
    });
}

test('imports go down, never to a sibling, and only the listed files import an outside package (architecture, directions)', () => {
  expect(violations(sources())).toEqual([]);
});

test('domain/administration and admin/operations share no name (architecture, modules)', () => {
  const exported = (folder: string) =>
    sources(join(root, folder)).flatMap(({ text }) =>
      [...text.matchAll(/^export (?:async )?(?:const|function)\*? (\w+)/gm)].map(([, name]) => name!),
    );
  const names = exported('domain/administration');
  expect(exported('admin/operations').filter((name) => names.includes(name))).toEqual([]);
});

test('no files import each other in a circle, types included (architecture, directions)', () => {
  for (const folder of ['src', 'bench', 'demo', 'scripts', 'test'])
    expect(circles(sources(resolve(root, '..', folder))), folder).toEqual([]);
});

test('no file parses an English sentence: refusals are data (architecture, extension points)', () => {
  expect(parsedEnglish(sources())).toEqual([]);
});

test.each([
  `const field = / is missing$/.exec(error.description);`,
  `if (/^(must|is) /.test(issue.message)) return issue.message;`,
  `if (pattern.test(description)) return code;`,
  `if (error.message.includes('is taken')) return 'taken';`,
  `const held = refused.description.match(/^the client (\\S+) holds/);`,
  `if (issue.message === 'is missing') return;`,
  `import { z } from 'zod';\nconst name = z.string().max(255, 'must have at most 255 characters');`,
  `import { z } from 'zod';\nconst flag = z.boolean({ error: 'must be true or false' });`,
])('a planted line that parses or words a sentence is found: %s (architecture, extension points)', (line) => {
  expect(parsedEnglish([{ file: 'oauth/a.ts', text: `// A planted fault.\n${line}\n` }])).toHaveLength(1);
});

test('app.ts has at most 180 lines, and no other file more than 400 (architecture, modules)', () => {
  const long = sources()
    .map(({ file, text }) => ({ file, lines: text.trimEnd().split('\n').length }))
    .filter(({ file, lines }) => lines > (file === 'app.ts' ? 180 : 400));
  expect(long).toEqual([]);
});

/** What a client gets tokens by: every statement that stores one asks the check before issuing. */
const storesTokens =
  /INSERT INTO\s+(authorization_codes|access_tokens|refresh_tokens|client_session_handles|client_sessions)\b/;

/** The statements that store a code or a token without the check before issuing, by their files. */
function unchecked(sources: readonly Source[]): string[] {
  return sources.flatMap(({ file, text }) => {
    if (file.endsWith('.sql')) {
      const code = text.replace(/--.*$/gm, '');
      return storesTokens.test(code) && !code.includes('{{may_issue}}(') ? [file] : [];
    }
    const asks = (statement: string) => /\$\{(mayIssueFunction\.name\}|mayIssueToClient\()/.test(statement);
    const statements = [...text.matchAll(/`[^`]*`/g)].map(([statement]) => statement);
    return statements.filter((statement) => storesTokens.test(statement) && !asks(statement)).map(() => file);
  });
}

test('no statement stores a code or a token without the check before issuing (security R133)', () => {
  const functions = readdirSync(join(root, 'repositories'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => ({ file: `repositories/${file}`, text: readFileSync(join(root, 'repositories', file), 'utf8') }));
  const all = [...sources(), ...functions];
  expect(unchecked(all)).toEqual([]);
  expect(all.filter(({ text }) => storesTokens.test(text)).map(({ file }) => file.split('/').at(-1))).toEqual(
    expect.arrayContaining(['access-tokens.ts', 'issue_code.sql', 'redeem_code.sql', 'use_refresh_token.sql']),
  );
});

test.each<[string, Source]>([
  [
    'a stored function of a new grant type',
    {
      file: 'repositories/tokens/use_assertion.sql',
      text: `-- Asks {{may_issue}}() in a comment only.
        CREATE FUNCTION {{use_assertion}}(token bytea, client text) RETURNS void LANGUAGE sql AS $$
          INSERT INTO access_tokens (token_hash, client_id, client_epoch) SELECT token, client_id, epoch FROM clients WHERE client_id = client $$;`,
    },
  ],
  [
    'a statement beside one that asks',
    {
      file: 'repositories/tokens/exchange.ts',
      text: `// Planted.
        const good = statement('a', \`INSERT INTO access_tokens SELECT $1, epoch FROM \${mayIssueFunction.name}($2)\`);
        const bad = statement('b', \`INSERT INTO
          refresh_tokens (token_hash) VALUES ($1)\`);`,
    },
  ],
])('%s that stores tokens without the check is found (security R133)', (_title, planted) => {
  expect(unchecked([planted])).toEqual([planted.file]);
});

test('a planted circle is found (architecture, directions)', () => {
  const planted = [
    { file: 'oauth/a.ts', text: `import { b } from './b.ts';\n` },
    { file: 'oauth/b.ts', text: `import type { A } from './a.ts';\n` },
  ];
  expect(circles(planted)).toEqual([['oauth/a.ts', 'oauth/b.ts']]);
});

test.each([
  ['protocol/token/routes.ts', `import { x } from '../userinfo/routes.ts';`, 'do not import each other'],
  ['admin/console/users/routes.ts', `import { x } from '../groups/routes.ts';`, 'do not import each other'],
  ['protocol/token/routes.ts', `import { x } from '../../login/sign-in/routes.ts';`, 'side by side'],
  ['repositories/users/users.ts', `import { x } from '../../tokens/id-token.ts';`, 'upwards'],
  ['pages/renderer.ts', `import type { x } from '../protocol/token/routes.ts';`, 'upwards'],
  ['oauth/scope.ts', `import { x } from '../crypto/secrets.ts';`, 'side by side'],
  ['oauth/scope.ts', `import { x } from '../rules/claims/claims.ts';`, 'upwards'],
  ['domain/users.ts', '', 'in a folder of its subject'],
  ['command-line/users.ts', `import { x } from '../app.ts';`, 'side by side'],
  ['command-line/users.ts', `import { x } from '../admin/perform.ts';`, 'runs operations'],
  ['command-line/users.ts', `import { x } from '../server/parameters.ts';`, 'know no HTTP'],
  ['admin/operations/users.ts', `import { x } from '../../server/paging.ts';`, 'know no HTTP'],
  ['protocol/token/routes.ts', `import pg from 'pg';`, 'another importer'],
  ['domain/audit/audit-export.ts', `import type { FastifyRequest } from 'fastify';`, 'another importer'],
  ['server/errors.ts', `import { jwtVerify } from 'jose';`, 'another importer'],
  ['login/a.ts', 'async function show(): Promise<FastifyReply | undefined> {', 'awaits a reply'],
  ['login/a.ts', `await pages.send(request, reply, 'login', data);`, 'awaits a reply'],
  ['tokens/key-ring.ts', `const key = process.env['SECRET_KEY'];`, 'process.env'],
  ['command-line/users.ts', `const given = await text(process.stdin);`, 'terminal'],
  ['admin/console/groups/routes.ts', `await deleteGroup.handler(context, call);`, 'the permission'],
  [
    'admin/console/users/routes.ts',
    `import type { Store } from '../../../repositories/store.ts';`,
    'past the operations',
  ],
  ['admin/console/users/routes.ts', 'const user = await options.store.users.find(sub);', 'past the operations'],
  ['admin/console/users/routes.ts', 'const { administration } = options.operationContext;', 'past the operations'],
  ['interaction/flow.ts', `const mode = stored.parameters['response_mode'];`, 'knows response_mode'],
  ['start/service.ts', `import { createDoors } from '../dev/doors.ts';`, 'knows its doors'],
  ['command-line/dev.ts', `const { createDoors } = await import('../dev/doors.ts');`, 'knows its doors'],
  ['server.ts', `await import('./start/dev.ts');`, 'knows its doors'],
  ['protocol/token/routes.ts', 'const text = `SELECT * FROM clients WHERE client_id = 1`;', 'holds SQL'],
])('a planted fault in %s is found: %s (architecture, directions)', (file, line, reason) => {
  expect(violations([{ file, text: `// A planted fault.\n${line}\n` }]).join('\n')).toContain(reason);
});
