// Lists the certification plans: which modules each profile runs, and in which variants. Every pair of the two is one test.

export const responseTypes = [
  'code',
  'id_token',
  'id_token token',
  'code token',
  'code id_token',
  'code id_token token',
] as const;
export type ResponseType = (typeof responseTypes)[number];
export type ClientRegistration = 'dynamic_client' | 'static_client';

/** One way to run a module, in the suite's own terms. */
export interface Variant {
  responseType: ResponseType;
  responseMode: 'default' | 'form_post';
  registration: ClientRegistration;
  authentication: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
}

export interface Case extends Variant {
  module: string;
}

export interface Plan {
  /** The plan's name without its ending. */
  name: string;
  profile: string;
  /** How many modules the suite's plan has for each response type. */
  figures: Readonly<Partial<Record<ResponseType, number>>>;
  cases: readonly Case[];
}

/** Modules that register their client themselves: plans with static clients omit them. */
const dynamicOnly = [
  'oidcc-idtoken-signature',
  'oidcc-idtoken-unsigned',
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
];

const scopes = ['profile', 'email', 'address', 'phone', 'all'].map((scope) => `oidcc-scope-${scope}`);
const displays = ['oidcc-display-page', 'oidcc-display-popup'];
const prompts = ['oidcc-prompt-login', 'oidcc-prompt-none-not-logged-in', 'oidcc-prompt-none-logged-in'];
const ages = ['oidcc-max-age-1', 'oidcc-max-age-10000'];
const tolerated = [
  'oidcc-ensure-request-with-unknown-parameter-succeeds',
  'oidcc-id-token-hint',
  'oidcc-login-hint',
  'oidcc-ui-locales',
  'oidcc-claims-locales',
  'oidcc-ensure-request-with-acr-values-succeeds',
];
const userinfo = ['oidcc-userinfo-get', 'oidcc-userinfo-post-header', 'oidcc-userinfo-post-body'];
const codes = ['oidcc-codereuse', 'oidcc-codereuse-30seconds'];
const nonceOptional = 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow';
const nonceNeeded = 'oidcc-ensure-request-without-nonce-fails';
const registeredRedirect = 'oidcc-ensure-registered-redirect-uri';
const requestObjects = [
  'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-ensure-request-object-with-redirect-uri',
];
const postedSecret = 'oidcc-server-client-secret-post';
const pkce = 'oidcc-ensure-request-with-valid-pkce-succeeds';

const basic = [
  'oidcc-server',
  'oidcc-response-type-missing',
  'oidcc-idtoken-signature',
  'oidcc-idtoken-unsigned',
  ...userinfo,
  nonceOptional,
  ...scopes,
  'oidcc-alternate-happy-flow',
  ...displays,
  ...prompts,
  ...ages,
  ...tolerated,
  ...codes,
  registeredRedirect,
  'oidcc-ensure-post-request-succeeds',
  postedSecret,
  ...requestObjects,
  'oidcc-claims-essential',
  'oidcc-refresh-token',
  pkce,
];

const implicit = [
  'oidcc-server',
  'oidcc-idtoken-signature',
  nonceNeeded,
  ...scopes,
  'oidcc-alternate-happy-flow',
  ...displays,
  ...prompts,
  ...ages,
  ...tolerated,
  registeredRedirect,
  ...requestObjects,
  'oidcc-claims-essential',
];

const hybrid = [
  'oidcc-server',
  'oidcc-idtoken-signature',
  ...userinfo,
  ...scopes,
  ...displays,
  ...prompts,
  ...ages,
  ...tolerated,
  ...codes,
  registeredRedirect,
  postedSecret,
  ...requestObjects,
  'oidcc-claims-essential',
  'oidcc-refresh-token',
];

const signIn = {
  basic: { code: basic },
  implicit: { id_token: implicit, 'id_token token': [...implicit, ...userinfo, 'oidcc-response-type-missing'] },
  hybrid: {
    'code id_token': [...hybrid, nonceNeeded, 'oidcc-response-type-missing', 'oidcc-alternate-happy-flow', pkce],
    'code token': [...hybrid, nonceOptional],
    'code id_token token': [...hybrid, nonceNeeded],
  },
} satisfies Record<string, Partial<Record<ResponseType, string[]>>>;

const dynamic = [
  'oidcc-idtoken-rs256',
  'oidcc-idtoken-unsigned',
  'oidcc-userinfo-rs256',
  'oidcc-ensure-redirect-uri-in-authorization-request',
  'oidcc-redirect-uri-query-OK',
  'oidcc-redirect-uri-query-mismatch',
  'oidcc-redirect-uri-query-added',
  'oidcc-redirect-uri-regfrag',
  'oidcc-discovery-endpoint-verification',
  'oidcc-server',
  'oidcc-registration-logo-uri',
  'oidcc-registration-policy-uri',
  'oidcc-registration-tos-uri',
  'oidcc-registration-jwks-uri',
  'oidcc-registration-sector-uri',
  'oidcc-registration-sector-bad',
  'oidcc-server-rotate-keys',
  'oidcc-refresh-token-rp-key-rotation',
  'oidcc-request-uri-unsigned',
  'oidcc-request-uri-signed-rs256',
  'oidcc-ensure-request-object-with-redirect-uri',
  'oidcc-refresh-token',
  'oidcc-ensure-client-assertion-with-iss-aud-succeeds',
];
/** Which of them need an authorization code, an access token, or an ID Token from the token endpoint. */
const needsCode = ['oidcc-registration-jwks-uri', 'oidcc-refresh-token-rp-key-rotation', 'oidcc-refresh-token'];
const needsAccessToken = ['oidcc-userinfo-rs256'];
const needsIdTokenFromTokenEndpoint = ['oidcc-idtoken-unsigned'];

