// Reads the configuration of `gatehouse dev`, which may have users with passwords and secrets in plain text, and stores it (delivery 5).
import { applyConfig } from '../admin/operations/config/apply.ts';
import { secretReader } from '../admin/operations/config/secret-sources.ts';
import { apiVersion, type FileText } from '../admin/operations/config/config-file.ts';
import { configTexts } from '../command-line/config.ts';
import { UsageError } from '../command-line/command.ts';
import { contextOf } from '../command-line/operation-command.ts';
import { ConfigError } from '../config.ts';
import { without } from '../entities/file.ts';
import { createPasswordHashing, type PasswordWork } from '../crypto/password-hashing.ts';
import { createAdministration } from '../domain/administration/administration.ts';
import { declareSubscribers } from '../domain/events/subscribers.ts';
import { openEncryption } from '../domain/keys/encryption-at-rest.ts';
import { OAuthError } from '../oauth/errors.ts';
import { isStrongSecret } from '../rules/clients/given-credentials.ts';
import {
  isYamlMap,
  readYaml,
  YamlFault,
  type YamlMap,
  type YamlText,
  type YamlValue,
} from '../rules/files/yaml-text.ts';
import { type DevUser, readDevUsers, storeDevUser } from './dev-users.ts';
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
      scope: 'openid profile email groups offline_access',
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

interface ReadConfiguration {
  texts: FileText[];
  users: DevUser[];
  clients: YamlMap;
  /** The secrets in plain text. */
  plain: string[];
}

/** @throws ConfigError with one sentence that names the file */
export async function readDevConfiguration(path: string | undefined): Promise<ReadConfiguration> {
  const read: ReadConfiguration = { texts: [], users: [], clients: {}, plain: [] };
  const files: { name: string; text: YamlText }[] = [];
  if (path === undefined) files.push({ name: 'the usual configuration', text: { value: usual, lineOf: () => 1 } });
  else
    for (const { name, text } of configTexts(path)) {
      try {
        files.push({ name, text: await readYaml(text) });
      } catch (error) {
        if (error instanceof YamlFault) throw new ConfigError(`Line ${error.line} of ${name}: ${error.message}.`);
        throw error;
      }
    }
  for (const { name, text } of files) takeApart(text, name, read);
  read.users = readDevUsers(files);
  return read;
}

/** Takes out what other files must not have. */
function takeApart({ value, lineOf }: YamlText, name: string, read: ReadConfiguration): void {
  const rest = without(value, 'users');
  const clients = isYamlMap(rest['clients']) ? rest['clients'] : {};
  const own = Object.fromEntries(
    Object.entries(clients).map(([id, client]) => [id, isYamlMap(client) ? withSource(client, read.plain) : client]),
  );
  Object.assign(read.clients, clients);
  const whole = { apiVersion, name: 'dev', ...rest, ...(isYamlMap(rest['clients']) && { clients: own }) };
  read.texts.push({ name, text: '', read: { value: whole, lineOf } });
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
    const hashing = createPasswordHashing(work);
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
        const { client_secret: secret, redirect_uris: uris } = isYamlMap(client) ? client : {};
        const given = typeof secret === 'string' && secret !== 'generate' ? secret : undefined;
        return { client_id: id, client_secret: made.get(id) ?? given, redirect_uris: uris };
      }),
      users: await Promise.all(
        users.map((user) => storeDevUser({ administration, store, ...encryption, hashing }, user)),
      ),
    };
  } catch (error) {
    if (error instanceof OAuthError)
      throw new ConfigError(`The configuration is wrong: ${error.description}.`, { cause: error });
    if (error instanceof UsageError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
