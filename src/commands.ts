// The commands of the command line, each with its options, what it does, and what it prints as text and as JSON.
import { text as readAll } from 'node:stream/consumers';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import pino from 'pino';
import type { Config } from './config.ts';
import { openConnection } from './connection.ts';
import { createPasswordHashing } from './crypto/password-hashing.ts';
import { createSecretBox, type SecretBox } from './crypto/secret-box.ts';
import { randomId } from './crypto/secrets.ts';
import { migrate } from './database/migrations.ts';
import { firstProblem, newUserShape, password as passwordShape } from './oauth/administration.ts';
import { type ClientMetadata, parseClientMetadata } from './oauth/client-metadata.ts';
import { invalidRequest, notFound } from './oauth/errors.ts';
import { type Administration, createAdministration } from './repositories/administration.ts';
import { auditEventView, clientView, keyView, userView } from './http/administrator-views.ts';
import type { Client } from './repositories/clients.ts';
import { createStore, type Store } from './repositories/index.ts';
import type { User } from './repositories/users.ts';
import { newCredentials } from './tokens/client-credentials.ts';
import { openKeyRing } from './tokens/key-ring.ts';
import { newOpaqueToken } from './tokens/opaque-token.ts';

/** The command was called wrongly; the message is one line that says how to call it. */
export class UsageError extends Error {}

export interface Output {
  text: string;
  json: unknown;
}

export interface Command {
  usage: string;
  summary: string;
  run(config: Config, args: string[]): Promise<Output>;
}

interface Context {
  config: Config;
  store: Store;
  secretBox: SecretBox;
  administration: Administration;
}

const by = { actor: 'command line' };
const listLimit = 1000;

/** Opens the database for as long as a command needs it, with the schema up to date. */
async function withDatabase<T>(config: Config, work: (context: Context) => Promise<T>): Promise<T> {
  const connection = await openConnection(config, pino({ level: 'silent' }));
  try {
    await migrate(connection.options);
    const store = createStore(connection.database);
    return await work({
      config,
      store,
      secretBox: createSecretBox(connection.secretKey),
      administration: createAdministration(store),
    });
  } finally {
    await connection.close();
  }
}

function parse<const O extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: O,
  names: string[] = [],
) {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true });
  if (positionals.length !== names.length) {
    throw new UsageError(
      names.length === 0 ? `Unexpected argument: ${positionals[0]}.` : `This command needs: ${names.join(' ')}.`,
    );
  }
  return { values, positionals };
}

async function readPassword(config: Config): Promise<string> {
  if (process.stdin.isTTY)
    throw new UsageError('Pipe the password in: printf %s "$PASSWORD" | npm run -s idp -- … --password-stdin');
  const given = (await readAll(process.stdin)).replace(/\r?\n$/, '');
  const checked = passwordShape(config.passwordMinLength).safeParse(given);
  if (!checked.success) throw invalidRequest(`the password ${checked.error.issues[0]!.message}`);
  return given;
}

const hashPassword = (password: string) => createPasswordHashing({ concurrency: 1, queue: 1 }).hash(password);

/** `name=value` pairs; a value that parses as a JSON object, number or boolean is one, else it is text. */
function readPairs(pairs: string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new UsageError(`--claim takes name=value, not ${pair}.`);
      return [pair.slice(0, equals), readValue(pair.slice(equals + 1))];
    }),
  );
}

function readValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return (typeof value === 'object' && value !== null) || typeof value === 'number' || typeof value === 'boolean'
      ? value
      : text;
  } catch {
    return text;
  }
}

async function findUser(store: Store, username: string): Promise<User> {
  const user = await store.users.findByUsername(username);
  if (!user) throw notFound(`there is no user ${username}`);
  return user;
}

