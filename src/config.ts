// Reads the settings from the environment, once, into one frozen Config; a wrong setting becomes one sentence that names it.
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import {
  accentColorType,
  type Appearance,
  imageFileType,
  productNameType,
  supportUrlType,
} from './config/appearance-types.ts';
import { type DataDir, installationData, usualDataDir } from './config/data-dir.ts';
import { adoptSettings, settingsForCommands } from './config/service-settings.ts';
import { shownSettings } from './config/shown-settings.ts';
import {
  baseUrl,
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
  wholeNumber,
} from './config/setting-types.ts';

/** A setting is missing or wrong: the message is one sentence for the operator, and never holds a secret's value. */
export class ConfigError extends Error {}

/** Every setting with its rule and default; a test holds `.env.example` to them. */
export const settings = {
  PORT: wholeNumber(0, 65_535, 'a port number').default(3000),
  HOST: z.string().default('localhost'),
  WORKERS: count(1, 64, 1),
  BASE_URL: baseUrl.optional(),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  DATABASE_PREPARED_STATEMENTS: flag(true),
  DATABASE_POOL_SIZE: count(20, 1000, 1),
  DATABASE_WAIT: seconds(300, 86_400, 0),
  DATA_DIR: z.string().optional(),
  SECRET_KEY: secretKeys.optional(),
  ADMIN_USERNAME: text(255).default('admin'),
  ADMIN_PASSWORD: passwordText(128, 12).optional(),
  LOG_LEVEL: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
  TRUST_PROXY: cidrList,
  OUTBOUND_ALLOW: hostPortList,
  CONNECTIONS_ALLOW: hostPortList,
  SMTP_URL: smtpUrl.optional(),
  MAIL_FROM: sender.optional(),
  SIGN_UP: choice('off', 'on').default('off'),
  SIGN_UP_DOMAINS: domainList,
  PRODUCT_NAME: productNameType.optional(),
  LOGO_FILE: imageFileType.optional(),
  LOGO_DARK_FILE: imageFileType.optional(),
  FAVICON_FILE: imageFileType.optional(),
  ACCENT_COLOR: accentColorType.optional(),
  SUPPORT_URL: supportUrlType.optional(),
  TEMPLATES_DIR: z.string().optional(),
  REGISTRATION_APPROVAL: choice('manual', 'automatic').default('manual'),
  CLIENT_ID_METADATA: choice('off', 'approval', 'hosts', 'automatic').default('off'),
  CLIENT_ID_METADATA_HOSTS: hostList,
  ERROR_DELIVERY: choice('authenticate_first', 'standard').default('authenticate_first'),
  INTROSPECTION_MALFORMED: choice('error', 'inactive').default('error'),
  USERINFO_POST: flag(false),
  REQUIRE_PKCE: flag(false),
  LOOPBACK_LOCALHOST: flag(true),
  REQUEST_OBJECT_UNSIGNED: flag(false),
  REQUIRE_PUSHED_AUTHORIZATION_REQUESTS: flag(false),
  REFRESH_TOKEN_ROTATION: choice('all', 'public').default('all'),
  REFRESH_TOKEN_GRACE: seconds(10, 300),
  DEVICE_GRANT: choice('off', 'on').default('off'),
  FAPI2: choice('off', 'security', 'message_signing').default('off'),
  DPOP_NONCE: choice('off', 'required').default('off'),
  DPOP_PROOF_LIFETIME: seconds(60, 300, 10),
  PUSHED_REQUEST_LIFETIME: seconds(60, 600),
  DEVICE_CODE_LIFETIME: seconds(600, 3600),
  AUTHORIZATION_CODE_LIFETIME: seconds(60, 600),
  ACCESS_TOKEN_LIFETIME: seconds(600),
  REFRESH_TOKEN_LIFETIME: seconds(30 * 86_400),
  REFRESH_TOKEN_ABSOLUTE_LIFETIME: seconds(180 * 86_400, 3660 * 86_400),
  ID_TOKEN_LIFETIME: seconds(600),
  SESSION_IDLE_LIFETIME: seconds(8 * 3600),
  SESSION_LIFETIME: seconds(86_400),
  SESSION_COOKIE: cookieName.default('JSESSIONOPENID'),
  FORM_LIFETIME: seconds(600, 86_400),
  KNOWN_BROWSER_LIFETIME: seconds(90 * 86_400),
  PASSWORD_RESET_LIFETIME: seconds(1800, 86_400),
  EMAIL_VERIFICATION_LIFETIME: seconds(86_400, 30 * 86_400),
  RECOVERY_LINK_LIFETIME: seconds(86_400, 30 * 86_400),
  INVITATION_LIFETIME: seconds(7 * 86_400, 90 * 86_400),
  INITIAL_ACCESS_TOKEN_LIFETIME: seconds(7 * 86_400),
  REGISTRATION_WAITING_LIFETIME: seconds(30 * 86_400),
  REGISTRATION_CODE_LIFETIME: seconds(1800, 86_400),
  KEY_PUBLICATION_LEAD: seconds(600),
  KEY_ROTATION_INTERVAL: secondsOrNever(90 * 86_400, 3660 * 86_400, 3600),
  BACKCHANNEL_LOGOUT_RETENTION: seconds(86_400, 30 * 86_400),
  AUDIT_RETENTION: secondsOrNever(0, 3660 * 86_400, 86_400),
  PASSWORD_MIN_LENGTH: count(12, 128),
  PASSWORD_BREACH_CHECK: breachCheck.default('list'),
  REQUIRE_SECOND_FACTOR: choice('off', 'administrators', 'everyone').default('off'),
  REQUIRE_SECOND_FACTOR_GROUPS: nameList,
  PROFILE_EDITABLE: claimList,
  ACCOUNT_DELETION: choice('on', 'off').default('off'),
  START_PAGE: choice('on', 'off').default('off'),
  PASSWORD_HASH_CONCURRENCY: wholeNumber(1, 64).optional(),
  PASSWORD_HASH_QUEUE: count(64),
  LIMIT_SIGN_IN_PER_ACCOUNT: count(10, 90),
  LIMIT_SIGN_IN_PER_NETWORK: count(100),
  LIMIT_SIGN_IN_FAILURES: count(1000),
  LIMIT_REGISTRATION_PER_NETWORK: count(60),
  LIMIT_REGISTRATIONS_WAITING: count(10_000),
  LIMIT_REGISTRATION_POLLS: count(300),
  LIMIT_METADATA_FETCHES: count(30),
  LIMIT_CLIENT_AUTH_FAILURES: count(30),
  LIMIT_INTROSPECTIONS: count(600_000),
  LIMIT_VERIFICATION_CODES: count(10),
  LIMIT_USER_CODES: count(10),
  LIMIT_PENDING_SIGN_INS: count(20),
  LIMIT_PENDING_SIGN_INS_PER_NETWORK: count(1000),
  LIMIT_CODES_PER_SESSION: count(20, 1000),
  LIMIT_SESSIONS_PER_USER: count(100),
  LIMIT_PUSHED_REQUESTS: count(1000),
  LIMIT_CONNECTION_BEGINS: count(60),
  LIMIT_CONNECTION_ANSWERS: count(60),
  LIMIT_MAILED_LINKS: count(5),
  LIMIT_MAILED_LINKS_PER_NETWORK: count(50),
  LIMIT_CONNECTIONS: count(10_000),
} as const;

