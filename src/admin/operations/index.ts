// Lists every administrative operation but those of configuration files, which follow from these.
import { appearanceOperations } from './appearance.ts';
import { attributeActs } from './attributes.ts';
import { auditOperations } from './audit.ts';
import { claimOperations } from './claims.ts';
import { clientDecisionOperations } from './client-decisions.ts';
import { clientOperations } from './clients.ts';
import { authorizationDetailsTypeActs } from './authorization-details-types.ts';
import { exchangePolicyActs } from './exchange-policies.ts';
import { grantOperations } from './grants.ts';
import { groupOperations } from './groups.ts';
import { imageOperations } from './images.ts';
import { invitationOperations } from './invitations.ts';
import { keyOperations } from './keys.ts';
import { mailOperations } from './mail.ts';
import { confirmationOperations } from './confirmations.ts';
import { connectedServerActs } from './connected-servers.ts';
import { connectionOperations } from './connections.ts';
import { directoryOperations } from './directories.ts';
import type { Operation } from './operation.ts';
import { refusalOperations } from './refusals.ts';
import { resourceOperations } from './resources.ts';
import { provisioningTargetOperations } from './provisioning-targets.ts';
import { samlKeyOperations } from './saml-keys.ts';
import { scimSourceOperations } from './scim-sources.ts';
import { scopeActs } from './scopes.ts';
import { sessionOperations } from './sessions.ts';
import { signInHelpOperations } from './sign-in-help.ts';
import { signUpLinkActs } from './sign-up-links.ts';
import { transferOperations } from './transfer.ts';
import { trustedIssuerActs } from './trusted-issuers.ts';
import { userAccessOperations } from './user-access.ts';
import { userOperations } from './users.ts';
import { webhookOperations } from './webhooks.ts';

export const operations: Operation[] = [
  ...clientOperations,
  ...clientDecisionOperations,
  ...userOperations,
  ...invitationOperations,
  ...imageOperations,
  ...signInHelpOperations,
  ...signUpLinkActs.all,
  ...userAccessOperations,
  ...sessionOperations,
  ...transferOperations,
  ...groupOperations,
  ...resourceOperations,
  ...exchangePolicyActs.all,
  ...trustedIssuerActs.all,
  ...connectedServerActs.all,
  ...authorizationDetailsTypeActs.all,
  ...scimSourceOperations,
  ...provisioningTargetOperations,
  ...attributeActs.all,
  ...connectionOperations,
  ...confirmationOperations,
  ...directoryOperations,
  ...scopeActs.all,
  ...claimOperations,
  ...grantOperations,
  ...auditOperations,
  ...webhookOperations,
  ...refusalOperations,
  ...keyOperations,
  ...samlKeyOperations,
  ...appearanceOperations,
  ...mailOperations,
];
