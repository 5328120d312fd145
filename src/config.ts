// The environment, read once and turned into one frozen Config; a wrong setting becomes one sentence that names it.
import { isIP, isIPv4 } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';

/** A setting is missing or wrong: the message is one sentence for the operator, and never holds a secret's value. */
export class ConfigError extends Error {}

const seconds = (fallback: number, max = 366 * 86_400) =>
  z.coerce
    .number({ error: 'must be a whole number of seconds' })
    .int('must be a whole number of seconds')
    .min(1, 'must be at least 1 second')
    .max(max, `must be at most ${max} seconds`)
    .default(fallback);

const wholeNumber = (min: number, max: number) =>
  z.coerce
    .number({ error: 'must be a whole number' })
    .int('must be a whole number')
    .min(min, min === 0 ? 'must be 0 or more' : `must be at least ${min}`)
    .max(max, `must be at most ${max}`);

const count = (fallback: number, max = 1_000_000_000, min = 0) => wholeNumber(min, max).default(fallback);

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).default('false');

const baseUrl = z
  .string()
  .refine(
    isBaseUrl,
    'must be an https URL (http only on a loopback host) as browsers write it, with a plain path if any, without a query, a fragment or a trailing slash',
  );

const postgresUrl = z.string().refine((text) => /^postgres(ql)?:\/\//.test(text), 'must start with postgresql://');

/** What stands between commas, without the space around it. */
const items = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

const nameList = z.string().default('').transform(items);
const lowerCaseList = z
  .string()
  .default('')
  .transform((text) => items(text.toLowerCase()));

const cidrList = nameList.refine(
  (list) => list.every(isCidr),
  'must be a comma-separated list of IP addresses or CIDR ranges',
);

const hostPortList = lowerCaseList.refine(
  (list) => list.every((item) => /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/.test(item)),
  'must be a comma-separated list of host:port',
);

const breachService = z
  .string()
  .refine(
    (text) => URL.canParse(text) && /^https?:\/\/[^?#]+\/$/.test(text),
    'must be off, list, or the address of a range service, with a slash at the end, such as https://api.pwnedpasswords.com/range/',
  );

const smtpUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  return /^smtps?:$/.test(protocol) && hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === '';
}, 'must be smtp://USER:PASSWORD@HOST:PORT, or smtps:// where TLS begins at once');