/** Node itself reads the size of its thread pool. */
const environment = z.object({ ...settings, UV_THREADPOOL_SIZE: count(4, 1024, 1) });
type Environment = z.infer<typeof environment>;

const schema = environment.superRefine(refuseConflicts).transform((s) => {
  const issuer = s.BASE_URL ?? `http://localhost:${s.PORT}`;
  const url = new URL(issuer);
  const { folder: dataDir, notice } = dataDirOf(s);
  return Object.freeze({
    /** Lines for the operator about settings that may surprise. */
    notices: Object.freeze(notice === undefined ? [] : [notice]),
    port: s.PORT,
    host: s.HOST,
    /** How many processes share the port. */
    workers: s.WORKERS,
    /** The issuer identifier, `{base_url}` of the specification: no trailing slash. Every address begins with it (security R98). */
    issuer,
    /** The path of the issuer without a trailing slash: "" or "/idp". */
    basePath: url.pathname.replace(/\/$/, ''),
    secureCookies: url.protocol === 'https:',
    databaseUrl: s.DATABASE_URL,
    /** The server itself, where databaseUrl is a pooler in transaction mode. */
    databaseDirectUrl: s.DATABASE_DIRECT_URL,
    databasePrepared: s.DATABASE_PREPARED_STATEMENTS,
    databasePoolSize: s.DATABASE_POOL_SIZE,
    /** Seconds that a start waits for a database that does not answer. */
    databaseWait: s.DATABASE_WAIT,
    dataDir,
    /** 32 bytes, base64url; in embedded mode undefined until the start reads it from DATA_DIR. */
    secretKeys: s.SECRET_KEY,
    adminUsername: s.ADMIN_USERNAME,
    adminPassword: s.ADMIN_PASSWORD,
    logLevel: s.LOG_LEVEL,
    trustProxy: s.TRUST_PROXY,
    outboundAllow: s.OUTBOUND_ALLOW,
    /** host:port of the directories that connections may use. */
    connectionsAllow: s.CONNECTIONS_ALLOW,
    /** The mail server; without one, mails go into a folder. */
    smtpUrl: s.SMTP_URL,
    /** Without it mails come from the product's name, and no-reply at the host of the issuer. */
    mailFrom: s.MAIL_FROM,
    signUp: s.SIGN_UP === 'on',
    /** As A-labels; an empty list admits every domain. */
    signUpDomains: s.SIGN_UP_DOMAINS,
    /** Goes before what administrators choose in the console. */
    appearance: Object.freeze<Appearance>({
      productName: s.PRODUCT_NAME,
      accentColor: s.ACCENT_COLOR,
      supportUrl: s.SUPPORT_URL,
      logo: s.LOGO_FILE,
      logoDark: s.LOGO_DARK_FILE,
      favicon: s.FAVICON_FILE,
    }),
    templatesDir: s.TEMPLATES_DIR,
    automaticApproval: s.REGISTRATION_APPROVAL === 'automatic',
    /** How the documents of clients become clients; 'off' fetches none (draft-ietf-oauth-client-id-metadata-document). */
    clientDocuments: s.CLIENT_ID_METADATA,
    /** The hosts whose documents need no approval with 'hosts'. */
    clientDocumentHosts: s.CLIENT_ID_METADATA_HOSTS,
    errorDelivery: s.ERROR_DELIVERY,
    introspectionMalformed: s.INTROSPECTION_MALFORMED,
    userinfoPost: s.USERINFO_POST,
    requirePkce: s.REQUIRE_PKCE,
    /** Whether http on the name localhost counts as loopback (security R23, R24). */
    loopbackLocalhost: s.LOOPBACK_LOCALHOST,
    requirePushedRequests: s.REQUIRE_PUSHED_AUTHORIZATION_REQUESTS,
    requestObjectUnsigned: s.REQUEST_OBJECT_UNSIGNED,
    rotateConfidential: s.REFRESH_TOKEN_ROTATION === 'all',
    /** Whether devices without a browser may ask for tokens (RFC 8628). */
    deviceGrant: s.DEVICE_GRANT === 'on',
    /** The profile that every client must follow. */
    fapi2: s.FAPI2 === 'off' ? undefined : s.FAPI2,
    dpop: { nonceRequired: s.DPOP_NONCE === 'required', proofLifetime: s.DPOP_PROOF_LIFETIME },
    /** All in seconds. */
    lifetimes: Object.freeze({
      pushedRequest: s.PUSHED_REQUEST_LIFETIME,
      deviceCode: s.DEVICE_CODE_LIFETIME,
      authorizationCode: s.AUTHORIZATION_CODE_LIFETIME,
      accessToken: s.ACCESS_TOKEN_LIFETIME,
      refreshToken: s.REFRESH_TOKEN_LIFETIME,
      refreshTokenGrace: s.REFRESH_TOKEN_GRACE,
      refreshTokenAbsolute: s.REFRESH_TOKEN_ABSOLUTE_LIFETIME,
      idToken: s.ID_TOKEN_LIFETIME,
      sessionIdle: s.SESSION_IDLE_LIFETIME,
      session: s.SESSION_LIFETIME,
      form: s.FORM_LIFETIME,
      knownBrowser: s.KNOWN_BROWSER_LIFETIME,
      passwordReset: s.PASSWORD_RESET_LIFETIME,
      emailVerification: s.EMAIL_VERIFICATION_LIFETIME,
      recoveryLink: s.RECOVERY_LINK_LIFETIME,
      invitation: s.INVITATION_LIFETIME,
      initialAccessToken: s.INITIAL_ACCESS_TOKEN_LIFETIME,
      registrationWaiting: s.REGISTRATION_WAITING_LIFETIME,
      registrationCode: s.REGISTRATION_CODE_LIFETIME,
      keyPublicationLead: s.KEY_PUBLICATION_LEAD,
      /** 0: keys rotate only on request. */
      keyRotationInterval: s.KEY_ROTATION_INTERVAL,
      backchannelLogoutRetention: s.BACKCHANNEL_LOGOUT_RETENTION,
      /** 0: the audit trail is kept for ever. */
      auditRetention: s.AUDIT_RETENTION,
    }),
    sessionCookie: s.SESSION_COOKIE,
    passwordMinLength: s.PASSWORD_MIN_LENGTH,
    /** "off", "list", or the address of a range service. */
    passwordBreachCheck: s.PASSWORD_BREACH_CHECK,
    /** Which users must show a second factor: these, and the members of these groups. */
    secondFactor: Object.freeze({ of: s.REQUIRE_SECOND_FACTOR, groups: s.REQUIRE_SECOND_FACTOR_GROUPS }),
    /** The claims that users may change themselves. */
    profileEditable: Object.freeze(s.PROFILE_EDITABLE),
    /** Whether users may delete their own account. */
    accountDeletion: s.ACCOUNT_DELETION === 'on',
    /** Whether users land on the start page after a sign-in without an application. */
    startPage: s.START_PAGE === 'on',
    // The hashes of all processes take half of the processors at most, and one thread of the pool stays free (security R102).
    passwordHashConcurrency:
      s.PASSWORD_HASH_CONCURRENCY ??
      Math.min(s.UV_THREADPOOL_SIZE - 1, Math.max(1, Math.floor(availableParallelism() / 2 / s.WORKERS))),
    passwordHashQueue: s.PASSWORD_HASH_QUEUE,
    limits: Object.freeze({
      signInPerAccount: s.LIMIT_SIGN_IN_PER_ACCOUNT,
      signInPerNetwork: s.LIMIT_SIGN_IN_PER_NETWORK,
      signInFailures: s.LIMIT_SIGN_IN_FAILURES,
      registrationPerNetwork: s.LIMIT_REGISTRATION_PER_NETWORK,
      registrationsWaiting: s.LIMIT_REGISTRATIONS_WAITING,
      registrationPolls: s.LIMIT_REGISTRATION_POLLS,
      metadataFetches: s.LIMIT_METADATA_FETCHES,
      clientAuthFailures: s.LIMIT_CLIENT_AUTH_FAILURES,
      introspections: s.LIMIT_INTROSPECTIONS,
      verificationCodes: s.LIMIT_VERIFICATION_CODES,
      userCodes: s.LIMIT_USER_CODES,
      pendingSignIns: s.LIMIT_PENDING_SIGN_INS,
      pendingSignInsPerNetwork: s.LIMIT_PENDING_SIGN_INS_PER_NETWORK,
      codesPerSession: s.LIMIT_CODES_PER_SESSION,
      sessionsPerUser: s.LIMIT_SESSIONS_PER_USER,
      pushedRequests: s.LIMIT_PUSHED_REQUESTS,
      connectionBegins: s.LIMIT_CONNECTION_BEGINS,
      connectionAnswers: s.LIMIT_CONNECTION_ANSWERS,
      mailedLinks: s.LIMIT_MAILED_LINKS,
      mailedLinksPerNetwork: s.LIMIT_MAILED_LINKS_PER_NETWORK,
      connections: s.LIMIT_CONNECTIONS,
    }),
  });
});

