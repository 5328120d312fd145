// Attack cases: a start with secrets and an issuer that nobody should have.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ConfigError, loadConfig, settings } from '../../src/config.ts';
import { startServer, stopServers } from '../helpers/server-process.ts';
import { attack } from './attack.ts';

afterAll(() => stopServers());

const root = join(import.meta.dirname, '../..');
const random = (bytes: number) => randomBytes(bytes).toString('base64url');
const typed = Buffer.from('this is not a real secret key 12').toString('base64url');
const key = random(32);
const database = 'postgresql://gatehouse:a-secret-word@127.0.0.1:1/gatehouse';

/** The setting that is named in the refusal, and the settings that it is about. */
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
      ...{ SECRET_KEY: key, ADMIN_PASSWORD: 'correct horse battery' },
      DATABASE_URL: 'postgresql://gatehouse:correct%20horse%20battery@localhost/gatehouse',
    },
  ],
  ...[
    ...['http://idp.example.com', 'http://localhost.example.com', 'http://10.0.0.1', 'ftp://idp.example.com'],
    ...['idp.example.com', '//idp.example.com', 'https:/idp.example.com', 'https://', 'https://idp.example.com.'],
    ...['https://IDP.example.com', 'https://idp.example.com:443', 'https://user@idp.example.com', ' https://a.example'],
    ...['https://idp.example.com/', 'https://idp.example.com/idp/', 'https://idp.example.com//idp'],
    ...['https://idp.example.com/a/../idp', 'https://idp.example.com/a//b', 'https://idp.example.com/%69dp'],
    ...['https://idp.example.com/idp?', 'https://idp.example.com/idp?x=1', 'https://idp.example.com/idp#'],
    ...['https://idp.example.com/:tenant', 'https://idp.example.com/*', 'https://idp.example.com/idp;v=1'],
    ...['https://idp.example.com/.well-known/openid-configuration', 'https://idp.example.com/a b'],
  ].map((BASE_URL): [string, Record<string, string>] => ['BASE_URL', { SECRET_KEY: key, BASE_URL }]),
];

function complaintOf(environment: Record<string, string>): string {
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
    name: 'Boot with bad secrets',
    request:
      'Start the service with SECRET_KEY missing, too short, a sample, typed or the same as another secret, and with an issuer that is http or has a path that is none.',
    answer:
      'the process ends with an exit code that is not 0 and one sentence that has the setting’s name, and not its value',
    source: 'Ory Kratos GHSA-hgx2-28f8-6g2r, Ory Hydra GHSA-r9w3-57w2-gch2',
    requirements: ['R111'],
  },
  async () => {
    for (const [name, environment] of refused) {
      const complaint = complaintOf(environment);
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

test('no secret has a default, and none that the documentation shows starts the service (security R111)', () => {
  for (const name of ['SECRET_KEY', 'ADMIN_PASSWORD', 'DATABASE_URL'] as const)
    expect(settings[name].safeParse(undefined).data).toBeUndefined();
  const files = ['README.md', '.env.example', 'docker-compose.yml', 'Dockerfile', 'SECURITY.md', 'CONTRIBUTING.md'];
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  for (const file of [...files, ...pages.map((page) => `docs/${page}`)]) {
    const text = readFileSync(join(root, file), 'utf8');
    const shown = [
      ...[...text.matchAll(/SECRET_KEY[=:] *(\S+)/g)].map((match) => match[1]!),
      ...(text.match(/(?<![\w-])[\w-]{43}=?(?![\w-])/g) ?? []),
    ];
    for (const sample of shown)
      expect(complaintOf({ SECRET_KEY: sample }), `${file}: ${sample}`).toContain('SECRET_KEY');
  }
});

test('good settings start, whatever the path (security R111)', () => {
  for (const path of ['', '/idp', '/a/b.c/~d', '/Realm_1'])
    expect(loadConfig({ SECRET_KEY: key, BASE_URL: `https://idp.example.com${path}` }).basePath).toBe(path);
  expect(loadConfig({ SECRET_KEY: `${key}=`, ADMIN_PASSWORD: random(12) }).secretKey).toBe(`${key}=`);
  for (let round = 0; round < 1000; round++) loadConfig({ SECRET_KEY: random(32) });
});

test('every start that is documented has the same variables and flags of Node', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const partsOf = (text: string) => ({
    flags: text.match(/--(?!env-file)[a-z][a-z-]*(=\d+)?/g) ?? [],
    allocator: /\bGLIBC_TUNABLES=[a-z0-9_.:=]+/.exec(text)?.[0],
    cache: /\bNODE_COMPILE_CACHE=/.test(text),
  });
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const usual = partsOf(scripts['start']!);
  expect(usual).toEqual({
    flags: [expect.any(String), expect.any(String), expect.any(String), expect.any(String)],
    allocator: expect.any(String),
    cache: true,
  });
  const readme = /^export GLIBC.*\nexport.*\nnode .*src\/server\.ts$/m;
  expect(partsOf(readme.exec(read('README.md'))![0])).toEqual(usual);
  expect(partsOf(readme.exec(read('docs/operator.md'))![0])).toEqual(usual);
  const image = read('Dockerfile');
  expect(partsOf(/^ENV .*\\\n.*/m.exec(image)![0] + /^CMD .*/m.exec(image)![0])).toEqual(usual);
  // what was compiled with other flags is not used
  expect(partsOf(/^RUN .*src\/server\.ts$/m.exec(image)![0]).flags).toEqual(usual.flags);
});

test('what Node compiles is kept for nobody else to change, and a start needs no folder for it (security R111)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const cache = join(folder, 'compiled');
  writeFileSync(join(folder, 'file'), '');
  try {
    for (const place of [cache, join(folder, 'file')]) {
      const server = startServer({ PORT: 'none', NODE_COMPILE_CACHE: place });
      expect((await server.exited).code).toBe(1);
      expect(server.stderr).toBe('The setting PORT must be a port number.\n');
    }
    const kept = readdirSync(cache, { recursive: true, encoding: 'utf8' });
    expect(kept.length).toBeGreaterThan(100);
    for (const name of kept) expect(statSync(join(cache, name)).mode & 0o022, name).toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
