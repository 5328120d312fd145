// Declares a command, parses its words, and opens the database for it.
import type { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import pino from 'pino';
import { harmless } from '../admin/operations/text-table.ts';
import type { Exit } from '../admin/operations/operation.ts';
import { atService, type Config } from '../config.ts';
import { installedVersion } from '../config/version.ts';
import { openServiceDatabase } from '../database/service-database.ts';
import { type Encryption, openEncryption } from '../domain/keys/encryption-at-rest.ts';
import { declareSubscribers } from '../domain/events/subscribers.ts';
import { type Administration, createAdministration } from '../domain/administration/administration.ts';
import { notFound } from '../oauth/errors.ts';
import { createStore, type Store } from '../repositories/store.ts';
import { nearestOf } from '../rules/files/near-names.ts';
import type { User } from '../repositories/users/users.ts';

/** The command was called wrongly; the message says in one line how to call it. */
export class UsageError extends Error {}

export interface Output {
  text: string;
  json: unknown;
  code?: Exit;
}

/** The input and output of a command: those of the process, or of a test. */
export interface Terminal {
  stdin: Readable & { isTTY?: boolean };
  stdout: Pick<Writable, 'write'> & Partial<Pick<Writable, 'once'>> & { isTTY?: boolean };
  stderr: Pick<Writable, 'write'> & { isTTY?: boolean };
  /** Aborted once the reader of the output has closed it. */
  gone?: AbortSignal;
}

/** The reader has closed the output: the command stops. */
export class OutputClosed extends Error {}

/** The exit code that a shell reports for SIGPIPE, which Node ignores. */
export const outputClosedCode = 141;

export interface Command {
  usage: string;
  summary: string;
  /** Each option with its value and its description. */
  options?: readonly (readonly [string, string])[];
  run(config: Config, args: string[], terminal: Terminal): Promise<Output>;
  /** The output in place of an error that the operator can correct, such as a wrong setting. */
  refused?(sentence: string): Output;
}

export interface Context extends Encryption {
  /** As the service has it: see atService(). */
  config: Config;
  /** False if the command knows the service's mail server without its credentials. */
  hasMailServer: boolean;
  store: Store;
  administration: Administration;
}

export const by = { actor: 'command line', kind: 'administrator' };

/** Opens the database of a service, brings its schema up to date, runs the work of a command, and closes the database. */
export async function withDatabase<T>(
  shell: Config,
  terminal: Pick<Terminal, 'stderr'>,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const connection = await openServiceDatabase(shell, pino({ level: 'silent' }), { create: false });
  try {
    await connection.migrate({ create: false });
    const store = createStore(connection.database);
    await declareSubscribers(store);
    const settings = await settingsOf(store, shell, terminal);
    const encryption = await openEncryption(store, connection.secretKeys);
    return await work({ ...settings, store, ...encryption, administration: createAdministration(store) });
  } finally {
    await connection.close();
  }
}

/** A command acts at the service whose database it opened, whatever the shell says (delivery D1). */
async function settingsOf(store: Store, shell: Config, { stderr }: Pick<Terminal, 'stderr'>) {
  const service = await store.serviceSettings.read();
  if (!service) return { config: shell, hasMailServer: true };
  const { overruled, ...settings } = atService(shell, service.settings);
  const say = (line: string) => void stderr.write(`${harmless(line)}\n`);
  const values = overruled.map((name) => `${name}=${service.settings[name] ?? ''}`).join(' ');
  if (values !== '')
    say(`This shell has other settings than the service. The command uses those of the service: ${values}`);
  const version = installedVersion();
  if (service.version !== version)
    say(`The service has version ${service.version}, and this command has version ${version}.`);
  return settings;
}

/** By sub, user name or address. @throws OAuthError not_found, or conflict if the text fits several users */
export async function findUser(store: Store, named: string): Promise<User> {
  const user = named.includes('\0') ? undefined : await store.users.findNamed(named);
  if (!user) throw notFound(`there is no user ${named}`);
  return user;
}

/** The options of a command, in the form of node:util. */
export type Options = Record<string, { type: 'string' | 'boolean'; multiple?: boolean; default?: string | boolean }>;

/**
 * Parses the words of a command.
 * @param names of its arguments; the last one may be repeated if it ends in " …", and may be missing if it is in brackets
 * @throws UsageError
 */
export function parse<const O extends Options>(args: string[], options: O, names: readonly string[] = []) {
  const known = Object.keys(options);
  // an id may begin with hyphens: in a command without options a word is an argument unless it looks like the name of an option
  const words = known.length > 0 || args.some((word) => /^--[a-z-]+(=|$)/.test(word)) ? args : ['--', ...args];
  const { tokens } = parseArgs({ args: words, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = options[token.name];
    if (!option) throw new UsageError(unknownOption(token.rawName, known));
    const isText = option.type === 'string';
    if (isText && (token.value === undefined || (!token.inlineValue && token.value.startsWith('-'))))
      throw new UsageError(`The option ${token.rawName} requires a value: ${token.rawName}=VALUE.`);
    if (!isText && token.value !== undefined) throw new UsageError(`The option ${token.rawName} takes no value.`);
  }
  const { values, positionals } = parseArgs({ args: words, options, strict: true, allowPositionals: true });
  const last = names.at(-1) ?? '';
  const least = names.length - (last.startsWith('[') ? 1 : 0);
  if (positionals.length < least) throw new UsageError(`Missing argument. This command requires: ${names.join(' ')}.`);
  if (positionals.length > names.length && !last.includes(' …'))
    throw new UsageError(`Unexpected argument: ${positionals[names.length]}.`);
  return { values, positionals };
}

/** The launcher reads the option, and only as the first word (bin/gatehouse). */
export const misplacedEnvFile =
  'The option --env-file=FILE stands before the command: bin/gatehouse --env-file=FILE COMMAND.';

function unknownOption(given: string, known: readonly string[]): string {
  if (given === '--env-file') return misplacedEnvFile;
  if (known.length === 0) return `Unknown option: ${given}. This command has only --json and --help.`;
  const nearest = nearestOf(given.replace(/^-+/, ''), known).map((name) => `--${name}`);
  return `Unknown option: ${given}. ${known.length > nearest.length ? 'The most similar options are' : 'This command has'} ${nearest.join(', ')}.`;
}
