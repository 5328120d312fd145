// Reads the settings from the environment, once, into one frozen Config; a wrong setting becomes one sentence that names it.
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ratio, traceEndpoint, traceHeaders, traceProtocol, traceSampler } from './config/trace-types.ts';
import { authorityFile, collectorToken, collectorUrl } from './config/audit-stream-types.ts';
import { accentColorType, imageFileType, productNameType, supportUrlType } from './config/appearance-types.ts';
import { certificateUrl, certificateWarning, headerName } from './config/mtls-types.ts';
import { type DataDir, installationData, usualDataDir } from './config/data-dir.ts';
import { type OwnSecrets, ownSecrets } from './config/own-secrets.ts';
import { devConflict, type DevOptions, devVariables } from './config/dev-settings.ts';
import { isUnencrypted, trialWarning } from './config/trial.ts';
import { adoptSettings, settingsForCommands } from './config/service-settings.ts';
import { defaultMessage, rulesOf, setting, type Settings, valuesOf, type ValuesOf } from './config/setting.ts';
import { readSecretFiles } from './config/secret-files.ts';
import { secretSettings, shownSettings } from './config/shown-settings.ts';
import {
  baseUrl,
  baseUrlProblem,
  breachCheck,
  choice,
  cidrList,
  claimList,
  cookieName,
  count,
  domainList,
  flag,
  hostList,
  hostPortList,
  nameList,
  onOrOff,
  passwordOf,
  passwordText,
  postgresUrl,
  seconds,
  secondsOrNever,
  keyWords,
  secretKeys,
  sender,
  smtpUrl,
  text,
  whether,
  wholeNumber,
} from './config/setting-types.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** A setting is missing or wrong: the message is one sentence for the operator, and never holds a secret's value. */
export class ConfigError extends Error {}

