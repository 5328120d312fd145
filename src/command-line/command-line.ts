// Runs one call of the command line, from its words to its exit code, and reports an error in one line.
import { harmless } from '../admin/operations/text-table.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { installedVersion } from '../config/version.ts';
import { DatabaseUnavailable } from '../database/database.ts';
import { EmbeddedPostgresError } from '../database/embedded.ts';
import { MigrationError } from '../database/migrations.ts';
import { registrableFields } from '../oauth/client-metadata.ts';
import { OAuthError } from '../oauth/errors.ts';
import {
  type Command,
  misplacedEnvFile,
  type Output,
  OutputClosed,
  outputClosedCode,
  type Terminal,
  UsageError,
} from './command.ts';
import { nearestOf } from '../rules/files/near-names.ts';
import { type Commands, commands, madeOf } from './index.ts';

/**
 * Runs the command that the words name, with the input and output of `terminal`; returns the exit code.
 * @param environment the settings; by default those of the process
 */
export async function runCommandLine(
  words: string[],
  terminal: Terminal,
  environment?: Record<string, string | undefined>,
): Promise<number> {
  const json = words.includes('--json');
  const rest = words.filter((word) => word !== '--json');
  const all = commands();
  const write = (result: Output): number => {
    if (json || result.text !== '')
      terminal.stdout.write(json ? `${harmlessJson(result.json)}\n` : `${result.text.trimEnd()}\n`);
    return result.code ?? 0;
  };
  let command: Command | undefined;
  try {
    const help = await helpFor(rest, all);
    if (help !== undefined) {
      terminal.stdout.write(help);
      return 0;
    }
    const [name, args] = find(rest, all);
    command = await all[name]!();
    const config = loadConfig(environment);
    for (const notice of config.notices) terminal.stderr.write(`${harmless(notice)}\n`);
    return write(await command.run(config, args, terminal));
  } catch (error) {
    if (error instanceof OutputClosed) return outputClosedCode;
    if (command?.refused && !(error instanceof UsageError)) return write(command.refused(complaint(error)));
    terminal.stderr.write(`${complaint(error)}\n`);
    return 1;
  }
}

/** The same value for a program; a terminal obeys no character of it (security R166). */
const harmlessJson = (value: unknown): string | undefined =>
  (JSON.stringify(value) as string | undefined)?.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );

/** The requested help: of all commands, of a group of commands, or of one command; undefined if the words call a command. */
async function helpFor(words: readonly string[], all: Commands): Promise<string | undefined> {
  if (words[0] === '--version') return `gatehouse ${installedVersion()}\n`;
  const asked = words.includes('--help') || words[0] === 'help';
  const named = words.filter((word) => word !== '--help' && word !== 'help');
  if (named.length === 0) return helpOf(all, 'COMMAND');
  const [group, verb] = named as [string, string?];
  const members = Object.entries(all).filter(([name]) => name.startsWith(`${group} `));
  if (members.length > 0 && verb === undefined) return helpOf(Object.fromEntries(members), `${group} COMMAND`);
  if (!asked) return undefined;
  const [name] = find(named, all);
  return helpOfOne(name, await all[name]!());
}

/** A longer call moves the text of its own line only. */
const widestCall = 38;

async function helpOf(some: Commands, what: string): Promise<string> {
  // a line for each: its options are in its own help
  const rows = (await madeOf(some)).map(([name, { usage, summary }]): [string, string] => [
    `${name} ${usage.split(/\s*\[?--/, 1)[0]}`.trim(),
    summary.split(/[.;:] /, 1)[0]!.replace(/\.$/, ''),
  ]);
  const width = Math.max(...rows.map(([call]) => Math.min(call.length, widestCall)));
  const lines = rows.map(([call, does]) => `  ${call.padEnd(width)}  ${does}`);
  return `Usage: bin/gatehouse ${what} [OPTIONS] [--json]\n\n${lines.join('\n')}\n\nHelp for one command: bin/gatehouse ${what} --help\n`;
}

function helpOfOne(name: string, { usage, summary, options = [] }: Command): string {
  const rows = [...options, ['--json', 'Prints the result as JSON.'] as const];
  const lines = rows.map(([option, help]) => (help === '' ? `  ${option}` : `  ${option}\n      ${help}`));
  return `Usage: ${`bin/gatehouse ${name} ${usage}`.trim()} [--json]\n\n${summary}\n\n${lines.join('\n')}\n`;
}

/** Finds the longest name of a command with which the words begin, and returns it with the remaining words. @throws UsageError */
function find(given: readonly string[], all: Commands): [string, string[]] {
  for (const length of [2, 1]) {
    const name = given.slice(0, length).join(' ');
    if (Object.hasOwn(all, name)) return [name, given.slice(length)];
  }
  if (given[0]?.startsWith('--env-file')) throw new UsageError(misplacedEnvFile);
  const typed = given.slice(0, 2).join(' ');
  const nearest = nearestOf(typed, Object.keys(all)).join(', ');
  throw new UsageError(
    `Unknown command: ${typed}. The most similar commands are ${nearest}; bin/gatehouse help lists all.`,
  );
}

/** Writes an error in one line. */
export function complaint(error: unknown): string {
  if (error instanceof OAuthError) {
    // the sentence begins with a capital, unless its first word is the name of a member
    const first = error.description.split(' ', 1)[0]!;
    const isName = first.includes('_') || first === error.refusal?.member || registrableFields.includes(first);
    const [initial = '', ...rest] = error.description;
    return `${isName ? initial : initial.toUpperCase()}${rest.join('')}.`;
  }
  if (error instanceof DatabaseUnavailable)
    return 'Cannot connect to the database. Check DATABASE_URL, or DATA_DIR in embedded mode.';
  if (
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError
  ) {
    return harmless(error.message);
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') return `Cannot connect to the database: ${message}.`;
  return `Unexpected error: ${harmless(String(error).replace(/\s+/g, ' '))}`;
}
