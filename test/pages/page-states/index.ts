// Lists every state of every page: the examples, and the states of each area in a separate file.
import type { PageName } from '../../../src/pages/views/index.ts';
import { examples } from '../../../templates/examples/index.ts';
import { accountStates } from './account.ts';
import { commonStates } from './common.ts';
import { consoleAccessStates } from './console-access.ts';
import { consoleDefinitionsStates } from './console-definitions.ts';
import { connectionStates } from './connections.ts';
import { directoryStates } from './directories.ts';
import { consoleEntitiesStates } from './console-entities.ts';
import { consoleGroupsStates } from './console-groups.ts';
import { consoleResourcesStates } from './console-resources.ts';
import { consoleProvisioningStates } from './console-provisioning.ts';
import { consoleWebhooksStates } from './console-webhooks.ts';
import { consoleScimStates } from './console-scim.ts';
import { consoleRulesStates } from './console-rules.ts';
import { consoleSearchStates } from './console-search.ts';
import { consoleSettingsStates } from './console-settings.ts';
import { consoleUsersStates } from './console-users.ts';
import { consoleClientCreateStates } from './console-client-create.ts';
import { consoleClientStates } from './console-clients.ts';
import { applicationStates } from './applications.ts';
import { deviceStates } from './device.ts';
import { imageStates } from './images.ts';
import { mailStates } from './mail.ts';
import { consoleOperationsStates } from './console-operations.ts';
import { passkeyStates } from './passkeys.ts';
import { secondFactorStates } from './second-factors.ts';
import { tryItStates } from './try-it.ts';
import type { View } from './state.ts';

export { signIn } from './common.ts';
export { catalogueOf, translation, type View } from './state.ts';

export const everyView: View[] = [
  ...(Object.keys(examples) as PageName[]).flatMap((name) => examples[name].map((data) => ({ name, data }) as View)),
  ...commonStates,
  ...connectionStates,
  ...directoryStates,
  ...consoleAccessStates,
  ...consoleClientStates,
  ...consoleClientCreateStates,
  ...consoleDefinitionsStates,
  ...consoleEntitiesStates,
  ...consoleGroupsStates,
  ...consoleResourcesStates,
  ...consoleProvisioningStates,
  ...consoleWebhooksStates,
  ...consoleScimStates,
  ...consoleRulesStates,
  ...consoleSearchStates,
  ...consoleSettingsStates,
  ...consoleUsersStates,
  ...applicationStates,
  ...deviceStates,
  ...imageStates,
  ...mailStates,
  ...consoleOperationsStates,
  ...passkeyStates,
  ...accountStates,
  ...secondFactorStates,
  ...tryItStates,
];
