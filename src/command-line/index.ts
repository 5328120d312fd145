// Lists every command by its name: those of operations, and those that no single request can perform.
import { operations } from '../admin/operations/index.ts';
import { clientDecisionCommands } from './client-decisions.ts';
import type { Command } from './command.ts';
import { configCommands } from './config.ts';
import { groupMemberCommands } from './group-members.ts';
import { importCommands } from './import-commands.ts';
import { renderCommand } from './operation-command.ts';
import { schemaCommands } from './schema.ts';
import { secretKeyCommands } from './secret-key.ts';
import { userImportCommands } from './user-import.ts';

const special: Record<string, Command> = {
  ...configCommands,
  ...userImportCommands,
  ...importCommands,
  ...groupMemberCommands,
  ...clientDecisionCommands,
  ...schemaCommands,
  ...secretKeyCommands,
};

/** Ordered by subject, as the help lists them. */
export function commands(): Record<string, Command> {
  const rendered = operations.flatMap((operation) =>
    operation.commands.map((command) => [command.name, renderCommand(operation, command)] as const),
  );
  const all = [...rendered, ...Object.entries(special)];
  const groups = [...new Set(all.map(([name]) => name.split(' ')[0]))];
  return Object.fromEntries(groups.flatMap((group) => all.filter(([name]) => name.split(' ')[0] === group)));
}
