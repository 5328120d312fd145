// Attacks the start: weak secrets, and an invalid issuer.
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ConfigError, loadConfig, settings } from '../../src/config.ts';
import { startServer, stopServers } from '../helpers/server-process.ts';
import { attack } from './attack.ts';

afterAll(() => stopServers());

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
// npm decides with this package, which other packages bring
const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean;
};
const random = (bytes: number) => randomBytes(bytes).toString('base64url');
const typed = Buffer.from('this is not a real secret key 12').toString('base64url');
const key = random(32);
const database = 'postgresql://gatehouse:a-secret-word@127.0.0.1:1/gatehouse';

/** The setting that the refusal names, and the settings of the case. */
const refused: [string, Record<string, string>][] = [
  ['SECRET_KEY', { DATABASE_URL: database }],
  ['SECRET_KEY', { DATABASE_URL: database, SECRET_KEY: random(31) }],
  ['SECRET_KEY', { SECRET_KEY: random(33) }],
  ['SECRET_KEY', { SECRET_KEY: random(16) }],
  ['SECRET_KEY', { SECRET_KEY: `${random(31)}+/` }],
  ['SECRET_KEY', { SECRET_KEY: Buffer.alloc(32).toString('base64url') }],
  ['SECRET_KEY', { SECRET_KEY: Buffer.alloc(32, 'changeme').toString('base64url') }],
  ['SECRET_KEY', { SECRET_KEY: Buffer.from([...Array(32).keys()]).toString('base64url') }],
  ['SECRET_KEY', { SECRET_KEY: typed }],
  ['ADMIN_PASSWORD', { SECRET_KEY: key, ADMIN_PASSWORD: key }],
  ['ADMIN_PASSWORD', { SECRET_KEY: `${key}=`, ADMIN_PASSWORD: key }],
  ['DATABASE_URL', { SECRET_KEY: key, DATABASE_URL: `postgresql://gatehouse:${key}@localhost/gatehouse` }],
  [
    'DATABASE_URL',
    {
      SECRET_KEY: key,
      ADMIN_PASSWORD: 'correct horse battery',
      DATABASE_URL: 'postgresql://gatehouse:correct%20horse%20battery@localhost/gatehouse',
    },
  ],
  ...[
    'http://idp.example.com',
    'http://localhost.example.com',
    'http://10.0.0.1',
    'ftp://idp.example.com',
    'idp.example.com',
    '//idp.example.com',
    'https:/idp.example.com',
    'https://',
    'https://idp.example.com.',
    'https://IDP.example.com',
    'https://idp.example.com:443',
    'https://user@idp.example.com',
    ' https://a.example',
    'https://idp.example.com/',
    'https://idp.example.com/idp/',
    'https://idp.example.com//idp',
    'https://idp.example.com/a/../idp',
    'https://idp.example.com/a//b',
    'https://idp.example.com/%69dp',
    'https://idp.example.com/idp?',
    'https://idp.example.com/idp?x=1',
    'https://idp.example.com/idp#',
    'https://idp.example.com/:tenant',
    'https://idp.example.com/*',
    'https://idp.example.com/idp;v=1',
    'https://idp.example.com/.well-known/openid-configuration',
    'https://idp.example.com/a b',
  ].map((BASE_URL): [string, Record<string, string>] => ['BASE_URL', { SECRET_KEY: key, BASE_URL }]),
];

function errorOf(environment: Record<string, string>): string {
  try {
    loadConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  return 'it started';
}

attack(
  {
    id: 'A126',
    name: 'Start with bad secrets',
    request:
      'Start the service with SECRET_KEY missing, too short, a sample, typed or the same as another secret, and with an issuer that is http or has an invalid path.',
    answer:
      'the process ends with an exit code that is not 0 and one sentence that names the setting and not its value',
    source: 'Ory Kratos GHSA-hgx2-28f8-6g2r, Ory Hydra GHSA-r9w3-57w2-gch2',
    requirements: ['R111'],
  },
  async () => {
    for (const [name, environment] of refused) {
      const complaint = errorOf(environment);
      expect(complaint, JSON.stringify(environment)).toMatch(new RegExp(`^The setting ${name} .*\\.$`));
      for (const secret of ['SECRET_KEY', 'ADMIN_PASSWORD', 'DATABASE_URL'])
        if (environment[secret]) expect(complaint).not.toContain(environment[secret]);
    }
    const short = random(31);
    const processes = [
      startServer({ DATABASE_URL: database, SECRET_KEY: short }),
      startServer({ DATABASE_URL: database, SECRET_KEY: key, BASE_URL: 'https://idp.example.com//idp' }),
    ];
    const ends = await Promise.all(processes.map((process) => process.exited));
    for (const [index, name] of ['SECRET_KEY', 'BASE_URL'].entries()) {
      expect(ends[index]).toEqual({ code: 1, signal: null });
      expect(processes[index]!.stderr).toMatch(new RegExp(`^The setting ${name} [^\n]*\\.\n$`));
      for (const secret of [short, key, 'a-secret-word']) expect(processes[index]!.stderr).not.toContain(secret);
    }
  },
);

test('no secret has a default, and no secret that the documentation shows starts the service (security R111)', () => {
  for (const name of ['SECRET_KEY', 'ADMIN_PASSWORD', 'DATABASE_URL'] as const)
    expect(settings[name].safeParse(undefined).data).toBeUndefined();
  const files = ['README.md', '.env.example', 'Dockerfile', 'SECURITY.md', 'CONTRIBUTING.md'];
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  const deployed = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [relative(root, join(entry.parentPath, entry.name))] : [],
  );
  for (const file of [...files, ...deployed, ...pages.map((page) => `docs/${page}`)]) {
    const text = read(file);
    const shown = [
      ...[...text.matchAll(/SECRET_KEY[=:] *(\S+)/g)].map((match) => match[1]!),
      // the name of a class has this length, too
      ...(text.match(/(?<![\w-]|\bnew )[\w-]{43}=?(?![\w:-])/g) ?? []),
    ];
    for (const sample of shown) expect(errorOf({ SECRET_KEY: sample }), `${file}: ${sample}`).toContain('SECRET_KEY');
  }
});