/** "name@host" or "Name <name@host>", on one line and for one address. */
const sender = z
  .string()
  .max(320)
  .refine(
    (text) =>
      /^(?:[^\p{Cc}<>@,;"]* <)?[^\s\p{Cc}<>@,;"]+@[^\s\p{Cc}<>@,;"]+>?$/u.test(text) &&
      / </.test(text) === text.endsWith('>'),
    'must be an address, such as: Example Accounts <accounts@example.com>',
  );

const domainList = lowerCaseList.refine(
  (list) => list.every((item) => /^[^\s@,]+\.[^\s@,]+$/.test(item)),
  'must be a comma-separated list of domains, such as example.com',
);

/** Those that oauth/own-profile.ts knows how to read, in the order of its form. */
const editableClaims = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'gender',
  'birthdate',
  'phone_number',
  'website',
  'profile',
  'picture',
  'address',
  'locale',
  'zoneinfo',
] as const;

/** Claims that people may change themselves, or none. */
const claimList = z
  .string()
  .default(
    'name,given_name,family_name,middle_name,nickname,gender,birthdate,phone_number,website,address,locale,zoneinfo',
  )
  .transform((text) => (text.trim() === 'none' ? [] : items(text)))
  .pipe(
    z.array(z.enum(editableClaims), {
      error: `must be none, or a comma-separated list of: ${editableClaims.join(', ')}`,
    }),
  )
  .transform((claims) => editableClaims.filter((claim) => claims.includes(claim)));

/** The form of SECRET_KEY. */
export const secretKey = z
  .string()
  .refine((text) => /^[A-Za-z0-9_-]+=?$/.test(text) && Buffer.from(text, 'base64url').length === 32, {
    error: 'must be 32 random bytes in base64url, as printed by: openssl rand -base64 32 | tr +/ -_',
  })
  .refine(
    (text) => !isGuessable(Buffer.from(text, 'base64url')),
    'is a sample or a guessable value: make a random one, by: openssl rand -base64 32 | tr +/ -_',
  );

/** Every setting with its rule and default; `.env.example` lists the same, and a test compares them. */
export const settings = {
  PORT: z.coerce.number({ error: 'must be a port number' }).int().min(0).max(65_535).default(3000),
  HOST: z.string().min(1).default('localhost'),
  WORKERS: count(1, 64, 1),
  BASE_URL: baseUrl.optional(),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  DATABASE_PREPARED_STATEMENTS: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  DATABASE_POOL_SIZE: count(20, 1000, 1),
  DATABASE_WAIT: count(300, 86_400),
  DATA_DIR: z.string().min(1).default('./data'),
  SECRET_KEY: secretKey.optional(),
  ADMIN_USERNAME: z.string().min(1).max(255).default('admin'),
  ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').max(128).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  TRUST_PROXY: cidrList,
  OUTBOUND_ALLOW: hostPortList,
  SMTP_URL: smtpUrl.optional(),
  MAIL_FROM: sender.optional(),
  SIGN_UP: z.enum(['off', 'on']).default('off'),
  SIGN_UP_DOMAINS: domainList,
  TEMPLATES_DIR: z.string().min(1).optional(),
  REGISTRATION_APPROVAL: z.enum(['manual', 'automatic']).default('manual'),
  ERROR_DELIVERY: z.enum(['authenticate_first', 'standard']).default('authenticate_first'),
  INTROSPECTION_MALFORMED: z.enum(['error', 'inactive']).default('error'),
  USERINFO_POST: flag,
  REQUIRE_PKCE: flag,
  LOOPBACK_LOCALHOST: z.enum(['true', 'false'], { error: 'must be true or false' }).default('true'),
  REQUEST_OBJECT_UNSIGNED: flag,
  REQUIRE_PUSHED_AUTHORIZATION_REQUESTS: flag,
  REFRESH_TOKEN_ROTATION: z.enum(['all', 'public']).default('all'),
  PUSHED_REQUEST_LIFETIME: seconds(60, 600),
  AUTHORIZATION_CODE_LIFETIME: seconds(60, 600),
  ACCESS_TOKEN_LIFETIME: seconds(600),
  REFRESH_TOKEN_LIFETIME: seconds(30 * 86_400),
  REFRESH_TOKEN_ABSOLUTE_LIFETIME: seconds(180 * 86_400, 3660 * 86_400),
  ID_TOKEN_LIFETIME: seconds(600),
  SESSION_IDLE_LIFETIME: seconds(8 * 3600),
  SESSION_LIFETIME: seconds(86_400),
  FORM_LIFETIME: seconds(600, 86_400),
  KNOWN_BROWSER_LIFETIME: seconds(90 * 86_400),
  PASSWORD_RESET_LIFETIME: seconds(1800, 86_400),
  EMAIL_VERIFICATION_LIFETIME: seconds(86_400, 30 * 86_400),
  RECOVERY_LINK_LIFETIME: seconds(86_400, 30 * 86_400),
  INITIAL_ACCESS_TOKEN_LIFETIME: seconds(7 * 86_400),
  REGISTRATION_WAITING_LIFETIME: seconds(30 * 86_400),
  REGISTRATION_CODE_LIFETIME: seconds(1800, 86_400),
  KEY_PUBLICATION_LEAD: seconds(600),
  KEY_ROTATION_INTERVAL: count(90 * 86_400, 3660 * 86_400).refine(
    (interval) => interval === 0 || interval >= 3600,
    'must be 0 or at least 3600 seconds',
  ),
  BACKCHANNEL_LOGOUT_RETENTION: seconds(86_400, 30 * 86_400),
  AUDIT_RETENTION: count(0, 3660 * 86_400).refine(
    (kept) => kept === 0 || kept >= 86_400,
    'must be 0 or at least 86400 seconds',
  ),
  PASSWORD_MIN_LENGTH: count(12, 128),
  PASSWORD_BREACH_CHECK: z.union([z.enum(['off', 'list']), breachService]).default('list'),
  REQUIRE_SECOND_FACTOR: z.enum(['off', 'administrators', 'everyone']).default('off'),
  REQUIRE_SECOND_FACTOR_GROUPS: nameList,
  PROFILE_EDITABLE: claimList,
  ACCOUNT_DELETION: z.enum(['on', 'off']).default('off'),
  PASSWORD_HASH_CONCURRENCY: wholeNumber(1, 64).optional(),
  PASSWORD_HASH_QUEUE: count(64),
  LIMIT_SIGN_IN_PER_ACCOUNT: count(10, 90),
  LIMIT_SIGN_IN_PER_NETWORK: count(100),
  LIMIT_SIGN_IN_FAILURES: count(1000),
  LIMIT_REGISTRATION_PER_NETWORK: count(60),
  LIMIT_REGISTRATIONS_WAITING: count(10_000),
  LIMIT_REGISTRATION_POLLS: count(300),
  LIMIT_CLIENT_AUTH_FAILURES: count(30),
  LIMIT_INTROSPECTIONS: count(600_000),
  LIMIT_VERIFICATION_CODES: count(10),
  LIMIT_PENDING_SIGN_INS: count(20),
  LIMIT_PENDING_SIGN_INS_PER_NETWORK: count(1000),
  LIMIT_CODES_PER_SESSION: count(20, 1000),
  LIMIT_SESSIONS_PER_USER: count(100),
  LIMIT_PUSHED_REQUESTS: count(1000),
  LIMIT_MAILED_LINKS: count(5),
  LIMIT_MAILED_LINKS_PER_NETWORK: count(50),
  LIMIT_CONNECTIONS: count(10_000),
} as const;

const schema = z.object(settings);
type Settings = z.infer<typeof schema>;

export interface Config {
  readonly port: number;
  readonly host: string;
  /** How many processes share the port. */
  readonly workers: number;
  /** The issuer identifier, `{base_url}` of the specification: no trailing slash. Every address is built on it (security R98). */
  readonly issuer: string;
  /** Path of the issuer without a trailing slash: "" or "/idp". */
  readonly basePath: string;
  readonly secureCookies: boolean;
  readonly databaseUrl: string | undefined;
  /** The server itself, where databaseUrl is a pooler in transaction mode. */
  readonly databaseDirectUrl: string | undefined;
  readonly databasePrepared: boolean;
  readonly databasePoolSize: number;
  /** Seconds that a start waits for a database that does not answer. */
  readonly databaseWait: number;
  readonly dataDir: string;
  /** 32 bytes, base64url; undefined in embedded mode until DATA_DIR gives one. */
  readonly secretKey: string | undefined;
  readonly adminUsername: string;
  readonly adminPassword: string | undefined;
  readonly logLevel: Settings['LOG_LEVEL'];
  readonly trustProxy: string[];
  readonly outboundAllow: string[];
  /** The mail server; undefined puts mails into a folder. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly signUp: boolean;
  /** Lower case; of none all are let in. */
  readonly signUpDomains: string[];
  readonly templatesDir: string | undefined;
  readonly automaticApproval: boolean;
  readonly errorDelivery: Settings['ERROR_DELIVERY'];
  readonly introspectionMalformed: Settings['INTROSPECTION_MALFORMED'];
  readonly userinfoPost: boolean;
  readonly requirePkce: boolean;
  /** Whether http on the name localhost is taken for the loopback (security R23, R24). */
  readonly loopbackLocalhost: boolean;
  readonly requestObjectUnsigned: boolean;
  readonly requirePushedRequests: boolean;
  readonly rotateConfidential: boolean;
  /** All in seconds. */
  readonly lifetimes: {
    readonly pushedRequest: number;
    readonly authorizationCode: number;
    readonly accessToken: number;
    readonly refreshToken: number;
    readonly refreshTokenAbsolute: number;
    readonly idToken: number;
    readonly sessionIdle: number;
    readonly session: number;
    readonly form: number;
    readonly knownBrowser: number;
    readonly passwordReset: number;
    readonly emailVerification: number;
    readonly recoveryLink: number;
    readonly initialAccessToken: number;
    readonly registrationWaiting: number;
    readonly registrationCode: number;
    readonly keyPublicationLead: number;
    /** 0: keys are not rotated by themselves. */
    readonly keyRotationInterval: number;
    readonly backchannelLogoutRetention: number;
    /** 0: the audit trail is kept for ever. */
    readonly auditRetention: number;
  };
  readonly passwordMinLength: number;
  /** off, list, or the address of a range service. */
  readonly passwordBreachCheck: string;
  /** Who has to show a second factor: these, and the members of these groups. */
  readonly secondFactor: { readonly of: Settings['REQUIRE_SECOND_FACTOR']; readonly groups: readonly string[] };
  /** What people may change of their own claims. */
  readonly profileEditable: readonly (typeof editableClaims)[number][];
  /** Whether people may delete their own account. */
  readonly accountDeletion: boolean;
  readonly passwordHashConcurrency: number;
  readonly passwordHashQueue: number;
  readonly limits: {
    readonly signInPerAccount: number;
    readonly signInPerNetwork: number;
    readonly signInFailures: number;
    readonly registrationPerNetwork: number;
    readonly registrationsWaiting: number;
    readonly registrationPolls: number;
    readonly clientAuthFailures: number;
    readonly introspections: number;
    readonly verificationCodes: number;
    readonly pendingSignIns: number;
    readonly pendingSignInsPerNetwork: number;
    readonly codesPerSession: number;
    readonly sessionsPerUser: number;
    readonly pushedRequests: number;
    readonly mailedLinks: number;
    readonly mailedLinksPerNetwork: number;
    readonly connections: number;
  };
}

/**
 * Reads the settings from an environment; an empty value counts as unset.
 * @throws ConfigError with one sentence that names the first wrong setting
 */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(
    Object.keys(settings).flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new ConfigError(`The setting ${String(issue.path[0])} ${sentence(issue.message)}.`);
  }
  const s = parsed.data;
  if (s.DATABASE_URL && !s.SECRET_KEY) {
    throw new ConfigError(
      'The setting SECRET_KEY is missing: with DATABASE_URL it is required (32 random bytes in base64url, as printed by: openssl rand -base64 32 | tr +/ -_).',
    );
  }
  if (s.DATABASE_DIRECT_URL && !s.DATABASE_URL)
    throw new ConfigError('The setting DATABASE_DIRECT_URL goes with DATABASE_URL, the address of the pooler.');
  refuseReuse(s);
  const threads = Number(environment['UV_THREADPOOL_SIZE'] ?? 4);
  if ((s.PASSWORD_HASH_CONCURRENCY ?? 1) >= threads) {
    throw new ConfigError(
      `The setting PASSWORD_HASH_CONCURRENCY must be less than ${threads}, the threads that also sign tokens; UV_THREADPOOL_SIZE makes them more.`,
    );
  }
  const issuer = s.BASE_URL ?? `http://localhost:${s.PORT}`;
  const url = new URL(issuer);
  return Object.freeze({
    port: s.PORT,
    host: s.HOST,
    workers: s.WORKERS,
    issuer,
    basePath: url.pathname.replace(/\/$/, ''),
    secureCookies: url.protocol === 'https:',
    databaseUrl: s.DATABASE_URL,
    databaseDirectUrl: s.DATABASE_DIRECT_URL,
    databasePrepared: s.DATABASE_PREPARED_STATEMENTS === 'true',
    databasePoolSize: s.DATABASE_POOL_SIZE,
    databaseWait: s.DATABASE_WAIT,
    dataDir: s.DATA_DIR,
    secretKey: s.SECRET_KEY,
    adminUsername: s.ADMIN_USERNAME,
    adminPassword: s.ADMIN_PASSWORD,
    logLevel: s.LOG_LEVEL,
    trustProxy: s.TRUST_PROXY,
    outboundAllow: s.OUTBOUND_ALLOW,
    smtpUrl: s.SMTP_URL,
    mailFrom: s.MAIL_FROM ?? `Gatehouse <no-reply@${url.hostname.replace(/^\[|\]$/g, '')}>`,
    signUp: s.SIGN_UP === 'on',
    signUpDomains: s.SIGN_UP_DOMAINS,
    templatesDir: s.TEMPLATES_DIR,
    automaticApproval: s.REGISTRATION_APPROVAL === 'automatic',
    errorDelivery: s.ERROR_DELIVERY,
    introspectionMalformed: s.INTROSPECTION_MALFORMED,
    userinfoPost: s.USERINFO_POST === 'true',
    requirePkce: s.REQUIRE_PKCE === 'true',
    loopbackLocalhost: s.LOOPBACK_LOCALHOST === 'true',
    requirePushedRequests: s.REQUIRE_PUSHED_AUTHORIZATION_REQUESTS === 'true',
    requestObjectUnsigned: s.REQUEST_OBJECT_UNSIGNED === 'true',
    rotateConfidential: s.REFRESH_TOKEN_ROTATION === 'all',
    lifetimes: Object.freeze({
      pushedRequest: s.PUSHED_REQUEST_LIFETIME,
      authorizationCode: s.AUTHORIZATION_CODE_LIFETIME,
      accessToken: s.ACCESS_TOKEN_LIFETIME,
      refreshToken: s.REFRESH_TOKEN_LIFETIME,
      refreshTokenAbsolute: s.REFRESH_TOKEN_ABSOLUTE_LIFETIME,
      idToken: s.ID_TOKEN_LIFETIME,
      sessionIdle: s.SESSION_IDLE_LIFETIME,
      session: s.SESSION_LIFETIME,
      form: s.FORM_LIFETIME,
      knownBrowser: s.KNOWN_BROWSER_LIFETIME,
      passwordReset: s.PASSWORD_RESET_LIFETIME,
      emailVerification: s.EMAIL_VERIFICATION_LIFETIME,
      recoveryLink: s.RECOVERY_LINK_LIFETIME,
      initialAccessToken: s.INITIAL_ACCESS_TOKEN_LIFETIME,
      registrationWaiting: s.REGISTRATION_WAITING_LIFETIME,
      registrationCode: s.REGISTRATION_CODE_LIFETIME,
      keyPublicationLead: s.KEY_PUBLICATION_LEAD,
      keyRotationInterval: s.KEY_ROTATION_INTERVAL,
      backchannelLogoutRetention: s.BACKCHANNEL_LOGOUT_RETENTION,
      auditRetention: s.AUDIT_RETENTION,
    }),
    passwordMinLength: s.PASSWORD_MIN_LENGTH,
    passwordBreachCheck: s.PASSWORD_BREACH_CHECK,
    secondFactor: Object.freeze({ of: s.REQUIRE_SECOND_FACTOR, groups: s.REQUIRE_SECOND_FACTOR_GROUPS }),
    profileEditable: Object.freeze(s.PROFILE_EDITABLE),
    accountDeletion: s.ACCOUNT_DELETION === 'on',
    // half of the processors for passwords, of all processes together, leaves the other half, and a thread, to everything else (security R102)
    passwordHashConcurrency:
      s.PASSWORD_HASH_CONCURRENCY ??
      Math.min(threads - 1, Math.max(1, Math.floor(availableParallelism() / 2 / s.WORKERS))),
    passwordHashQueue: s.PASSWORD_HASH_QUEUE,
    limits: Object.freeze({
      signInPerAccount: s.LIMIT_SIGN_IN_PER_ACCOUNT,
      signInPerNetwork: s.LIMIT_SIGN_IN_PER_NETWORK,
      signInFailures: s.LIMIT_SIGN_IN_FAILURES,
      registrationPerNetwork: s.LIMIT_REGISTRATION_PER_NETWORK,
      registrationsWaiting: s.LIMIT_REGISTRATIONS_WAITING,
      registrationPolls: s.LIMIT_REGISTRATION_POLLS,
      clientAuthFailures: s.LIMIT_CLIENT_AUTH_FAILURES,
      introspections: s.LIMIT_INTROSPECTIONS,
      verificationCodes: s.LIMIT_VERIFICATION_CODES,
      pendingSignIns: s.LIMIT_PENDING_SIGN_INS,
      pendingSignInsPerNetwork: s.LIMIT_PENDING_SIGN_INS_PER_NETWORK,
      codesPerSession: s.LIMIT_CODES_PER_SESSION,
      sessionsPerUser: s.LIMIT_SESSIONS_PER_USER,
      pushedRequests: s.LIMIT_PUSHED_REQUESTS,
      mailedLinks: s.LIMIT_MAILED_LINKS,
      mailedLinksPerNetwork: s.LIMIT_MAILED_LINKS_PER_NETWORK,
      connections: s.LIMIT_CONNECTIONS,
    }),
  });
}

