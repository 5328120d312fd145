// Lists every module by its name.
import { codeModules } from './codes.ts';
import type { Modules } from './definition.ts';
import { discoveryModules } from './discovery.ts';
import { keyModules, redirectUriModules, registrationModules } from './registration.ts';
import { claimsModules, requestObjectModules } from './request-objects.ts';
import { rpInitiatedLogoutModules } from './rp-initiated-logout.ts';
import { sessionModules } from './sessions.ts';
import { scopeModules, signInModules } from './sign-in.ts';
import { thirdPartyModules } from './third-party.ts';
import { logoutNotificationModules } from './logout-notifications.ts';
import { userinfoModules } from './userinfo.ts';

export const modules: Modules = {
  ...signInModules,
  ...scopeModules,
  ...userinfoModules,
  ...sessionModules,
  ...codeModules,
  ...redirectUriModules,
  ...registrationModules,
  ...keyModules,
  ...requestObjectModules,
  ...claimsModules,
  ...discoveryModules,
  ...rpInitiatedLogoutModules,
  ...logoutNotificationModules,
  ...thirdPartyModules,
};
