// One call of the command line, from its words to its exit code: finds the command, runs it, and tells in one line what went wrong.
import { ConfigError, loadConfig } from '../config.ts';
import { DatabaseUnavailable } from '../database/database.ts';
import { EmbeddedPostgresError } from '../database/embedded.ts';
import { MigrationError } from '../database/migrations.ts';
import { OAuthError } from '../oauth/errors.ts';
import { harmless, OutputClosed, outputClosedCode, type Terminal } from './command.ts';
import { commands, UsageError } from './index.ts';

/**
 * Runs the command that the words name, with what it reads and prints at `terminal`; returns the exit code.
 * @param environment the settings; those of the process unless given
 */
export async function runCommandLine(
  words: string[],
  terminal: Terminal,
  environment?: Record<string, string | undefined>,
): Promise<number> {
  const json = words.includes('--json');
  const rest = words.filter((word) => word !== '--json');
  if (rest.length === 0 || rest[0] === 'help' || rest.includes('--help')) {
    terminal.stdout.write(help());
    return 0;
  }
  try {
    const [name, args] = find(rest);
    const result = await commands[name]!.run(loadConfig(environment), args, terminal);
    if (json || result.text !== '')
      terminal.stdout.write(json ? `${JSON.stringify(result.json)}\n` : `${result.text.trimEnd()}\n`);
    return result.code ?? 0;
  } catch (error) {
    if (error instanceof OutputClosed) return outputClosedCode;
    terminal.stderr.write(`${complaint(error)}\n`);
    return 1;
  }
}

/** The longest command name that the words begin with, and what follows it. */
function find(given: string[]): [string, string[]] {
  for (const length of [2, 1]) {
    const name = given.slice(0, length).join(' ');
    if (Object.hasOwn(commands, name)) return [name, given.slice(length)];
  }
  throw new UsageError(`There is no command ${given.slice(0, 2).join(' ')}: npm run -s idp -- help lists them.`);
}

function help(): string {
  const lines = Object.entries(commands).map(
    ([name, command]) => `  ${`${name} ${command.usage}`.trim()}\n      ${command.summary}`,
  );
  return `Usage: npm run -s idp -- COMMAND [OPTIONS] [--json]\n\n${lines.join('\n')}\n`;
}

/** What went wrong, in one line. */
export function complaint(error: unknown): string {
  if (error instanceof OAuthError) {
    // a sentence gets its capital; one that begins with the name of a member keeps the name as it is
    const first = error.description.split(' ', 1)[0]!;
    const isName = first.includes('_') || first === error.refusal?.member;
    const [initial = '', ...rest] = error.description;
    return `${isName ? initial : initial.toUpperCase()}${rest.join('')}.`;
  }
  if (error instanceof DatabaseUnavailable)
    return 'The database cannot be reached: check DATABASE_URL, or DATA_DIR in embedded mode.';
  if (
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationError
  ) {
    return error.message;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith('ERR_PARSE_ARGS')) return message;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') return `The database cannot be reached: ${message}.`;
  return `Something unexpected went wrong: ${harmless(String(error).replace(/\s+/g, ' '))}`;
}
