// Gives an example of the least and of the most data that each page and mail can show.
import type { Examples } from '../../src/pages/views/parts.ts';
import type { Pages } from '../../src/pages/views/index.ts';
import { accountExamples } from './account.ts';
import { applicationExamples } from './applications.ts';
import { connectionExamples } from './connections.ts';
import { directoryExamples } from './directories.ts';
import { consoleAccessExamples } from './console-access.ts';
import { consoleClientCreateExamples } from './console-client-create.ts';
import { consoleClientExamples } from './console-clients.ts';
import { consoleClaimsExamples } from './console-claims.ts';
import { consoleEntitiesExamples } from './console-entities.ts';
import { consoleGroupsExamples } from './console-groups.ts';
import { consoleImageExamples } from './console-images.ts';
import { consoleResourcesExamples } from './console-resources.ts';
import { consoleProvisioningExamples } from './console-provisioning.ts';
import { consoleWebhooksExamples } from './console-webhooks.ts';
import { operationsExamples } from './console-operations.ts';
import { consoleScimExamples } from './console-scim.ts';
import { consoleRulesExamples } from './console-rules.ts';
import { consoleSearchExamples } from './console-search.ts';
import { consoleSettingsExamples } from './console-settings.ts';
import { consoleUsersExamples } from './console-users.ts';
import { deviceExamples } from './device.ts';
import { mailPageExamples } from './mail-pages.ts';
import { passkeyExamples } from './passkeys.ts';
import { registrationExamples } from './registration.ts';
import { secondFactorExamples } from './second-factors.ts';
import { signInExamples } from './sign-in.ts';
import { tryItExamples } from './try-it.ts';

export { mailExamples } from './mail.ts';

export const examples: Examples<Pages> = {
  ...accountExamples,
  ...applicationExamples,
  ...connectionExamples,
  ...directoryExamples,
  ...consoleAccessExamples,
  ...consoleClientExamples,
  ...consoleClientCreateExamples,
  ...consoleClaimsExamples,
  ...consoleEntitiesExamples,
  ...consoleGroupsExamples,
  ...consoleImageExamples,
  ...consoleResourcesExamples,
  ...consoleProvisioningExamples,
  ...consoleWebhooksExamples,
  ...consoleRulesExamples,
  ...operationsExamples,
  ...consoleScimExamples,
  ...consoleSearchExamples,
  ...consoleSettingsExamples,
  ...consoleUsersExamples,
  ...deviceExamples,
  ...mailPageExamples,
  ...passkeyExamples,
  ...registrationExamples,
  ...secondFactorExamples,
  ...signInExamples,
  ...tryItExamples,
};