function sentence(message: string): string {
  return /^(must|is) /.test(message) ? message : `is wrong (${message})`;
}

/** Few bytes again and again, a row of numbers, or something that somebody typed (security R111); of random keys it is none in 10^13. */
function isGuessable(bytes: Buffer): boolean {
  const steps = new Set(bytes.subarray(1).map((byte, index) => byte - bytes[index]!));
  return new Set(bytes).size <= 8 || steps.size <= 2 || bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
}

/**
 * One secret, one purpose (security R111): what leaks or is guessed as one must not be the other.
 * @throws ConfigError
 */
function refuseReuse(s: z.infer<typeof schema>): void {
  const databasePassword = s.DATABASE_URL === undefined ? '' : passwordOf(s.DATABASE_URL);
  const secrets = [
    ['SECRET_KEY', s.SECRET_KEY?.replace(/=$/, '')],
    ['ADMIN_PASSWORD', s.ADMIN_PASSWORD?.replace(/=$/, '')],
    ['DATABASE_URL', databasePassword.replace(/=$/, '') || undefined],
    ['SMTP_URL', (s.SMTP_URL === undefined ? '' : passwordOf(s.SMTP_URL)).replace(/=$/, '') || undefined],
  ] as const;
  for (const [index, [name, secret]] of secrets.entries()) {
    const other = secrets.slice(0, index).find(([, before]) => before !== undefined && before === secret);
    if (other) throw new ConfigError(`The setting ${name} holds the same secret as ${other[0]}: make another one.`);
  }
}

/** The password in an address, if it has one and can be read. */
function passwordOf(address: string): string {
  try {
    return decodeURIComponent(new URL(address).password);
  } catch {
    return '';
  }
}

function isBaseUrl(text: string): boolean {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  const exact = text === url.href || text === url.href.replace(/\/$/, '');
  return (
    (url.protocol === 'https:' || (url.protocol === 'http:' && loopback)) &&
    exact &&
    !text.endsWith('/') &&
    !url.hostname.endsWith('.') &&
    // routes hang below it, and it stands in cookies: no empty, encoded or hidden part, such as the address of the discovery document
    /^(\/|(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$/.test(url.pathname) &&
    !url.username &&
    !url.password &&
    !/[?#]/.test(text)
  );
}

function isCidr(text: string): boolean {
  const [address, bits, ...rest] = text.split('/');
  if (rest.length > 0 || !address || !isIP(address)) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}