export type Config = z.infer<typeof schema> & {
  /** The settings of the environment as a page may show them: no secret is in it. */
  readonly given: Readonly<Record<string, string>>;
};

/**
 * Reads the settings from an environment; an empty value counts as unset.
 * @throws ConfigError with one sentence that names the first wrong setting
 */
export function loadConfig(variables: Record<string, string | undefined> = process.env): Config {
  const names = Object.keys(environment.shape);
  const given: Record<string, string> = {};
  for (const name of names) {
    // a final newline comes from the program that wrote the value
    const value = variables[name]?.replace(/\r?\n$/, '');
    if (value) given[name] = value;
  }
  const { data, error } = schema.safeParse(given, { error: defaultMessage });
  if (error) throw new ConfigError(`The setting ${String(error.issues[0]!.path[0])} ${error.issues[0]!.message}.`);
  const config: Config = Object.freeze({ ...data, given: shownSettings(given) });
  givenTo.set(config, given);
  return config;
}

/** The settings with their secrets, which no page and no log of a Config shows. */
const givenTo = new WeakMap<Config, Record<string, string>>();

/** What the service stores for its commands; it holds no secret (security R99). */
export const storedForCommands = ({ given, issuer }: Config) => settingsForCommands(given, issuer);

/** The settings of a command at the service whose database it opened, whatever its shell says. */
export function atService(
  shell: Config,
  stored: Readonly<Record<string, string>>,
): { config: Config; overruled: string[]; hasMailServer: boolean } {
  const own = { ...givenTo.get(shell) };
  // a port decides the issuer, too
  if (own['PORT'] !== undefined) own['BASE_URL'] ??= shell.issuer;
  const { given, overruled } = adoptSettings(own, stored, environment.shape);
  const hasMailServer = given['SMTP_URL'] === own['SMTP_URL'];
  return { config: loadConfig(given), overruled, hasMailServer };
}

