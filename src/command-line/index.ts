// Lists every command by its name: those of the operations, and those that are no operation of one request.
import { operations } from '../admin/operations/index.ts';
import { clientDecisionCommands } from './client-decisions.ts';
import type { Command } from './command.ts';
import { groupMemberCommands } from './group-members.ts';
import { renderCommand } from './operation-command.ts';
import { schemaCommands } from './schema.ts';
import { secretKeyCommands } from './secret-key.ts';
import { userImportCommands } from './user-import.ts';

const special: Record<string, Command> = {
  ...userImportCommands,
  ...groupMemberCommands,
  ...clientDecisionCommands,
  ...schemaCommands,
  ...secretKeyCommands,
};

/** In the order of what they are about. */
export function commands(): Record<string, Command> {
  const rendered = operations.flatMap((operation) =>
    operation.commands.map((command) => [command.name, renderCommand(operation, command)] as const),
  );
  const all = [...rendered, ...Object.entries(special)];
  const groups = [...new Set(all.map(([name]) => name.split(' ')[0]))];
  return Object.fromEntries(groups.flatMap((group) => all.filter(([name]) => name.split(' ')[0] === group)));
}
