// Reads the configuration of `gatehouse dev`, which may have users with passwords and secrets in plain text, and stores it (delivery 5).
import { applyConfig } from '../admin/operations/config/apply.ts';
import { secretReader } from '../admin/operations/config/secret-sources.ts';
import { apiVersion, type FileText } from '../admin/operations/config/config-file.ts';
import { configTexts } from '../command-line/config.ts';
import { UsageError } from '../command-line/command.ts';
import { contextOf } from '../command-line/operation-command.ts';
import { ConfigError } from '../config.ts';
import { createPasswordHashing, type PasswordWork } from '../crypto/password-hashing.ts';
import { createAdministration } from '../domain/administration/administration.ts';
import { declareSubscribers } from '../domain/events/subscribers.ts';
import { openEncryption } from '../domain/keys/encryption-at-rest.ts';
import { OAuthError } from '../oauth/errors.ts';
import { firstRefusal, sentenceOf } from '../oauth/refusals.ts';
import { isStrongSecret } from '../rules/clients/given-credentials.ts';
import { readYaml, YamlFault, type YamlMap, type YamlValue } from '../rules/files/yaml-text.ts';
import { newUserShape } from '../rules/users/administration.ts';
import type { Additions } from './service.ts';

/** What the line on standard output says of the clients and users. */
export interface Filled {
  clients: { client_id: string; client_secret?: string | undefined; redirect_uris?: YamlValue | undefined }[];
  users: { username: string; password: string | undefined; sub: string; email: string | undefined; admin: boolean }[];
}

type Opened = Parameters<Additions['fill']>[0];

/** Without a file: a confidential client that uses any port of a loopback address, and a user. */
const usual: YamlMap = {
  clients: {
    app: {
      client_name: 'App',
      application_type: 'native',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      post_logout_redirect_uris: ['http://localhost/', 'http://127.0.0.1/'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: 'app-secret',
    },
  },
  users: { alice: { password: 'alice', email: 'alice@example.com', email_verified: true, claims: { name: 'Alice' } } },
};

/** A name that no file gives a variable. */
const plainVariable = 'GATEHOUSE_DEV_PLAIN_';
const isMap = (value: YamlValue | undefined): value is YamlMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface ReadConfiguration {
  texts: FileText[];
  users: YamlMap;
  clients: YamlMap;
  /** The secrets in plain text. */
  plain: string[];
}

/** @throws ConfigError with one sentence that names the file */
export async function readDevConfiguration(path: string | undefined): Promise<ReadConfiguration> {
  const read: ReadConfiguration = { texts: [], users: {}, clients: {}, plain: [] };
  if (path === undefined) {
    takeApart(usual, 'the usual configuration', read);
    return read;
  }
  for (const { name, text } of configTexts(path)) {
    try {
      takeApart((await readYaml(text)).value, name, read);
    } catch (error) {
      if (error instanceof YamlFault) throw new ConfigError(`Line ${error.line} of ${name}: ${error.message}.`);
      throw error;
    }
  }
  return read;
}

/** Takes out what other files must not have. */
function takeApart({ users, ...rest }: YamlMap, name: string, read: ReadConfiguration): void {
  if (isMap(users)) Object.assign(read.users, users);
  const clients = isMap(rest['clients']) ? rest['clients'] : {};
  const own = Object.fromEntries(
    Object.entries(clients).map(([id, client]) => [id, isMap(client) ? withSource(client, read.plain) : client]),
  );
  Object.assign(read.clients, clients);
  const head = { apiVersion, name: 'dev' };
  // every text in JSON is YAML
  read.texts.push({
    name,
    text: JSON.stringify({ ...head, ...rest, ...(rest['clients'] !== undefined && { clients: own }) }),
  });
}

function withSource(client: YamlMap, plain: string[]): YamlMap {
  const { client_secret: secret } = client;
  if (typeof secret !== 'string' || secret === 'generate') return client;
  plain.push(secret);
  const source = { client_secret: { env: `${plainVariable}${plain.length}` } };
  return { ...client, ...source, ...(!isStrongSecret(secret) && { weak_secret: true }) };
}

/** Stores the configuration. @throws ConfigError */
export async function fillDevDatabase(
  { config, connection, store, logger }: Opened,
  path: string | undefined,
  { texts, users, clients, plain }: ReadConfiguration,
  work: PasswordWork,
): Promise<Filled> {
  const administration = createAdministration(store);
  try {
    await declareSubscribers(store);
    const encryption = await openEncryption(store, connection.secretKeys);
    const terminal = { stderr: { write: (line: string) => (logger.warn(line.trim()), true) } };
    const context = contextOf({ config, hasMailServer: true, store, ...encryption, administration }, terminal);
    const fromFile = secretReader(path ?? '.', config);
    const { secrets, warnings } = await applyConfig(context, {
      texts,
      read: (source, member) => {
        const at = source.env?.startsWith(plainVariable) ? Number(source.env.slice(plainVariable.length)) : undefined;
        return at === undefined ? fromFile(source, member) : { source, value: plain[at - 1] };
      },
      prune: false,
      enable: false,
    });
    for (const warning of warnings) logger.warn(warning);
    const made = new Map(secrets.filter(({ section }) => section === 'clients').map(({ key, value }) => [key, value]));
    return {
      clients: Object.entries(clients).map(([id, client]) => {
        const { client_secret: secret, redirect_uris: uris } = isMap(client) ? client : {};
        const given = typeof secret === 'string' && secret !== 'generate' ? secret : undefined;
        return { client_id: id, client_secret: made.get(id) ?? given, redirect_uris: uris };
      }),
      users: await Promise.all(Object.entries(users).map(([name, user]) => makeUser(administration, name, user, work))),
    };
  } catch (error) {
    if (error instanceof OAuthError)
      throw new ConfigError(`The configuration is wrong: ${error.description}.`, { cause: error });
    if (error instanceof UsageError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}

async function makeUser(
  administration: ReturnType<typeof createAdministration>,
  username: string,
  given: YamlValue,
  work: PasswordWork,
): Promise<Filled['users'][number]> {
  const parsed = newUserShape(1).safeParse({ ...(isMap(given) && given), username });
  if (!parsed.success)
    throw new ConfigError(
      `The configuration is wrong: users.${username}: ${sentenceOf(firstRefusal(parsed.error, 'the entry'))}.`,
    );
  const { password, email_verified: isVerified, attributes, claims = {}, ...user } = parsed.data;
  const { user: made } = await administration.createUser(
    { actor: 'gatehouse dev' },
    {
      ...user,
      confirmedBy: isVerified ? 'administrator' : undefined,
      passwordHash: password === undefined ? undefined : await createPasswordHashing(work).hash(password),
      attributes,
      claims: Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined)),
    },
  );
  return { username: made.username, password, sub: made.sub, email: made.email, admin: made.admin };
}
