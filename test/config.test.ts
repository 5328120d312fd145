// Checks the rules of the settings, and that .env.example lists every setting with its default.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError, loadConfig, ownSecretsOf, settings } from '../src/config.ts';

const newKey = () => randomBytes(32).toString('base64url');
const [secretKey, otherKey] = [newKey(), newKey()];

test('.env.example lists every setting with its default (decisions section 8)', () => {
  const text = readFileSync(join(import.meta.dirname, '../.env.example'), 'utf8');
  const listed = Object.fromEntries(
    [...text.matchAll(/^# ?([A-Z0-9_]+)=(.*)$/gm)].map((match) => [match[1], match[2]]),
  );
  expect(Object.keys(listed).sort()).toEqual(Object.keys(settings).sort());
  for (const [name, rule] of Object.entries(settings)) {
    if (name === 'BASE_URL') continue; // follows PORT
    const withoutIt = rule.safeParse(undefined).data;
    const hasDefault = withoutIt !== undefined && !(Array.isArray(withoutIt) && withoutIt.length === 0);
    const shown = listed[name]!;
    expect(shown !== '' || name === 'FAPI2', name).toBe(hasDefault || name === 'FAPI2');
    if (shown !== '') expect({ [name]: rule.parse(shown) }).toEqual({ [name]: withoutIt });
  }
});

test.each([
  ['PORT', 'eighty'],
  ['PORT', '70000'],
  ['BASE_URL', 'http://idp.example.com'],
  ['BASE_URL', 'https://idp.example.com/'],
  ['BASE_URL', 'https://idp.example.com?x=1'],
  ['BASE_URL', 'https://user@idp.example.com'],
  ['BASE_URL', 'idp.example.com'],
  ['DATABASE_URL', 'mysql://localhost/x'],
  ['SECRET_KEY', 'short'],
  ['SECRET_KEY', 'A'.repeat(43)],
  ['SECRET_KEY', `${secretKey},`],
  ['SECRET_KEY', `,${secretKey}`],
  ['SECRET_KEY', `${secretKey},,${otherKey}`],
  ['SECRET_KEY', `${secretKey},${otherKey.slice(1)}`],
  ['SECRET_KEY', `${secretKey},${'A'.repeat(43)}`],
  ['SECRET_KEY', `${secretKey},${otherKey},${secretKey}=`],
  ['SECRET_KEY', Array.from({ length: 9 }, newKey).join(',')],
  ['TRUST_PROXY', '1'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['OUTBOUND_ALLOW', 'localhost'],
  ['ACCESS_TOKEN_LIFETIME', '0'],
  ['ACCESS_TOKEN_LIFETIME', '1.5'],
  ['KEY_ROTATION_INTERVAL', '3599'],
  ['PASSWORD_HASH_CONCURRENCY', '0'],
  ['PASSWORD_HASH_CONCURRENCY', '4'],
  ['PASSWORD_BREACH_CHECK', 'maybe'],
  ['PASSWORD_BREACH_CHECK', 'https://ranges.example.com/range'],
  ['LIMIT_SIGN_IN_PER_ACCOUNT', '91'],
  ['REGISTRATION_APPROVAL', 'yes'],
  ['USERINFO_POST', '1'],
  ['ADMIN_PASSWORD', 'short'],
  ['PRODUCT_NAME', 'a'.repeat(61)],
  ['PRODUCT_NAME', 'Harbour\u200b'],
  ['ACCENT_COLOR', 'teal'],
  ['ACCENT_COLOR', '#abc'],
  ['ACCENT_COLOR', '#ffcc00'],
  ['SUPPORT_URL', 'http://help.example.com'],
  ['SUPPORT_URL', 'javascript:alert(1)'],
  ['LOGO_FILE', '/dev/null'],
])('a wrong %s is refused with one sentence that names it and not its value (decisions section 8)', (name, value) => {
  let message = '';
  try {
    loadConfig({ [name]: value });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    message = (error as Error).message;
  }
  expect(message).toContain(name);
  expect(message).toMatch(/^The setting .*\.$/);
  // neither a key of the list, nor a part that is not a key
  const secrets = name === 'SECRET_KEY' ? value.split(',').filter(Boolean) : name === 'ADMIN_PASSWORD' ? [value] : [];
  for (const secret of secrets) expect(message).not.toContain(secret);
});

test('a setting under its former name is refused with its new one, and not ignored (architecture, glossary)', () => {
  expect(() => loadConfig({ LIMIT_CONNECTIONS: '10' })).toThrow(
    'The setting LIMIT_CONNECTIONS is now called LIMIT_SOCKETS.',
  );
});

test('SECRET_KEY is one key or a list of up to eight, with or without padding and spaces (decisions section 8)', () => {
  const keys = Array.from({ length: 8 }, newKey);
  expect(loadConfig({ SECRET_KEY: secretKey }).secretKeys).toEqual([secretKey]);
  expect(loadConfig({ SECRET_KEY: `${secretKey}=, ${otherKey}` }).secretKeys).toEqual([secretKey, otherKey]);
  expect(loadConfig({ SECRET_KEY: keys.join(',') }).secretKeys).toEqual(keys);
  expect(() => loadConfig({ SECRET_KEY: `${otherKey},${secretKey}`, ADMIN_PASSWORD: secretKey })).toThrow(
    /^The setting ADMIN_PASSWORD has the same value as SECRET_KEY/,
  );
});

test('the error of each setting that has rules says in plain words what the value must be (decisions section 8)', () => {
  const accepting = Object.keys(settings).filter((name) => {
    try {
      loadConfig({ [name]: '\0,<' });
      return true;
    } catch (error) {
      expect((error as Error).message).toMatch(new RegExp(`^The setting ${name} must [^\n]*\\.$`));
      expect((error as Error).message).not.toMatch(/invalid|expected|too (big|small)/i);
      return false;
    }
  });
  expect(accepting).toEqual(['HOST', 'CONFIG_FILE', 'DATA_DIR', 'TEMPLATES_DIR', 'REQUIRE_SECOND_FACTOR_GROUPS']);
});

const place = '@127.0.0.1:5432/idp';
test.each([
  ['DATABASE_URL', `postgresql://gatehouse:x@secretpart/rest${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart#rest${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart?rest${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:12/secretpart${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:12?secretpart${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:x@secretpart#rest${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart%ff${place}`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart\n${place}`],
  ['DATABASE_URL', 'postgresql://gatehouse:secretpart@127.0.0.1:54321234/idp'],
  ['DATABASE_URL', 'postgresql://gatehouse:secretpart@127.0.0.1/idp?port=x'],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslmode=always`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslmode=verify-ca`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslmode=require&sslrootcert=system`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslmode=verify-full&sslrootcert=/nonexistent.pem`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslrootcert=/dev/null/x`],
  ['DATABASE_URL', `postgresql://gatehouse:secretpart${place}?sslcert=${join(import.meta.dirname, 'config.test.ts')}`],
  ['DATABASE_DIRECT_URL', `postgresql://gatehouse:x@secretpart/rest${place}`],
  ['SMTP_URL', 'smtp://mailer:secretpart/rest@mail.example.com'],
  ['SMTP_URL', 'smtp://mailer:12/secretpart@mail.example.com'],
  ['SMTP_URL', 'smtp://mailer:x@secretpart#rest@mail.example.com'],
  ['SMTP_URL', 'smtp://mailer:secretpart%zz@mail.example.com'],
  ['SMTP_URL', 'smtp://mailer:secretpart\tx@mail.example.com'],
  ['PASSWORD_BREACH_CHECK', 'https://ranges.example.com/secretpart?x/'],
  ['PASSWORD_BREACH_CHECK', 'https://ranges.example.com/secret\npart/'],
  ['ADMIN_PASSWORD', 'secretpart with\na line break'],
  ['ADMIN_USERNAME', 'ad\nmin'],
  ['BASE_URL', 'https://idp.example\n.com'],
])(
  'a mistake in %s is one sentence with its name, and quotes nothing that may be secret: %j (reports B5, security R99)',
  (name, value) => {
    let message = '';
    try {
      loadConfig({ DATABASE_URL: `postgresql://gatehouse${place}`, SECRET_KEY: secretKey, [name]: value });
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      message = (error as Error).message;
    }
    expect(message).toMatch(new RegExp(`^The setting ${name} [^\n]*\\.$`));
    expect(message).not.toMatch(/secret|rest@|invalid/i);
  },
);

test('addresses with encoded characters, sockets and parameters are accepted as before (reports B5)', () => {
  for (const url of [
    `postgresql://gatehouse:x%40y%2Fz%23%3F${place}`,
    `postgresql://gatehouse:p@ss word 100%sure${place}`,
    'postgresql://gatehouse@/idp?host=%2Frun%2Fpostgresql&port=5433',
    'postgresql://gatehouse@%2Frun%2Fpostgresql/idp?sslmode=require',
    'postgresql:///idp',
    'postgresql://[::1]/idp?application_name=idp&options=-c%20search_path%3Didp',
  ])
    expect(() => loadConfig({ DATABASE_URL: url, SECRET_KEY: secretKey }), url).not.toThrow();
});

test('the final newline that a program adds to a value does not belong to it (reports B5)', () => {
  const config = loadConfig({
    ADMIN_PASSWORD: 'Harbour-admin-1234\n',
    SMTP_URL: 'smtp://mail.example.com\r\n',
    SECRET_KEY: `${secretKey}\n`,
    DATABASE_URL: `postgresql://gatehouse${place}\n`,
    BASE_URL: 'https://idp.example.com\n',
    PORT: '\n',
  });
  expect(config).toMatchObject({
    adminPassword: 'Harbour-admin-1234',
    smtpUrl: 'smtp://mail.example.com',
    secretKeys: [secretKey],
    databaseUrl: `postgresql://gatehouse${place}`,
    issuer: 'https://idp.example.com',
    port: 3000,
  });
});

test('DATABASE_URL without SECRET_KEY is refused (decisions section 8, security R111)', () => {
  expect(() => loadConfig({ DATABASE_URL: 'postgresql://localhost/gatehouse' })).toThrow(/SECRET_KEY is missing/);
  expect(() => loadConfig({ DATABASE_URL: 'postgresql://localhost/gatehouse', SECRET_KEY: secretKey })).not.toThrow();
});

test('http is allowed for loopback only, and the base address may have a path (decisions sections 1 and 8)', () => {
  expect(loadConfig({}).issuer).toBe('http://localhost:3000');
  expect(loadConfig({ PORT: '8080' }).issuer).toBe('http://localhost:8080');
  const config = loadConfig({ BASE_URL: 'https://example.com/idp' });
  expect(config).toMatchObject({ issuer: 'https://example.com/idp', basePath: '/idp', secureCookies: true });
});

test('password hashes leave one thread of the pool, and by default half of the processors, to other work (security R102)', () => {
  const concurrency = (environment: Record<string, string>) => loadConfig(environment).passwordHashConcurrency;
  expect(concurrency({})).toBe(Math.min(3, Math.max(1, Math.floor(availableParallelism() / 2))));
  expect(concurrency({ UV_THREADPOOL_SIZE: '2' })).toBe(1);
  expect(concurrency({ PASSWORD_HASH_CONCURRENCY: '8', UV_THREADPOOL_SIZE: '16' })).toBe(8);
});

test('each secret may be in a file, and no refusal of one shows what is in it (decisions section 8, security R99)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secret-'));
  try {
    const fileWith = (content: string) => {
      const file = join(folder, randomBytes(4).toString('hex'));
      writeFileSync(file, content);
      return file;
    };
    const url = 'postgresql://gatehouse:harbour-secret-word@localhost/gatehouse';
    const files = {
      SECRET_KEY_FILE: fileWith(`${secretKey}\n`),
      DATABASE_URL_FILE: fileWith(`${url}\r\n`),
      DATABASE_DIRECT_URL_FILE: fileWith(url),
      SMTP_URL_FILE: fileWith('smtp://user:mail-secret-word@mail.example.com'),
      ADMIN_PASSWORD_FILE: fileWith('Harbour-admin-1234\n'),
      AUDIT_STREAM_FILE: fileWith('https://collector.example.com/in'),
      AUDIT_STREAM_TOKEN_FILE: fileWith('collector-secret-word'),
    };
    const config = loadConfig(files);
    expect(config).toMatchObject({
      secretKeys: [secretKey],
      databaseUrl: url,
      databaseDirectUrl: url,
      smtpUrl: 'smtp://user:mail-secret-word@mail.example.com',
      adminPassword: 'Harbour-admin-1234',
      auditStream: { token: 'collector-secret-word' },
    });
    expect(JSON.stringify(config.given)).not.toMatch(/secret-word|Harbour-admin/);
    // the files are the service's own: no configuration file hands one on
    const own = ownSecretsOf(config);
    for (const file of Object.values(files)) expect(own.isFile(realpathSync(file)), file).toBe(true);
    for (const [wrong, sentence] of [
      [
        { ...files, SECRET_KEY: secretKey },
        /^The setting SECRET_KEY_FILE is set beside SECRET_KEY: remove one of them\.$/,
      ],
      [
        { SECRET_KEY_FILE: join(folder, 'none') },
        /^The setting SECRET_KEY_FILE names a file that .* \(ENOENT\): .*none\.$/,
      ],
      [{ SECRET_KEY_FILE: folder }, /^The setting SECRET_KEY_FILE names a file that .* \(EISDIR\): /],
      [{ ADMIN_PASSWORD_FILE: fileWith('\n') }, /^The setting ADMIN_PASSWORD_FILE names an empty file: /],
      [{ SMTP_URL_FILE: fileWith('harbour-secret-word') }, /^The setting SMTP_URL /],
      [
        { SECRET_KEY_FILE: fileWith('a'.repeat(70_000)) },
        /^The setting SECRET_KEY_FILE names a file with more than 65536 characters: /,
      ],
    ] as [Record<string, string>, RegExp][]) {
      const refused = () => loadConfig(wrong);
      expect(refused).toThrow(ConfigError);
      expect(refused).toThrow(sentence);
      expect(refused).not.toThrow(/secret-word|a{100}/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a BASE_URL with a slash at the end is refused with the address without it (decisions section 8)', () => {
  for (const [given, right] of [
    ['https://id.home.test/', 'https://id.home.test'],
    ['https://id.home.test/idp//', 'https://id.home.test/idp'],
  ] as const)
    expect(() => loadConfig({ BASE_URL: given })).toThrow(
      `The setting BASE_URL must not end with a slash: set it to ${right}.`,
    );
});
