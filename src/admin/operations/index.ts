// Lists every administrative operation.
import { appearanceOperations } from './appearance.ts';
import { attributeActs } from './attributes.ts';
import { auditOperations } from './audit.ts';
import { claimOperations } from './claims.ts';
import { configOperations } from './config/operations.ts';
import { clientDecisionOperations } from './client-decisions.ts';
import { clientOperations } from './clients.ts';
import { grantOperations } from './grants.ts';
import { groupOperations } from './groups.ts';
import { invitationOperations } from './invitations.ts';
import { keyOperations } from './keys.ts';
import { mailOperations } from './mail.ts';
import { confirmationOperations } from './confirmations.ts';
import { connectionOperations } from './connections.ts';
import { directoryOperations } from './directories.ts';
import type { Operation } from './operation.ts';
import { refusalOperations } from './refusals.ts';
import { resourceOperations } from './resources.ts';
import { scopeActs } from './scopes.ts';
import { sessionOperations } from './sessions.ts';
import { signInHelpOperations } from './sign-in-help.ts';
import { transferOperations } from './transfer.ts';
import { userOperations } from './users.ts';

export const operations: Operation[] = [
  ...clientOperations,
  ...clientDecisionOperations,
  ...userOperations,
  ...invitationOperations,
  ...signInHelpOperations,
  ...sessionOperations,
  ...transferOperations,
  ...groupOperations,
  ...resourceOperations,
  ...attributeActs.all,
  ...connectionOperations,
  ...confirmationOperations,
  ...directoryOperations,
  ...scopeActs.all,
  ...claimOperations,
  ...grantOperations,
  ...auditOperations,
  ...refusalOperations,
  ...keyOperations,
  ...configOperations,
  ...appearanceOperations,
  ...mailOperations,
];
