// What a command is, and what all of them need: their words, the database for as long as it takes, and text that a terminal bears.
import type { Readable, Writable } from 'node:stream';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import pino from 'pino';
import type { Config } from '../config.ts';
import { openConnection } from '../database/connection.ts';
import { type Encryption, openEncryption } from '../domain/encryption-at-rest.ts';
import { notFound } from '../oauth/errors.ts';
import { type Administration, createAdministration } from '../domain/administration/administration.ts';
import { createStore, type Store } from '../repositories/store.ts';
import type { User } from '../repositories/users/users.ts';

/** The command was called wrongly; the message is one line that says how to call it. */
export class UsageError extends Error {}

export interface Output {
  text: string;
  json: unknown;
  /** The exit code, where what was done is not all that was asked. */
  code?: 0 | 1;
}

/** Where a command reads and prints: the process, or whoever calls it. */
export interface Terminal {
  stdin: Readable & { isTTY?: boolean };
  stdout: Pick<Writable, 'write'> & Partial<Pick<Writable, 'once'>>;
  stderr: Pick<Writable, 'write'> & { isTTY?: boolean };
  /** Aborted once the reader of the output has closed it. */
  gone?: AbortSignal;
}

/** The reader closed the output: the command makes no more of it. */
export class OutputClosed extends Error {}

/** As the shell reports a program that ended by SIGPIPE, which Node does not. */
export const outputClosedCode = 141;

export interface Command {
  usage: string;
  summary: string;
  run(config: Config, args: string[], terminal: Terminal): Promise<Output>;
}

export interface Context extends Encryption {
  config: Config;
  store: Store;
  administration: Administration;
}

export const by = { actor: 'command line' };
export const listLimit = 1000;

/** Opens the database for as long as a command needs it, with the schema up to date. */
export async function withDatabase<T>(config: Config, work: (context: Context) => Promise<T>): Promise<T> {
  const connection = await openConnection(config, pino({ level: 'silent' }));
  try {
    await connection.migrate();
    const store = createStore(connection.database);
    const encryption = await openEncryption(store, connection.secretKeys);
    return await work({ config, store, ...encryption, administration: createAdministration(store) });
  } finally {
    await connection.close();
  }
}

/** @throws OAuthError not_found */
export async function findUser(store: Store, username: string): Promise<User> {
  const user = await store.users.findByUsername(username);
  if (!user) throw notFound(`there is no user ${username}`);
  return user;
}

/** @param names of what follows the options; the last one may be given several times if it ends in " …" */
export function parse<const O extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: O,
  names: string[] = [],
) {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true });
  const several = names.at(-1)?.endsWith(' …') && positionals.length > names.length;
  if (positionals.length !== names.length && !several) {
    throw new UsageError(
      names.length === 0 ? `Unexpected argument: ${positionals[0]}.` : `This command needs: ${names.join(' ')}.`,
    );
  }
  return { values, positionals };
}

/** Without characters that could move the cursor or turn the text around. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** Columns as wide as their widest cell; text of others goes without what could move the cursor. */
export function table(head: string[], rows: string[][]): string {
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
