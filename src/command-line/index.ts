// Lists every command by its name: those of operations, and those that no single request can perform.
import { allOperations } from '../admin/operations/all.ts';
import { backupCommands } from './backup.ts';
import { clientDecisionCommands } from './client-decisions.ts';
import type { Command } from './command.ts';
import { configCommands } from './config.ts';
import { doctorCommands } from './doctor/doctor.ts';
import { devCommands } from './dev.ts';
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
  ...doctorCommands,
  ...backupCommands,
  ...devCommands,
};

/** A command by its name. It is made when it is asked for: one call needs one of two hundred. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

/** Ordered by subject, as the help lists them. */
export function commands(): Commands {
  const rendered = allOperations().flatMap((operation) =>
    operation.commands.map((command) => [command.name, () => renderCommand(operation, command)] as const),
  );
  const all = [...rendered, ...Object.entries(special).map(([name, command]) => [name, async () => command] as const)];
  const groups = [...new Set(all.map(([name]) => name.split(' ')[0]))];
  return Object.fromEntries(groups.flatMap((group) => all.filter(([name]) => name.split(' ')[0] === group)));
}

/** The given commands, made. */
export const madeOf = async (some: Commands): Promise<[string, Command][]> =>
  Promise.all(Object.entries(some).map(async ([name, make]) => [name, await make()] as [string, Command]));
