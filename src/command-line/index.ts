// Every command of the command line by its name.
import { auditCommands } from './audit.ts';
import { clientCommands } from './clients.ts';
import type { Command } from './command.ts';
import { grantCommands } from './grants.ts';
import { groupCommands } from './groups.ts';
import { logoutDeliveryCommands } from './logout-deliveries.ts';
import { operationCommands } from './operations.ts';
import { secretKeyCommands } from './secret-key.ts';
import { sessionCommands } from './sessions.ts';
import { userTransferCommands } from './user-transfer.ts';
import { userCommands } from './users.ts';

export { UsageError } from './command.ts';

export const commands: Record<string, Command> = {
  ...userCommands,
  ...userTransferCommands,
  ...groupCommands,
  ...grantCommands,
  ...sessionCommands,
  ...clientCommands,
  ...logoutDeliveryCommands,
  ...operationCommands,
  ...auditCommands,
  ...secretKeyCommands,
};