test('the service starts with valid settings, with any path (security R111)', () => {
  for (const path of ['', '/idp', '/a/b.c/~d', '/Realm_1'])
    expect(loadConfig({ SECRET_KEY: key, BASE_URL: `https://idp.example.com${path}` }).basePath).toBe(path);
  expect(loadConfig({ SECRET_KEY: `${key}=`, ADMIN_PASSWORD: random(12) }).secretKeys).toEqual([key]);
  for (let round = 0; round < 1000; round++) loadConfig({ SECRET_KEY: random(32) });
});

test('one file sets the options of Node, and every documented or packaged start uses that file', () => {
  const named = 'README.md CONTRIBUTING.md .env.example package.json Dockerfile .ci .github';
  const files = `${named} bin deploy docs bench demo scripts src`.split(' ').flatMap((path) => {
    if (!statSync(join(root, path)).isDirectory()) return [path];
    const found = readdirSync(join(root, path), { recursive: true, withFileTypes: true });
    return found.flatMap((file) => (file.isFile() ? [relative(root, join(file.parentPath, file.name))] : []));
  });
  const text = files.filter((file) => !/^docs\/site\/(?:dist|\.pages|node_modules)\//.test(file));
  const setters = text.filter((file) => /\b(semi-space-size|heap-growing-percent|malloc\.\w+)=\d/.test(read(file)));
  // the operator's page explains each option
  expect(setters).toEqual(['bin/gatehouse', 'docs/operator.md']);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect([scripts['start'], scripts['idp']]).toEqual(['exec bin/gatehouse', 'exec bin/gatehouse']);
  expect(read('Dockerfile')).toMatch(/^RUN ! PORT=none gatehouse$/m);
  expect(read('Dockerfile')).toMatch(/^CMD \["gatehouse"\]$/m);
  const starts = text.filter((file) => /^[^#\n]*\bnode\b[^\n`]* src\/(server|cli)\.ts/m.test(read(file)));
  expect(starts).toEqual([]);
  for (const page of ['README.md', 'docs/operator.md']) expect(read(page)).toMatch(/^bin\/gatehouse$/m);
});

test('README and package.json name the oldest Node that every package supports', () => {
  type Versions = Record<string, { engines?: { node?: string }; optional?: true }>;
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Versions };
  const node = packages['']!.engines!.node!;
  expect(JSON.parse(read('package.json'))).toMatchObject({ engines: { node } });
  const oldest = /^\^(\d+\.\d+)\.0 /.exec(node)![1]!;
  expect(read('README.md')).toContain(`Node ${oldest}, 24, 26 or later`);
  const wanted = Object.entries(packages).flatMap(([name, { engines, optional }]) =>
    // what is optional is loaded when a setting asks for it
    name !== '' && !optional && engines?.node !== undefined ? [[name, engines.node] as const] : [],
  );
  const refusing = (version: string) => wanted.filter(([, range]) => !satisfies(version, range)).map(([name]) => name);
  for (const version of [`${oldest}.0`, '24.0.0', '26.0.0', '27.1.0']) expect(refusing(version), version).toEqual([]);
  for (const version of ['20.19.0', '22.12.0', '23.5.0', '25.0.0']) expect(refusing(version), version).not.toEqual([]);
});

test('no other user can change the compiled code that Node caches, and a start needs no folder for it (security R111)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const cache = join(folder, 'compiled');
  writeFileSync(join(folder, 'file'), '');
  try {
    for (const path of [cache, join(folder, 'file')]) {
      const server = startServer({ PORT: 'none', NODE_COMPILE_CACHE: path });
      expect((await server.exited).code).toBe(1);
      expect(server.stderr).toBe('The setting PORT must be a port number from 0 to 65535.\n');
    }
    const kept = readdirSync(cache, { recursive: true, encoding: 'utf8' });
    expect(kept.length).toBeGreaterThan(100);
    for (const name of kept) expect(statSync(join(cache, name)).mode & 0o022, name).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