export const commands: Record<string, Command> = {
  'user create': {
    usage: '--username NAME [--email E] [--claim name=value …] [--group G …] [--admin] --password-stdin',
    summary: 'Makes a user; the password comes by standard input.',
    async run(config, args) {
      const { values } = parse(args, {
        username: { type: 'string' },
        email: { type: 'string' },
        claim: { type: 'string', multiple: true, default: [] },
        group: { type: 'string', multiple: true, default: [] },
        admin: { type: 'boolean', default: false },
        'password-stdin': { type: 'boolean', default: false },
      });
      if (values.username === undefined) throw new UsageError('The option --username is missing.');
      if (!values['password-stdin'])
        throw new UsageError('Add --password-stdin and pipe the password in: it must not stand on a command line.');
      const password = await readPassword(config);
      const { email_verified, ...claims } = readPairs(values.claim);
      const shaped = newUserShape(config.passwordMinLength).safeParse({
        username: values.username,
        email: values.email,
        email_verified,
        groups: values.group,
        admin: values.admin,
        claims,
      });
      if (!shaped.success) throw invalidRequest(firstProblem(shaped.error));
      const passwordHash = await hashPassword(password);
      const user = await withDatabase(config, ({ administration }) =>
        administration.createUser(by, {
          username: shaped.data.username,
          email: shaped.data.email,
          emailVerified: shaped.data.email_verified,
          groups: shaped.data.groups,
          admin: shaped.data.admin,
          claims: shaped.data.claims,
          passwordHash,
        }),
      );
      return {
        json: userView(user),
        text: `The user ${user.username} is made (sub ${user.sub}); sign in at ${config.issuer}/login`,
      };
    },
  },
  'user list': {
    usage: '',
    summary: 'Lists the newest users.',
    async run(config, args) {
      parse(args, {});
      const users = await withDatabase(config, ({ store }) => store.users.list({ limit: listLimit, after: undefined }));
      return {
        json: users.map(userView),
        text: table(
          ['USERNAME', 'STATUS', 'ADMIN', 'EMAIL', 'SUB'],
          users.map((user) => [user.username, user.status, user.admin ? 'yes' : '', user.email ?? '', user.sub]),
        ),
      };
    },
  },
  'user disable': {
    usage: 'NAME',
    summary: 'Disables a user and ends all sessions and tokens of it.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const user = await withDatabase(config, async ({ store, administration }) =>
        administration.changeUser(by, (await findUser(store, positionals[0]!)).sub, { status: 'disabled' }),
      );
      return {
        json: userView(user),
        text: `The user ${user.username} is disabled; all sessions and tokens of it are dead.`,
      };
    },
  },
  'user set-password': {
    usage: 'NAME --password-stdin',
    summary: 'Sets a password and ends all sessions of the user.',
    async run(config, args) {
      const { values, positionals } = parse(args, { 'password-stdin': { type: 'boolean', default: false } }, ['NAME']);
      if (!values['password-stdin'])
        throw new UsageError('Add --password-stdin and pipe the password in: it must not stand on a command line.');
      const passwordHash = await hashPassword(await readPassword(config));
      const user = await withDatabase(config, async ({ store, administration }) =>
        administration.changeUser(by, (await findUser(store, positionals[0]!)).sub, {}, passwordHash),
      );
      return { json: userView(user), text: `The password of ${user.username} is set; all sessions of it have ended.` };
    },
  },
  'client list': {
    usage: '[--status disabled|enabled]',
    summary: 'Lists the newest clients.',
    async run(config, args) {
      const { values } = parse(args, { status: { type: 'string' } });
      const { status } = values;
      if (status !== undefined && status !== 'disabled' && status !== 'enabled')
        throw new UsageError('--status takes disabled or enabled.');
      const clients = await withDatabase(config, ({ store }) =>
        store.clients.list({ status }, { limit: listLimit, after: undefined }),
      );
      return {
        json: clients.map(clientView),
        text: table(
          ['CLIENT_ID', 'STATUS', 'WAITS', 'NAME', 'REDIRECT_URI'],
          clients.map((client) => [
            client.clientId,
            client.status,
            client.pendingMetadata ? 'changes' : client.status === 'disabled' && !client.approvedBy ? 'approval' : '',
            client.metadata.client_name ?? '',
            client.metadata.redirect_uris[0] ?? '',
          ]),
        ),
      };
    },
  },
  'client show': {
    usage: 'ID',
    summary: 'Shows a client with what waits for approval.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID']);
      const client = await withDatabase(config, ({ store }) => findClient(store, positionals[0]!));
      return { json: clientView(client), text: describe(client) };
    },
  },
  'client approve': {
    usage: 'ID',
    summary: 'Prints a client, then enables it with what waits for approval.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID']);
      return withDatabase(config, async ({ store, administration }) => {
        const seen = await findClient(store, positionals[0]!);
        const client = await administration.approveClient(by, seen.clientId, seen.version);
        return { json: clientView(client), text: `${describe(seen)}\n\nThis is approved: the client is enabled.` };
      });
    },
  },
  'client refuse': {
    usage: 'ID --reason TEXT',
    summary: 'Refuses what waits for approval; the registrant can read the reason.',
    async run(config, args) {
      const { values, positionals } = parse(args, { reason: { type: 'string' } }, ['ID']);
      const reason = values.reason?.trim();
      if (!reason || reason.length > 1000) throw new UsageError('--reason takes a text of up to 1000 characters.');
      return withDatabase(config, async ({ store, administration }) => {
        const seen = await findClient(store, positionals[0]!);
        const client = await administration.refuseClient(by, seen.clientId, seen.version, reason);
        return { json: clientView(client), text: `What waited of the client ${client.clientId} is refused: ${reason}` };
      });
    },
  },
  'client disable': {
    usage: 'ID',
    summary: 'Disables a client and ends all sessions and tokens of it.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['ID']);
      const client = await withDatabase(config, ({ administration }) =>
        administration.disableClient(by, positionals[0]!),
      );
      return {
        json: clientView(client),
        text: `The client ${client.clientId} is disabled; all sessions and tokens of it are dead.`,
      };
    },
  },
  'client create': {
    usage:
      '--name N [--redirect-uri U …] [--post-logout-redirect-uri U …] [--grant-type G …] [--scope "…"] [--auth-method M] [--first-party]',
    summary:
      'Makes a client, enabled at once, and prints its credentials; with --grant-type client_credentials --scope admin: the key to the admin routes.',
    async run(config, args) {
      const { values } = parse(args, {
        name: { type: 'string' },
        'redirect-uri': { type: 'string', multiple: true, default: [] },
        'post-logout-redirect-uri': { type: 'string', multiple: true, default: [] },
        'grant-type': { type: 'string', multiple: true, default: [] },
        scope: { type: 'string' },
        'auth-method': { type: 'string' },
        'first-party': { type: 'boolean', default: false },
      });
      if (values.name === undefined) throw new UsageError('The option --name is missing.');
      const redirects = values['redirect-uri'];
      const metadata: ClientMetadata = parseClientMetadata(
        {
          client_name: values.name,
          redirect_uris: redirects,
          ...(values['post-logout-redirect-uri'].length > 0 && {
            post_logout_redirect_uris: values['post-logout-redirect-uri'],
          }),
          grant_types:
            values['grant-type'].length > 0
              ? values['grant-type']
              : redirects.length > 0
                ? ['authorization_code', 'refresh_token']
                : ['client_credentials'],
          ...(values.scope !== undefined && { scope: values.scope }),
          ...(values['auth-method'] !== undefined && { token_endpoint_auth_method: values['auth-method'] }),
        },
        { admin: true },
      );
      const clientId = randomId();
      return withDatabase(config, async ({ administration, secretBox }) => {
        const { stored, shown } = newCredentials(secretBox, clientId, metadata);
        const client = await administration.createClient(by, {
          clientId,
          metadata,
          status: 'enabled',
          approvedBy: 'administrator',
          firstParty: values['first-party'],
          ...stored,
        });
        const credentials = {
          client_id: clientId,
          client_secret: shown.clientSecret,
          shared_secret: shown.sharedSecret,
          registration_access_token: shown.registrationAccessToken,
        };
        const lines = Object.entries(credentials).flatMap(([name, value]) =>
          value === undefined ? [] : [`  ${name.padEnd(26)}${value}`],
        );
        return {
          json: { ...clientView(client), ...credentials },
          text: `The client ${values.name} is made and enabled. Its credentials are shown once:\n${lines.join('\n')}\n\nIssuer: ${config.issuer}`,
        };
      });
    },
  },
  'registration-token create': {
    usage: '[--lifetime SECONDS]',
    summary: 'Makes an initial access token: what registers with it is enabled at once.',
    async run(config, args) {
      const { values } = parse(args, { lifetime: { type: 'string' } });
      const lifetime = values.lifetime === undefined ? config.lifetimes.initialAccessToken : Number(values.lifetime);
      if (!Number.isSafeInteger(lifetime) || lifetime < 1 || lifetime > 366 * 86_400)
        throw new UsageError('--lifetime takes a whole number of seconds, a year at most.');
      const token = newOpaqueToken('initial_access_token');
      const expiresAt = await withDatabase(config, ({ administration }) =>
        administration.createRegistrationToken(by, token.hash, lifetime),
      );
      return {
        json: { initial_access_token: token.token, expires_at: expiresAt.toISOString() },
        text: `${token.token}\n\nSend it as: Authorization: Bearer TOKEN with POST ${config.issuer}/register, before ${expiresAt.toISOString()}.`,
      };
    },
  },
  'keys list': {
    usage: '',
    summary: 'Lists the signing keys.',
    async run(config, args) {
      parse(args, {});
      const keys = await withDatabase(config, async (context) => (await openKeys(context)).keys);
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  'keys rotate': {
    usage: '[--immediate]',
    summary:
      'Makes a new signing key of each algorithm; it is published at once and signs once everybody knows it (--immediate: at once).',
    async run(config, args) {
      const { values } = parse(args, { immediate: { type: 'boolean', default: false } });
      const keys = await withDatabase(config, async (context) => {
        const ring = await openKeys(context);
        const kids = await ring.rotate({ lead: values.immediate ? 0 : config.lifetimes.keyPublicationLead });
        await context.administration.keysRotated(by, kids);
        return ring.keys;
      });
      return { json: keys.map(keyView), text: keyTable(keys) };
    },
  },
  'audit list': {
    usage: '[--type T] [--client ID] [--sub SUB] [--limit N]',
    summary: 'Lists the newest events of the audit trail.',
    async run(config, args) {
      const { values } = parse(args, {
        type: { type: 'string' },
        client: { type: 'string' },
        sub: { type: 'string' },
        limit: { type: 'string', default: '50' },
      });
      const limit = Number(values.limit);
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000)
        throw new UsageError('--limit takes a number from 1 to 10000.');
      const events = await withDatabase(config, ({ store }) =>
        store.auditEvents.list(
          { type: values.type, clientId: values.client, sub: values.sub },
          { limit, before: undefined },
        ),
      );
      return {
        json: events.map(auditEventView),
        text: table(
          ['AT', 'TYPE', 'OUTCOME', 'ACTOR', 'CLIENT', 'SUB'],
          events.map((event) => [
            event.at.toISOString(),
            event.type,
            event.outcome,
            event.actor ?? '',
            event.clientId ?? '',
            event.sub ?? '',
          ]),
        ),
      };
    },
  },
  migrate: {
    usage: '',
    summary: 'Brings the database schema up to date, as every start does.',
    async run(config, args) {
      parse(args, {});
      const connection = await openConnection(config, pino({ level: 'silent' }));
      try {
        const done = await migrate(connection.options);
        return {
          json: { migrations: done },
          text: done.length > 0 ? `Done: ${done.join(', ')}` : 'The database schema was up to date.',
        };
      } finally {
        await connection.close();
      }
    },
  },
};

async function findClient(store: Store, clientId: string): Promise<Client> {
  const client = await store.clients.find(clientId);
  if (!client) throw notFound(`there is no client ${clientId}`);
  return client;
}

function openKeys({ config, store, secretBox }: Context) {
  return openKeyRing({ store, secretBox, idTokenLifetime: config.lifetimes.idToken });
}

function keyTable(keys: Parameters<typeof keyView>[0][]): string {
  return table(
    ['KID', 'ALG', 'STATE', 'SIGNS FROM', 'PUBLISHED UNTIL'],
    keys.map((key) => [key.kid, key.alg, key.state, key.activeAt.toISOString(), key.expiresAt?.toISOString() ?? '']),
  );
}

function describe(client: Client): string {
  return Object.entries(clientView(client))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(32)}${harmless(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('\n');
}

/** Without characters that could move the cursor or turn the text around. */
function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** Columns as wide as their widest cell; text of others goes without what could move the cursor. */
function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows].map((row) => row.map(harmless));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
