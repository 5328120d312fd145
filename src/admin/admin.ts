// Registers the routes for administrators: the HTTP API, the metrics, the console, and the page that approves a registration by its code.
import type { FastifyInstance } from 'fastify';
import { createAdministration } from '../domain/administration/administration.ts';
import type { AppearanceService } from '../domain/appearance/appearance.ts';
import { servePages } from '../pages/page-response.ts';
import type { PageRenderer } from '../pages/renderer.ts';
import { allowLongForm, usualParameters } from '../server/parameters.ts';
import { type DependenciesOf, registerAll } from '../server/register-all.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import { publicDocumentEndpoint } from './api/public-document.ts';
import { adminEndpoint } from './api/routes.ts';
import { type ConsoleDependencies, createConsole } from './console/admin-session.ts';
import { takeOverRoutes } from './console/config/routes.ts';
import { attributePages } from './console/attributes/pages.ts';
import { appearanceRoutes } from './console/appearance/routes.ts';
import { clientClaimsRoutes } from './console/clients/claims-routes.ts';
import { clientCreateRoutes } from './console/clients/create-routes.ts';
import { clientDecisionRoutes } from './console/clients/decision-routes.ts';
import { clientEditRoutes } from './console/clients/edit-routes.ts';
import { clientEndRoutes } from './console/clients/end-routes.ts';
import { consoleClientsEndpoint } from './console/clients/routes.ts';
import { exchangePolicyPages } from './console/exchange-policies/pages.ts';
import { groupPageRoutes } from './console/groups/page-routes.ts';
import { consoleGroupsEndpoint } from './console/groups/routes.ts';
import { authorizationDetailsTypePages } from './console/authorization-details-types/pages.ts';
import { connectedServerPages } from './console/connected-servers/pages.ts';
import { consoleConnectionsEndpoint } from './console/connections/routes.ts';
import { consoleConfirmationsEndpoint } from './console/connections/confirmation-routes.ts';
import { consoleDirectoriesEndpoint } from './console/connections/directory-routes.ts';
import { consoleImagesEndpoint } from './console/images/routes.ts';
import { provisioningTargetForms, provisioningTargetPages } from './console/provisioning-targets/pages.ts';
import { resourcePages } from './console/resources/pages.ts';
import { scimSourceForms, scimSourcePages } from './console/scim-sources/pages.ts';
import { scopePages } from './console/scopes/pages.ts';
import { signUpLinkPages } from './console/sign-up-links/pages.ts';
import { auditRoutes } from './console/service/audit-routes.ts';
import { keyRoutes } from './console/service/key-routes.ts';
import { overviewRoutes } from './console/service/overview-routes.ts';
import { sessionRoutes } from './console/service/session-routes.ts';
import { consoleSearchEndpoint } from './console/search/routes.ts';
import { consoleEndpoint } from './console/session/routes.ts';
import { pickRoutes } from './console/pick/routes.ts';
import { settingsRoutes } from './console/settings/routes.ts';
import { consoleTryItEndpoint } from './console/try-it/routes.ts';
import { trustedIssuerPages } from './console/trusted-issuers/pages.ts';
import { userAccessRoutes } from './console/users/access-routes.ts';
import { userConfirmRoutes } from './console/users/confirm-routes.ts';
import { userEditRoutes } from './console/users/edit-routes.ts';
import { userExportRoutes } from './console/users/export-routes.ts';
import { userConnectionRoutes } from './console/users/connection-routes.ts';
import { userFactorRoutes } from './console/users/factor-routes.ts';
import { userImportRoutes } from './console/users/import-routes.ts';
import { userPasswordRoutes } from './console/users/password-routes.ts';
import { consoleUsersEndpoint } from './console/users/routes.ts';
import { webhookForms, webhookPages } from './console/webhooks/pages.ts';
import { consoleWhyEndpoint } from './console/why/routes.ts';
import { metricsEndpoint } from './metrics/routes.ts';
import type { OperationContext } from './operations/operation.ts';
import { createImports } from './operations/pages/user-imports.ts';
import { registrationApprovalEndpoint } from './registration-approval/routes.ts';

const apis = [adminEndpoint, publicDocumentEndpoint, metricsEndpoint];
/** The pages of each entity. */
export const entityPlugins = [
  attributePages,
  resourcePages,
  exchangePolicyPages,
  trustedIssuerPages,
  connectedServerPages,
  authorizationDetailsTypePages,
  scopePages,
  scimSourcePages,
  provisioningTargetPages,
  signUpLinkPages,
  webhookPages,
];
const pages = [
  consoleEndpoint,
  overviewRoutes,

  consoleClientsEndpoint,
  clientCreateRoutes,
  clientDecisionRoutes,
  clientEditRoutes,
  clientEndRoutes,
  clientClaimsRoutes,
  consoleUsersEndpoint,
  userAccessRoutes,
  userConfirmRoutes,
  userEditRoutes,
  userPasswordRoutes,
  userFactorRoutes,
  userConnectionRoutes,
  userExportRoutes,
  userImportRoutes,
  consoleImagesEndpoint,
  consoleGroupsEndpoint,
  groupPageRoutes,
  consoleConnectionsEndpoint,
  consoleDirectoriesEndpoint,
  consoleConfirmationsEndpoint,
  scimSourceForms,
  provisioningTargetForms,
  sessionRoutes,
  keyRoutes,
  auditRoutes,
  appearanceRoutes,
  settingsRoutes,
  takeOverRoutes,
  webhookForms,
  pickRoutes,
  consoleSearchEndpoint,
  consoleWhyEndpoint,
  consoleTryItEndpoint,
  registrationApprovalEndpoint,
];

type Services = Omit<OperationContext, 'administration' | 'keyRing' | 'appearance' | 'composeTestMail'> & {
  keyRing: KeyRing;
  appearance: AppearanceService;
  renderer: Pick<PageRenderer, 'mail' | 'chooseLocale'>;
};

const contextOf = (services: Services): OperationContext => ({
  ...services,
  administration: createAdministration(services.store),
  keyRing: async () => services.keyRing,
  appearance: async () => services.appearance,
  composeTestMail(languages) {
    const locale = services.renderer.chooseLocale(undefined, languages);
    const { brand } = services.appearance.current();
    return services.renderer.mail('test', {}, { locale, issuer: services.config.issuer, brand });
  },
});

export async function adminApis(
  app: FastifyInstance,
  services: Services & Omit<DependenciesOf<typeof apis>, 'operationContext'>,
): Promise<void> {
  await registerAll(app, apis, { ...services, operationContext: contextOf(services) });
}

export async function adminPages(
  app: FastifyInstance,
  services: Services &
    Omit<ConsoleDependencies, 'operationContext'> &
    Omit<DependenciesOf<typeof pages>, 'console' | 'imports' | 'operationContext'>,
): Promise<void> {
  await servePages(app, services.pages);
  const operationContext = contextOf(services);
  const console = createConsole({ ...services, operationContext });
  const imports = createImports(operationContext, app.log);
  app.addHook('onClose', () => imports.stop());
  // the form of a client has a field for each member
  app.addHook('preValidation', async (request) => allowLongForm(request.body, 2 * usualParameters));
  app.addHook('preHandler', console.restoreSecrets);
  await registerAll(app, [...pages, ...entityPlugins], { ...services, console, imports, operationContext });
}
