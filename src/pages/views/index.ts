// Declares the data that each page shows: the contract between the routes and the templates.
import type { AccountPages } from './account.ts';
import type { ApplicationPages } from './applications.ts';
import type { ConnectionPages } from './connections.ts';
import type { DirectoryPages } from './directories.ts';
import type { ConsoleAccessPages } from './console-access.ts';
import type { ConsoleClientCreatePages } from './console-client-create.ts';
import type { ConsoleClientPages } from './console-clients.ts';
import type { ConsoleClaimsPages } from './console-claims.ts';
import type { ConsoleEntitiesPages } from './console-entities.ts';
import type { ConsoleGroupsPages } from './console-groups.ts';
import type { ConsoleImagePages } from './console-images.ts';
import type { ConsoleProvisioningPages } from './console-provisioning.ts';
import type { ConsoleResourcesPages } from './console-resources.ts';
import type { ConsoleScimPages } from './console-scim.ts';
import type { ConsoleRulesPages } from './console-rules.ts';
import type { ConsoleSettingsPages } from './console-settings.ts';
import type { ConsoleSearchPages } from './console-search.ts';
import type { ConsoleWebhooksPages } from './console-webhooks.ts';
import type { ConsoleUsersPages } from './console-users.ts';
import type { OperationsPages } from './console-operations.ts';
import type { DevicePages } from './device.ts';
import type { MailPages } from './mail-pages.ts';
import type { PasskeyPages } from './passkeys.ts';
import type { RegistrationPages } from './registration.ts';
import type { SecondFactorPages } from './second-factors.ts';
import type { SignInPages } from './sign-in.ts';
import type { TryItPages } from './try-it.ts';

export type { ConsoleFrame, ConsoleSection } from './console.ts';
export { type MailName, mailNames } from './mail.ts';
export type {
  AccountView,
  ClaimText,
  ClientView,
  FaultView,
  FormView,
  LanguageLink,
  MailContent,
  RefusedView,
} from './parts.ts';
export type { PasskeyView } from './passkeys.ts';
export type { RegistrationFacts } from './registration.ts';
export type { LoginProblem } from './sign-in.ts';

export interface Pages
  extends
    SignInPages,
    AccountPages,
    ConnectionPages,
    DirectoryPages,
    PasskeyPages,
    RegistrationPages,
    DevicePages,
    ApplicationPages,
    SecondFactorPages,
    OperationsPages,
    MailPages,
    TryItPages,
    ConsoleAccessPages,
    ConsoleClientPages,
    ConsoleClientCreatePages,
    ConsoleClaimsPages,
    ConsoleEntitiesPages,
    ConsoleRulesPages,
    ConsoleGroupsPages,
    ConsoleImagePages,
    ConsoleResourcesPages,
    ConsoleWebhooksPages,
    ConsoleScimPages,
    ConsoleProvisioningPages,
    ConsoleSearchPages,
    ConsoleSettingsPages,
    ConsoleUsersPages {}

export type PageName = keyof Pages;

/** What every page gets besides its own data. */
export interface PageContext {
  /** BCP 47 tag of the language shown. */
  locale: string;
  /** Path prefix of the base address, without a trailing slash: "" or "/idp". */
  basePath: string;
}
