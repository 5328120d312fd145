// Defines the command that brings the schema of the database up to date.
import pino from 'pino';
import { openServiceDatabase } from '../database/service-database.ts';
import { appliedText } from '../database/migrations.ts';
import { createStore } from '../repositories/store.ts';
import { unstoredTexts } from '../repositories/users/unstored-addresses.ts';
import { type Pair, sharedTexts } from '../repositories/users/users.ts';
import { type Command, parse } from './command.ts';

export const schemaCommands: Record<string, Command> = {
  migrate: {
    usage: '',
    summary: 'Migrates the database schema, as each start of the service does.',
    async run(config, args) {
      parse(args, {});
      const connection = await openServiceDatabase(config, pino({ level: 'silent' }), { create: false });
      try {
        const done = await connection.migrate();
        const store = createStore(connection.database);
        const pairs = await store.users.pairs(1000);
        const addresses = await store.unstoredAddresses.list(1000);
        const text = done.length > 0 ? `${appliedText(done)}.` : 'The database schema is up to date.';
        const listed = [
          ...section(sharedTexts, pairs, pairLine),
          ...section(unstoredTexts, addresses, ({ sub, other }) => (other === undefined ? sub : `${sub} (${other})`)),
        ];
        return {
          json: {
            migrations: done,
            ...(pairs.length > 0 && { pairs }),
            ...(addresses.length > 0 && { addresses }),
          },
          text: [text, ...listed].join('\n'),
        };
      } finally {
        await connection.close();
      }
    },
  },
};

const pairLine = ({ sub, other, attribute }: Pair): string =>
  `${sub} and ${other}${attribute === undefined ? '' : ` (attribute ${attribute})`}`;

/** What is wrong, and a line for each case; nothing without a case. */
const section = <Case>(text: string, cases: readonly Case[], line: (one: Case) => string): string[] =>
  cases.length > 0 ? ['', `But ${text}:`, ...cases.map(line)] : [];