/** Refuses settings that are valid one by one, and not together. */
function refuseConflicts(s: Environment, context: z.RefinementCtx): void {
  const refuse = (name: keyof Environment, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message });
  if (s.DATABASE_URL && !s.SECRET_KEY)
    refuse('SECRET_KEY', `is missing: it is required with DATABASE_URL (${keyWords})`);
  const { conflict } = dataDirOf(s);
  if (conflict !== undefined) refuse('DATA_DIR', conflict);
  if (s.DATABASE_DIRECT_URL && !s.DATABASE_URL)
    refuse('DATABASE_DIRECT_URL', 'requires DATABASE_URL, the address of the pooler');
  if (s.CLIENT_ID_METADATA === 'hosts' && s.CLIENT_ID_METADATA_HOSTS.length === 0)
    refuse('CLIENT_ID_METADATA_HOSTS', 'is missing: CLIENT_ID_METADATA=hosts requires the hosts that you trust');
  // one secret, one purpose (security R111): a secret that leaks or is guessed must not open anything else
  const secrets: [keyof Environment, string][] = [
    ...(s.SECRET_KEY ?? []).map((key): [keyof Environment, string] => ['SECRET_KEY', key]),
    ['ADMIN_PASSWORD', s.ADMIN_PASSWORD ?? ''],
    ['DATABASE_URL', passwordOf(s.DATABASE_URL)],
    ['SMTP_URL', passwordOf(s.SMTP_URL)],
  ];
  const owners = new Map<string, string>();
  for (const [name, value] of secrets) {
    const secret = value.replace(/=$/, '');
    const owner = owners.get(secret);
    if (owner !== undefined) refuse(name, `has the same value as ${owner}: create another one`);
    else if (secret !== '') owners.set(secret, name);
  }
  const threads = s.UV_THREADPOOL_SIZE;
  if ((s.PASSWORD_HASH_CONCURRENCY ?? 1) >= threads)
    refuse(
      'PASSWORD_HASH_CONCURRENCY',
      `must be less than UV_THREADPOOL_SIZE (${threads}), because the other threads sign tokens`,
    );
}

/** With DATABASE_URL the folder holds mails only, so what is in it does not matter. */
function dataDirOf({ DATA_DIR, DATABASE_URL }: Pick<Environment, 'DATA_DIR' | 'DATABASE_URL'>): DataDir {
  if (DATA_DIR !== undefined) return { folder: DATA_DIR };
  return DATABASE_URL === undefined ? usualDataDir() : { folder: installationData };
}

/** What is wrong with a setting whose rule has no message of its own. */
function defaultMessage(issue: z.core.$ZodRawIssue): string {
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : 'is not valid';
}
