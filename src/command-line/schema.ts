// Defines the command that brings the schema of the database up to date.
import pino from 'pino';
import { openConnection } from '../database/connection.ts';
import { appliedText } from '../database/migrations.ts';
import { createStore } from '../repositories/store.ts';
import { sharedTexts } from '../repositories/users/users.ts';
import { type Command, parse } from './command.ts';

export const schemaCommands: Record<string, Command> = {
  migrate: {
    usage: '',
    summary: 'Migrates the database schema, as each start of the service does.',
    async run(config, args) {
      parse(args, {});
      const connection = await openConnection(config, pino({ level: 'silent' }), { create: false });
      try {
        const done = await connection.migrate();
        const pairs = await createStore(connection.database).users.pairs(1000);
        const text = done.length > 0 ? `${appliedText(done)}.` : 'The database schema is up to date.';
        const listed = pairs.map(({ sub, other }) => `${sub} and ${other}`);
        return {
          json: { migrations: done, ...(pairs.length > 0 && { pairs }) },
          text: pairs.length > 0 ? [text, '', `But ${sharedTexts}:`, ...listed].join('\n') : text,
        };
      } finally {
        await connection.close();
      }
    },
  },
};
