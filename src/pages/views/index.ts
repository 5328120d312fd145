// The data that each page shows: the contract between the endpoints and the templates, and an example of each.
import { accountExamples, type AccountPages } from './account.ts';
import { consoleClientExamples, type ConsoleClientPages } from './console-clients.ts';
import { consoleGroupsExamples, type ConsoleGroupsPages } from './console-groups.ts';
import { consoleSearchExamples, type ConsoleSearchPages } from './console-search.ts';
import { consoleUsersExamples, type ConsoleUsersPages } from './console-users.ts';
import { operationsExamples, type OperationsPages } from './console-operations.ts';
import type { Examples } from './parts.ts';
import { mailPageExamples, type MailPages } from './mail-pages.ts';
import { passkeyExamples, type PasskeyPages } from './passkeys.ts';
import { registrationExamples, type RegistrationPages } from './registration.ts';
import { secondFactorExamples, type SecondFactorPages } from './second-factors.ts';
import { signInExamples, type SignInPages } from './sign-in.ts';
import { tryItExamples, type TryItPages } from './try-it.ts';

export type { ConsoleFrame, ConsoleSection } from './console.ts';
export { mailExamples, type MailName, mailNames } from './mail.ts';
export type { AccountView, ClaimText, ClientView, FormView, MailContent } from './parts.ts';
export type { PasskeyView } from './passkeys.ts';
export type { RegistrationFacts } from './registration.ts';
export type { LoginProblem } from './sign-in.ts';

export interface Pages
  extends
    SignInPages,
    AccountPages,
    PasskeyPages,
    RegistrationPages,
    SecondFactorPages,
    OperationsPages,
    MailPages,
    TryItPages,
    ConsoleClientPages,
    ConsoleGroupsPages,
    ConsoleSearchPages,
    ConsoleUsersPages {}

export type PageName = keyof Pages;

/** What every page gets besides its own data. */
export interface PageContext {
  /** BCP 47 tag of the language shown. */
  locale: string;
  /** Path prefix of the base address, without a trailing slash: "" or "/idp". */
  basePath: string;
}

/**
 * For each page the least and the most that it can be given. The renderer rehearses them when it starts, so that a
 * template which fails does so before anybody meets it.
 */
export const examples: Examples<Pages> = {
  ...consoleClientExamples,
  ...consoleGroupsExamples,
  ...consoleSearchExamples,
  ...consoleUsersExamples,
  ...signInExamples,
  ...accountExamples,
  ...passkeyExamples,
  ...registrationExamples,
  ...operationsExamples,
  ...secondFactorExamples,
  ...tryItExamples,
  ...mailPageExamples,
};