export function isDynamic(module: string, type: ResponseType): boolean {
  const [code, token, idToken] = ['code', 'token', 'id_token'].map((part) => type.split(' ').includes(part));
  if (needsCode.includes(module)) return code!;
  if (needsAccessToken.includes(module)) return code! || token!;
  return !(needsIdTokenFromTokenEndpoint.includes(module) && idToken);
}

const rpInitiated = [
  '-discovery-endpoint-verification',
  '',
  '-bad-post-logout-redirect-uri',
  '-modified-id-token-hint',
  '-no-id-token-hint',
  '-no-params',
  '-no-post-logout-redirect-uri',
  '-no-state',
  '-only-state',
  '-query-added-to-post-logout-redirect-uri',
  '-bad-id-token-hint',
].map((ending) => `oidcc-rp-initiated-logout${ending}`);
const session = ['-discovery-endpoint-verification', '-rp-initiated-logout'].map((e) => `oidcc-session-management${e}`);
const frontChannel = ['-logout-discovery-endpoint-verification', '-rp-initiated-logout'].map(
  (e) => `oidcc-frontchannel${e}`,
);
const backChannel = ['-logout-discovery-endpoint-verification', '-rp-initiated-logout'].map(
  (e) => `oidcc-backchannel${e}`,
);
const thirdParty = ['oidcc-3rd_party-init-login', 'oidcc-3rd_party-init-login-nohttps'];

const ordinary: Variant = {
  responseType: 'code',
  responseMode: 'default',
  registration: 'dynamic_client',
  authentication: 'client_secret_basic',
};
const registrations = ['dynamic_client', 'static_client'] as const;

function signInPlan(
  profile: string,
  name: keyof typeof signIn,
  figures: Plan['figures'],
  responseMode: Variant['responseMode'],
): Plan {
  const byType = Object.entries(signIn[name]) as [ResponseType, string[]][];
  const cases = registrations.flatMap((registration) =>
    byType.flatMap(([responseType, modules]) =>
      modules
        .filter((module) => registration === 'dynamic_client' || !dynamicOnly.includes(module))
        .map((module): Case => {
          const authentication = module === postedSecret ? 'client_secret_post' : 'client_secret_basic';
          return { ...ordinary, module, responseType, responseMode, registration, authentication };
        }),
    ),
  );
  return { name: `oidcc-${responseMode === 'form_post' ? 'formpost-' : ''}${name}`, profile, figures, cases };
}

/** A plan for which the user of the suite picks the response type: it runs with every one. */
function anyType(
  profile: string,
  name: string,
  modules: readonly string[],
  figure: number,
  of: readonly ClientRegistration[] = registrations,
): Plan {
  const cases = of.flatMap((registration) =>
    responseTypes.flatMap((responseType) =>
      modules.map((module) => ({ ...ordinary, module, responseType, registration })),
    ),
  );
  const figures = Object.fromEntries(responseTypes.map((type) => [type, figure]));
  return { name, profile, figures, cases };
}

const implicitCounts = { id_token: 27, 'id_token token': 31 };
const hybridCounts = { 'code id_token': 36, 'code token': 33, 'code id_token token': 33 };

export const plans: readonly Plan[] = [
  signInPlan('Basic OP', 'basic', { code: 38 }, 'default'),
  signInPlan('Implicit OP', 'implicit', implicitCounts, 'default'),
  signInPlan('Hybrid OP', 'hybrid', hybridCounts, 'default'),
  {
    name: 'oidcc-config',
    profile: 'Config OP',
    figures: { code: 1 },
    cases: [{ ...ordinary, module: 'oidcc-discovery-endpoint-verification', registration: 'static_client' }],
  },
  {
    name: 'oidcc-dynamic',
    profile: 'Dynamic OP',
    figures: {
      code: 23,
      id_token: 18,
      'id_token token': 19,
      'code token': 23,
      'code id_token': 22,
      'code id_token token': 22,
    },
    cases: responseTypes.flatMap((responseType) =>
      dynamic
        .filter((module) => isDynamic(module, responseType))
        .map((module) => ({ ...ordinary, module, responseType, authentication: 'private_key_jwt' as const })),
    ),
  },
  signInPlan('Form Post OP, basic', 'basic', { code: 38 }, 'form_post'),
  signInPlan('Form Post OP, implicit', 'implicit', implicitCounts, 'form_post'),
  signInPlan('Form Post OP, hybrid', 'hybrid', hybridCounts, 'form_post'),
  anyType('3rd Party-Init OP', 'oidcc-3rdparty-init-login', thirdParty, 2, ['dynamic_client']),
  anyType('RP-Initiated OP', 'oidcc-rp-initiated-logout', rpInitiated, 11),
  anyType('Session OP', 'oidcc-session-management', session, 2),
  anyType('Front-Channel OP', 'oidcc-frontchannel-rp-initiated-logout', frontChannel, 2),
  anyType('Back-Channel OP', 'oidcc-backchannel-rp-initiated-logout', backChannel, 2),
];

const noUnsigned = 'request_object_signing_alg_values_supported has no none';

/** The modules that the suite skips with the settings of certification, and why: the test asserts that, and runs the rest. */
export const skipped: Readonly<Record<string, string>> = {
  'oidcc-idtoken-unsigned': 'id_token_signing_alg_values_supported has no none',
  'oidcc-request-uri-unsigned': noUnsigned,
  ...Object.fromEntries(requestObjects.map((module) => [module, noUnsigned])),
};
