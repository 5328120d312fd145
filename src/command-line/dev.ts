// Describes `gatehouse dev` for the help: bin/gatehouse starts src/dev-server.ts for it, which is a service and no command.
import { type Command, parse, UsageError } from './command.ts';

export interface DevArguments {
  config?: string | undefined;
  port?: number | undefined;
  listen: string;
}

/** @throws UsageError */
export function devArguments(words: string[]): DevArguments {
  const { values } = parse(words, {
    config: { type: 'string' },
    port: { type: 'string' },
    listen: { type: 'string', default: 'localhost' },
  });
  const { config, port: given, listen } = values;
  const port = given === undefined ? undefined : Number(given);
  if (port !== undefined && !(/^\d{1,5}$/.test(given!) && port <= 65_535))
    throw new UsageError('--port must be a port number.');
  // the issuer is at localhost
  if (/^127\./.test(listen) && listen !== '127.0.0.1')
    throw new UsageError(
      '--listen must be localhost, or an address at which other machines reach this one: the issuer stays at localhost.',
    );
  return { config, port: port === 0 ? undefined : port, listen };
}

export const devCommands: Record<string, Command> = {
  dev: {
    usage: '[--config FILE] [--port N] [--listen ADDRESS]',
    summary:
      'Starts a provider for tests on a database that exists only until it ends, and prints one line of JSON when it is ready',
    options: [
      ['--config FILE', 'A configuration file, or a folder of them, which may also have users with their passwords.'],
      ['--port N', 'The port; by default a free one.'],
      [
        '--listen ADDRESS',
        'The address to listen on, localhost by default; with another one each request to /dev/ needs the printed token.',
      ],
    ],
    async run(_config, words) {
      devArguments(words);
      throw new UsageError('dev is a program of its own: start it by bin/gatehouse dev.');
    },
  },
};