/** Every setting: its variable with its rule and default, in its place of Config. A test holds `.env.example` to them. All lifetimes are in seconds. */
const declared = {
  port: setting('PORT', wholeNumber(0, 65_535, 'a port number').default(3000)),
  host: setting('HOST', z.string().default('localhost')),
  /** How many processes share the port. */
  workers: setting('WORKERS', count(1, 64, 1)),
  baseUrl: setting('BASE_URL', baseUrl.optional()),
  /** Whether BASE_URL may be http on a host that is no loopback: for a trial only. */
  allowHttp: setting('ALLOW_HTTP', flag(false)),
  databaseUrl: setting('DATABASE_URL', postgresUrl.optional()),
  databaseDirectUrl: setting('DATABASE_DIRECT_URL', postgresUrl.optional()),
  databasePrepared: setting('DATABASE_PREPARED_STATEMENTS', flag(true)),
  databasePoolSize: setting('DATABASE_POOL_SIZE', count(20, 1000, 1)),
  /** A file or a folder of configuration files, which each start plans or applies. */
  configFile: setting('CONFIG_FILE', z.string().optional()),
  configApply: setting('CONFIG_APPLY', choice('plan', 'apply').default('plan')),
  /** Seconds that a start waits for a database that does not answer. */
  databaseWait: setting('DATABASE_WAIT', seconds(300, 86_400, 0)),
  givenDataDir: setting('DATA_DIR', z.string().optional()),
  /** 32 bytes, base64url; in embedded mode undefined until the start reads it from DATA_DIR. */
  secretKeys: setting('SECRET_KEY', secretKeys.optional()),
  adminUsername: setting('ADMIN_USERNAME', text(255).default('admin')),
  adminPassword: setting('ADMIN_PASSWORD', passwordText(128, 12).optional()),
  logLevel: setting('LOG_LEVEL', choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info')),
  trustProxy: setting('TRUST_PROXY', cidrList),
  /** The proxies that may ask about protected sites without a site's secret. */
  forwardAuthTrust: setting('FORWARD_AUTH_TRUST', cidrList),
  outboundAllow: setting('OUTBOUND_ALLOW', hostPortList),
  /** The collector that gets the audit trail. */
  auditStream: {
    url: setting('AUDIT_STREAM', collectorUrl.optional()),
    token: setting('AUDIT_STREAM_TOKEN', collectorToken.optional()),
    ca: setting('AUDIT_STREAM_CA', authorityFile.optional()),
  },
  /** The collector of traces, and which traces it gets; the names are those of OpenTelemetry. */
  traces: {
    endpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', traceEndpoint.optional()),
    headers: setting('OTEL_EXPORTER_OTLP_HEADERS', traceHeaders.optional()),
    protocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', traceProtocol.default('http/protobuf')),
    /** Milliseconds. */
    timeout: setting(
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      wholeNumber(100, 60_000, 'a whole number of milliseconds').default(10_000),
    ),
    ca: setting('OTEL_EXPORTER_OTLP_CERTIFICATE', authorityFile.optional()),
    serviceName: setting('OTEL_SERVICE_NAME', text(255).default('gatehouse')),
    sampler: setting('OTEL_TRACES_SAMPLER', traceSampler.default('parentbased_always_on')),
    ratio: setting('OTEL_TRACES_SAMPLER_ARG', ratio.default(1)),
  },
  /** host:port of the directories that connections may use. */
  connectionsAllow: setting('CONNECTIONS_ALLOW', hostPortList),
  /** The mail server; without one, mails go into a folder. */
  smtpUrl: setting('SMTP_URL', smtpUrl.optional()),
  /** Without it mails come from the product's name, and no-reply at the host of the issuer. */
  mailFrom: setting('MAIL_FROM', sender.optional()),
  /** Whether users may sign in by a code that is sent to their address. */
  emailSignIn: setting('EMAIL_SIGN_IN', onOrOff('off')),
  signUp: setting('SIGN_UP', onOrOff('off')),
  /** As A-labels; an empty list admits every domain. */
  signUpDomains: setting('SIGN_UP_DOMAINS', domainList),
  /** Goes before what administrators choose in the console. */
  appearance: {
    productName: setting('PRODUCT_NAME', productNameType.optional()),
    accentColor: setting('ACCENT_COLOR', accentColorType.optional()),
    supportUrl: setting('SUPPORT_URL', supportUrlType.optional()),
    logo: setting('LOGO_FILE', imageFileType.optional()),
    logoDark: setting('LOGO_DARK_FILE', imageFileType.optional()),
    favicon: setting('FAVICON_FILE', imageFileType.optional()),
  },
  templatesDir: setting('TEMPLATES_DIR', z.string().optional()),
  automaticApproval: setting('REGISTRATION_APPROVAL', whether('automatic', 'manual')),
  /** How the documents of clients become clients; 'off' fetches none (draft-ietf-oauth-client-id-metadata-document). */
  clientDocuments: setting('CLIENT_ID_METADATA', choice('off', 'approval', 'hosts', 'automatic').default('off')),
  /** The hosts whose documents need no approval with 'hosts'. */
  clientDocumentHosts: setting('CLIENT_ID_METADATA_HOSTS', hostList),
  /** Domains whose users sign in here, for clients that look for their issuer. */
  webfingerDomains: setting('WEBFINGER_DOMAINS', domainList),
  errorDelivery: setting('ERROR_DELIVERY', choice('authenticate_first', 'standard').default('authenticate_first')),
  introspectionMalformed: setting('INTROSPECTION_MALFORMED', choice('error', 'inactive').default('error')),
  userinfoPost: setting('USERINFO_POST', flag(false)),
  requirePkce: setting('REQUIRE_PKCE', flag(false)),
  /** Whether http on the name localhost counts as loopback (security R23, R24). */
  loopbackLocalhost: setting('LOOPBACK_LOCALHOST', flag(true)),
  requestObjectUnsigned: setting('REQUEST_OBJECT_UNSIGNED', flag(false)),
  requirePushedRequests: setting('REQUIRE_PUSHED_AUTHORIZATION_REQUESTS', flag(false)),
  /** Whether the refresh tokens of confidential clients rotate, too. */
  rotateConfidential: setting('REFRESH_TOKEN_ROTATION', whether('all', 'public', 'all')),
  /** Whether devices without a browser may ask for tokens (RFC 8628). */
  deviceGrant: setting('DEVICE_GRANT', onOrOff('off')),
  ciba: setting('CIBA', onOrOff('off')),
  /** Certificates of clients; without baseUrl the service takes none (RFC 8705). */
  mtls: {
    baseUrl: setting('MTLS_BASE_URL', certificateUrl.optional()),
    port: setting('MTLS_PORT', wholeNumber(1, 65_535, 'a port number').optional()),
    certFile: setting('TLS_CERT_FILE', text(4096).optional()),
    keyFile: setting('TLS_KEY_FILE', text(4096).optional()),
    caFile: setting('MTLS_CA_FILE', text(4096).optional()),
    header: setting('CLIENT_CERT_HEADER', headerName.optional()),
    format: setting('CLIENT_CERT_FORMAT', choice('rfc9440', 'pem', 'xfcc').default('rfc9440')),
    verifyHeader: setting('CLIENT_CERT_VERIFY_HEADER', headerName.optional()),
  },
  /** Whether ID-JAGs of trusted issuers get tokens (draft-ietf-oauth-identity-assertion-authz-grant-05). */
  idJag: setting('ID_JAG', onOrOff('off')),
  /** The profile that every client must follow. */
  fapi2: setting(
    'FAPI2',
    choice('off', 'security', 'message_signing')
      .default('off')
      .transform((profile) => (profile === 'off' ? undefined : profile)),
  ),
  dpop: {
    nonceRequired: setting('DPOP_NONCE', whether('required', 'off')),
    proofLifetime: setting('DPOP_PROOF_LIFETIME', seconds(60, 300, 10)),
  },
  lifetimes: {
    pushedRequest: setting('PUSHED_REQUEST_LIFETIME', seconds(60, 600)),
    deviceCode: setting('DEVICE_CODE_LIFETIME', seconds(600, 3600)),
    backchannelRequest: setting('CIBA_LIFETIME', seconds(120, 600)),
    authorizationCode: setting('AUTHORIZATION_CODE_LIFETIME', seconds(60, 600)),
    accessToken: setting('ACCESS_TOKEN_LIFETIME', seconds(600)),
    refreshToken: setting('REFRESH_TOKEN_LIFETIME', seconds(30 * 86_400)),
    refreshTokenGrace: setting('REFRESH_TOKEN_GRACE', seconds(10, 300)),
    refreshTokenAbsolute: setting('REFRESH_TOKEN_ABSOLUTE_LIFETIME', seconds(180 * 86_400, 3660 * 86_400)),
    idToken: setting('ID_TOKEN_LIFETIME', seconds(600)),
    sessionIdle: setting('SESSION_IDLE_LIFETIME', seconds(8 * 3600)),
    session: setting('SESSION_LIFETIME', seconds(86_400)),
    rememberedSession: setting('REMEMBERED_SESSION_LIFETIME', seconds(30 * 86_400, 30 * 86_400)),
    form: setting('FORM_LIFETIME', seconds(600, 86_400)),
    knownBrowser: setting('KNOWN_BROWSER_LIFETIME', seconds(90 * 86_400)),
    passwordReset: setting('PASSWORD_RESET_LIFETIME', seconds(1800, 86_400)),
    emailVerification: setting('EMAIL_VERIFICATION_LIFETIME', seconds(86_400, 30 * 86_400)),
    recoveryLink: setting('RECOVERY_LINK_LIFETIME', seconds(86_400, 30 * 86_400)),
    invitation: setting('INVITATION_LIFETIME', seconds(7 * 86_400, 90 * 86_400)),
    initialAccessToken: setting('INITIAL_ACCESS_TOKEN_LIFETIME', seconds(7 * 86_400)),
    registrationWaiting: setting('REGISTRATION_WAITING_LIFETIME', seconds(30 * 86_400)),
    registrationCode: setting('REGISTRATION_CODE_LIFETIME', seconds(1800, 86_400)),
    keyPublicationLead: setting('KEY_PUBLICATION_LEAD', seconds(600)),
    /** 0: keys rotate only on request. */
    keyRotationInterval: setting('KEY_ROTATION_INTERVAL', secondsOrNever(90 * 86_400, 3660 * 86_400, 3600)),
    backchannelLogoutRetention: setting('BACKCHANNEL_LOGOUT_RETENTION', seconds(86_400, 30 * 86_400)),
    /** 0: an event keeps its network address for as long as it is kept itself. */
    auditAddressRetention: setting('AUDIT_ADDRESS_RETENTION', secondsOrNever(0, 3660 * 86_400, 86_400)),
    /** 0: the audit trail is kept for ever. */
    auditRetention: setting('AUDIT_RETENTION', secondsOrNever(0, 3660 * 86_400, 86_400)),
  },
  /** Whether users may choose to stay signed in. */
  rememberMe: setting('REMEMBER_ME', onOrOff('on')),
  sessionCookie: setting('SESSION_COOKIE', cookieName.default('JSESSIONOPENID')),
  passwordMinLength: setting('PASSWORD_MIN_LENGTH', count(12, 128)),
  /** "off", "list", or the address of a range service. */
  passwordBreachCheck: setting('PASSWORD_BREACH_CHECK', breachCheck.default('list')),
  /** Which users must show a second factor: these, and the members of these groups. */
  secondFactor: {
    of: setting('REQUIRE_SECOND_FACTOR', choice('off', 'administrators', 'everyone').default('off')),
    groups: setting('REQUIRE_SECOND_FACTOR_GROUPS', nameList),
  },
  /** For how many days a browser may spare its user the second factor; 0 for none. */
  rememberSecondFactor: setting('REMEMBER_SECOND_FACTOR', count(0, 90)),
  /** The claims that users may change themselves. */
  profileEditable: setting('PROFILE_EDITABLE', claimList),
  /** Whether users may upload a picture of themselves. */
  profilePictures: setting('PROFILE_PICTURES', onOrOff('on')),
  /** Whether users may delete their own account. */
  accountDeletion: setting('ACCOUNT_DELETION', onOrOff('off')),
  /** Whether users land on the start page after a sign-in without an application. */
  startPage: setting('START_PAGE', onOrOff('off')),
  /** Whether /openapi.json describes the admin routes without a token. */
  openapi: setting('OPENAPI', onOrOff('on')),
  givenHashConcurrency: setting('PASSWORD_HASH_CONCURRENCY', wholeNumber(1, 64).optional()),
  passwordHashQueue: setting('PASSWORD_HASH_QUEUE', count(64)),
  limits: {
    signInPerAccount: setting('LIMIT_SIGN_IN_PER_ACCOUNT', count(10, 90)),
    signInPerNetwork: setting('LIMIT_SIGN_IN_PER_NETWORK', count(100)),
    signInFailures: setting('LIMIT_SIGN_IN_FAILURES', count(1000)),
    registrationPerNetwork: setting('LIMIT_REGISTRATION_PER_NETWORK', count(60)),
    registrationsWaiting: setting('LIMIT_REGISTRATIONS_WAITING', count(10_000)),
    registrationPolls: setting('LIMIT_REGISTRATION_POLLS', count(300)),
    metadataFetches: setting('LIMIT_METADATA_FETCHES', count(30)),
    clientAuthFailures: setting('LIMIT_CLIENT_AUTH_FAILURES', count(30)),
    introspections: setting('LIMIT_INTROSPECTIONS', count(600_000)),
    verificationCodes: setting('LIMIT_VERIFICATION_CODES', count(10)),
    userCodes: setting('LIMIT_USER_CODES', count(10)),
    pendingSignIns: setting('LIMIT_PENDING_SIGN_INS', count(20)),
    pendingSignInsPerNetwork: setting('LIMIT_PENDING_SIGN_INS_PER_NETWORK', count(1000)),
    codesPerSession: setting('LIMIT_CODES_PER_SESSION', count(20, 1000)),
    backchannelRequests: setting('LIMIT_CIBA_REQUESTS', count(10, 1000)),
    sessionsPerUser: setting('LIMIT_SESSIONS_PER_USER', count(100)),
    pushedRequests: setting('LIMIT_PUSHED_REQUESTS', count(1000)),
    connectionBegins: setting('LIMIT_CONNECTION_BEGINS', count(60)),
    connectionAnswers: setting('LIMIT_CONNECTION_ANSWERS', count(60)),
    scim: setting('LIMIT_SCIM', count(3000)),
    mailedLinks: setting('LIMIT_MAILED_LINKS', count(5)),
    mailedLinksPerNetwork: setting('LIMIT_MAILED_LINKS_PER_NETWORK', count(50)),
    sockets: setting('LIMIT_SOCKETS', count(10_000)),
  },
} satisfies Settings;

/** The settings of Gatehouse, by their variables. */
export const settings = rulesOf(declared);

/** Node itself reads the size of its thread pool. */
const all = { ...declared, threadPoolSize: setting('UV_THREADPOOL_SIZE', count(4, 1024, 1)) };
const rules = rulesOf(all);
type Values = ValuesOf<typeof all>;

/** Settings that have another name now. */
const renamed: Readonly<Record<string, string>> = { LIMIT_CONNECTIONS: 'LIMIT_SOCKETS' };

/** What follows from the settings. */
function derived(values: Values) {
  const issuer = values.baseUrl ?? `http://localhost:${values.port}`;
  const url = new URL(issuer);
  const { folder: dataDir, notice } = dataDirOf(values);
  return {
    /** Lines for the operator about settings that may surprise. */
    notices: Object.freeze(
      [notice, trialWarning(issuer), certificateWarning(values)].filter((text) => text !== undefined),
    ),
    /** The issuer identifier, `{base_url}` of the specification: no trailing slash. Every address begins with it (security R98). */
    issuer,
    /** The path of the issuer without a trailing slash: "" or "/idp". */
    basePath: url.pathname.replace(/\/$/, ''),
    secureCookies: url.protocol === 'https:',
    /** Passwords and tokens pass a network without encryption: see ALLOW_HTTP. */
    unencrypted: isUnencrypted(issuer),
    dataDir,
    // The hashes of all processes take half of the processors at most, and one thread of the pool stays free (security R102).
    passwordHashConcurrency:
      values.givenHashConcurrency ??
      Math.min(values.threadPoolSize - 1, Math.max(1, Math.floor(availableParallelism() / 2 / values.workers))),
  };
}

export type Config = Values &
  ReturnType<typeof derived> & {
    /** The settings of the environment as a page may show them: no secret is in it. */
    readonly given: Readonly<Record<string, string>>;
  };

/**
 * Reads the settings from an environment; an empty value counts as unset. A secret may be in a file.
 * @throws ConfigError with one sentence that names the first wrong setting
 */
export function loadConfig(variables: Variables = process.env): Config {
  const given = readSecretFiles(secretSettings, variables, refuse);
  for (const name of [...Object.keys(rules), ...Object.keys(renamed)]) {
    // a final newline comes from the program that wrote the value
    const value = variables[name]?.replace(/\r?\n$/, '');
    if (!value) continue;
    if (renamed[name] !== undefined) throw new ConfigError(`The setting ${name} is now called ${renamed[name]}.`);
    given[name] = value;
  }
  const { data, error } = z.object(rules).safeParse(given, { error: defaultMessage });
  if (error) throw new ConfigError(`The setting ${String(error.issues[0]!.path[0])} ${error.issues[0]!.message}.`);
  const values = valuesOf(all, data);
  refuseConflicts(values);
  const config: Config = Object.freeze({ ...values, ...derived(values), given: shownSettings(given) });
  givenTo.set(config, given);
  variablesOf.set(config, variables);
  return config;
}

/** The settings of `gatehouse dev`. @throws ConfigError */
export function loadDevConfig(options: DevOptions, variables: Variables = process.env): Config {
  const conflict = devConflict(variables);
  if (conflict) refuse(...conflict);
  return loadConfig(devVariables(variables, options, Object.keys(rules)));
}

/** All variables, of which a configuration file may name those that are no settings. */
const variablesOf = new WeakMap<Config, Variables>();
/** A variable that is no setting; undefined for one that is. */
export const foreignVariable = (config: Config, name: string): string | undefined =>
  Object.hasOwn(rules, name) ? undefined : variablesOf.get(config)?.[name];
export const isSettingName = (name: string): boolean => Object.hasOwn(rules, name);
/** What holds settings or data of the service, so that no configuration file hands it on: see own-secrets.ts. */
export const ownSecretsOf = (config: Config): OwnSecrets =>
  ownSecrets(secretsIn(config), variablesOf.get(config) ?? {}, { dataDir: config.dataDir, isSettingName });

/** The settings with their secrets, which no page and no log of a Config shows. */
const givenTo = new WeakMap<Config, Record<string, string>>();

/** What the service stores for its commands, without secrets (security R99). */
export const storedForCommands = ({ given, issuer }: Config) => settingsForCommands(given, issuer);

/** The settings of a command at the service whose database it opened, whatever its shell says. */
export function atService(
  shell: Config,
  stored: Readonly<Record<string, string>>,
): { config: Config; overruled: string[]; hasMailServer: boolean } {
  const own = { ...givenTo.get(shell) };
  // a port decides the issuer, too
  if (own['PORT'] !== undefined) own['BASE_URL'] ??= shell.issuer;
  const { given, overruled } = adoptSettings(own, stored, rules);
  const hasMailServer = given['SMTP_URL'] === own['SMTP_URL'];
  return { config: loadConfig(given), overruled, hasMailServer };
}

/** @throws ConfigError */
function refuse(name: string, message: string): never {
  throw new ConfigError(`The setting ${name} ${message}.`);
}

/** Refuses settings that are valid one by one, and not together. @throws ConfigError */
function refuseConflicts(values: Values): void {
  if (values.baseUrl !== undefined && isUnencrypted(values.baseUrl) && !values.allowHttp)
    refuse('BASE_URL', `${baseUrlProblem}; ALLOW_HTTP=true admits http for a trial without a certificate`);
  if (values.databaseUrl && !values.secretKeys)
    refuse('SECRET_KEY', `is missing: it is required with DATABASE_URL (${keyWords})`);
  const { conflict } = dataDirOf(values);
  if (conflict !== undefined) refuse('DATA_DIR', conflict);
  if (values.databaseDirectUrl && !values.databaseUrl)
    refuse('DATABASE_DIRECT_URL', 'requires DATABASE_URL, the address of the pooler');
  if (values.clientDocuments === 'hosts' && values.clientDocumentHosts.length === 0)
    refuse('CLIENT_ID_METADATA_HOSTS', 'is missing: CLIENT_ID_METADATA=hosts requires the hosts that you trust');
  const { url: collector, token, ca } = values.auditStream;
  for (const [name, value] of Object.entries({ AUDIT_STREAM_TOKEN: token, AUDIT_STREAM_CA: ca }))
    if (value !== undefined && collector === undefined)
      refuse(name, 'requires AUDIT_STREAM, the address of the collector');
  if (token !== undefined && collector?.startsWith('syslog'))
    refuse('AUDIT_STREAM_TOKEN', 'cannot be sent by syslog: it is for https and otlp+https');
  // one secret, one purpose (security R111): a secret that leaks or is guessed must not open anything else
  const owners = new Map<string, string>();
  for (const [name, value] of secretsIn(values)) {
    const secret = value.replace(/=$/, '');
    const owner = owners.get(secret);
    if (owner !== undefined) refuse(name, `has the same value as ${owner}: create another one`);
    else if (secret !== '') owners.set(secret, name);
  }
  const threads = values.threadPoolSize;
  if ((values.givenHashConcurrency ?? 1) >= threads)
    refuse(
      'PASSWORD_HASH_CONCURRENCY',
      `must be less than UV_THREADPOOL_SIZE (${threads}), because the other threads sign tokens`,
    );
}

const secretsIn = (values: Values): (readonly [string, string])[] => [
  ...(values.secretKeys ?? []).map((key) => ['SECRET_KEY', key] as const),
  ['ADMIN_PASSWORD', values.adminPassword ?? ''],
  ['DATABASE_URL', passwordOf(values.databaseUrl)],
  ['SMTP_URL', passwordOf(values.smtpUrl)],
  ['AUDIT_STREAM_TOKEN', values.auditStream.token ?? ''],
  ['OTEL_EXPORTER_OTLP_HEADERS', Object.values(values.traces.headers ?? {}).join(',')],
];

/** With DATABASE_URL the folder holds mails only, so what is in it does not matter. */
function dataDirOf({ givenDataDir, databaseUrl }: Pick<Values, 'givenDataDir' | 'databaseUrl'>): DataDir {
  if (givenDataDir !== undefined) return { folder: givenDataDir };
  return databaseUrl === undefined ? usualDataDir() : { folder: installationData };
}
