// The administrator's command line: users, clients, keys and the audit trail, on the database of the settings, running service or not.
import { commands, UsageError } from './commands/index.ts';
import { ConfigError, loadConfig } from './config.ts';
import { DatabaseUnavailable } from './database/database.ts';
import { EmbeddedPostgresError } from './database/embedded.ts';
import { MigrationError } from './database/migrations.ts';
import { OAuthError } from './oauth/errors.ts';

const words = process.argv.slice(2);
const json = words.includes('--json');
const rest = words.filter((word) => word !== '--json');

if (rest.length === 0 || rest[0] === 'help' || rest.includes('--help')) {
  process.stdout.write(help());
} else {
  try {
    const [name, args] = find(rest);
    const result = await commands[name]!.run(loadConfig(), args);
    process.stdout.write(json ? `${JSON.stringify(result.json)}\n` : `${result.text.trimEnd()}\n`);
  } catch (error) {
    process.stderr.write(`${complaint(error)}\n`);
    process.exitCode = 1;
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

function complaint(error: unknown): string {
  if (error instanceof OAuthError) {
    // a sentence gets its capital; one that begins with the name of a member keeps the name as it is
    const words = error.description.replace(
      /^(the|this|there|an?|nothing|something) /,
      (word) => word.charAt(0).toUpperCase() + word.slice(1),
    );
    return `${words}.`;
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
  return error instanceof Error && error.stack ? error.stack : String(error);
}
