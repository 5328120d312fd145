// Runs a whole service for tests: one or several instances on one database, in this process, on real sockets of the loopback.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { vi } from 'vitest';
import { type AppOptions, buildApp } from '../../src/app.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { createPasswordHashing, type PasswordWork } from '../../src/crypto/password-hashing.ts';
import type { SecretBox } from '../../src/crypto/secret-box.ts';
import { randomId, randomSecret } from '../../src/crypto/secrets.ts';
import { openDatabase } from '../../src/database/database.ts';
import { tracedDatabase } from '../../src/database/traced-database.ts';
import { openEncryption } from '../../src/domain/keys/encryption-at-rest.ts';
import type { CertificateListener } from '../../src/server/certificate-listener.ts';
import { openCertificatePort, reloadCertificates } from '../../src/start/certificate-port.ts';
import { listenAt } from '../../src/server/listen.ts';
import { createPages, type PageRenderer } from '../../src/pages/renderer.ts';
import { type ClientMetadata, parseClientMetadata } from '../../src/oauth/client-metadata.ts';
import { splitScope } from '../../src/oauth/scope.ts';
import { createAdministration } from '../../src/domain/administration/administration.ts';
import { openTraces } from '../../src/start/traces.ts';
import { createStore, type Store } from '../../src/repositories/store.ts';
import type { NewUser, User } from '../../src/repositories/users/users.ts';
import { newCredentials } from '../../src/tokens/client-credentials.ts';
import { type KeyAlgorithm, makeKeyPair } from '../../src/tokens/key-ring.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { remember } from './dump-search.ts';
import { freePort } from './server-process.ts';
import type { Statement } from '../../src/database/statement.ts';

export interface TestClient {
  clientId: string;
  clientSecret: string;
  sharedSecret: string;
  registrationAccessToken: string;
  metadata: ClientMetadata;
  redirectUri: string;
  /** The Authorization header of client_secret_basic. */
  basic: string;
}

export type TestUser = User & { password: string };

export interface TestService {
  /** The issuer; the first instance listens at this address. */
  issuer: string;
  /** Base addresses of all instances. */
  instances: string[];
  apps: FastifyInstance[];
  database: TestDatabase;
  store: Store;
  secretKey: string;
  /** DATA_DIR of all instances: its folder `mail` holds their mails. */
  dataDir: string;
  /** Names of the statements that the instances sent outside transactions, in order. */
  statements: string[];
  /** Those of them that requests sent for themselves: what jobs, timers and shared caches send comes when its time has come. */
  ofRequests: string[];
  /** Log lines of all instances, as parsed JSON. */
  logs: Record<string, unknown>[];
  /** A user whose address is `emailVerified` has it confirmed by our own mail, unless `confirmedBy` says otherwise. */
  createUser(user?: Partial<NewUser> & { password?: string; emailVerified?: boolean }): Promise<TestUser>;
  /** An enabled client, as an administrator creates one, or a disabled one, as it waits after its registration. */
  createClient(
    metadata?: Record<string, unknown>,
    options?: { firstParty?: boolean; status?: 'enabled' | 'disabled' },
  ): Promise<TestClient>;
  /** What SIGHUP does: reads the files of MTLS_PORT again. */
  reloadCertificates(): void;
  /** Ends the instances and keeps their database: a process of its own may serve the same address now. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

/** What runs on behalf of a request. */
const inRequest = new AsyncLocalStorage<true>();
subscribe('http.server.request.start', () => inRequest.enterWith(true));
/** Statements of caches and counters that all requests share: which request finds one due is a matter of time. */
const whenDue =
  /^(clients\.find|connections\.list|resources\.list_public|appearance\.read|(signing_keys|hourly_counts|instances)\..*)$/;

/** A hash takes as long as a dozen requests, and only a few tests ask for its full cost. */
const littleWork: PasswordWork = { memoryCost: 1024, timeCost: 1 };

/** Hashes of the passwords given to users here: most users have the same password. */
const passwordHashes = new Map<string, Promise<string>>();
function hashOf(password: string, work: PasswordWork | undefined): Promise<string> {
  const key = `${work?.memoryCost} ${password}`;
  let hash = passwordHashes.get(key);
  if (!hash) passwordHashes.set(key, (hash = createPasswordHashing(work).hash(password)));
  return hash;
}

/** The settings that decide whether a client may register for certificates. */
const pickCertificateSettings = (environment: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => /^(MTLS_|CLIENT_CERT_)/.test(name)));

/** Compiled built-in templates, by base path: to compile them takes as long as some requests. */
const renderers = new Map<string, PageRenderer>();
function rendererOf({ basePath, templatesDir }: Config): PageRenderer | undefined {
  if (templatesDir !== undefined) return undefined;
  let renderer = renderers.get(basePath);
  if (!renderer) renderers.set(basePath, (renderer = createPages({ basePath })));
  return renderer;
}

type KeyPair = Awaited<ReturnType<typeof makeKeyPair>>;
/**
 * Keys of services that have ended, for later ones: an RSA key takes as long as twenty requests. Two services never share one at a time.
 */
const spareKeyPairs = new Map<KeyAlgorithm, KeyPair[]>();

export const testRedirectUri = 'https://rp.example.com/callback';

/**
 * Starts `instances` instances over one fresh database.
 * @param environment settings by name, as in the environment
 */
export async function startTestService(
  options: {
    instances?: number;
    environment?: Record<string, string>;
    basePath?: string;
    /** The host name of the issuer: a redirect URI on the loopback is a literal address, and browsers take the two for different sites. */
    host?: 'localhost' | '127.0.0.1';
    /** Whether passwords are hashed as hard as in production. */
    fullPasswordWork?: boolean;
    /** A database that is migrated already, and the SECRET_KEY of its encrypted data; a new one by default. */
    database?: TestDatabase;
    secretKey?: string;
    /** The doors of `gatehouse dev`. */
    doors?: AppOptions['doors'];
  } = {},
): Promise<TestService> {
  const database = options.database ?? (await createTestDatabase());
  const { mtls } = loadConfig(pickCertificateSettings(options.environment));
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const secretKey = options.secretKey ?? randomSecret();
  remember('SECRET_KEY', secretKey);
  const count = options.instances ?? 1;
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const base = (port: number) => `http://${options.host ?? 'localhost'}:${port}${options.basePath ?? ''}`;
  const issuer = base(ports[0]!);
  const logs: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug' },
    { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const statements: string[] = [];
  const ofRequests: string[] = [];
  const keyPairs: [KeyAlgorithm, KeyPair][] = [];
  const newKeyPair = async (alg: KeyAlgorithm) => {
    const pair = spareKeyPairs.get(alg)?.pop() ?? (await makeKeyPair(alg));
    keyPairs.push([alg, pair]);
    return pair;
  };
  const passwordWork = options.fullPasswordWork ? undefined : littleWork;
  const closers: (() => Promise<void>)[] = [];
  const apps: FastifyInstance[] = [];
  const certificatePorts: CertificateListener[] = [];
  for (const port of ports) {
    const config = loadConfig({
      PORT: String(port),
      BASE_URL: issuer,
      DATABASE_URL: database.url,
      SECRET_KEY: secretKey,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'debug',
      // all tests call from one address; the limits have tests of their own
      LIMIT_SIGN_IN_PER_NETWORK: '0',
      LIMIT_REGISTRATION_PER_NETWORK: '0',
      ...options.environment,
    });
    const opened = openDatabase({ connection: database.connection, poolSize: 10, onError: () => undefined });
    const observed = {
      ...opened,
      query: <Row>(sent: Statement, values?: unknown[]) => {
        statements.push(sent.name);
        if (inRequest.getStore() && !whenDue.test(sent.name)) ofRequests.push(sent.name);
        return opened.query<Row>(sent, values);
      },
    };
    const tracing = await openTraces(config, logger);
    const app = await buildApp({
      config,
      database: tracing ? tracedDatabase(observed) : observed,
      tracing,
      secretKeys: [secretKey],
      logger,
      passwordWork,
      newKeyPair,
      renderer: rendererOf(config),
      doors: options.doors,
    });
    const close = await listenAt(app, { port, host: 'localhost' }, logger);
    const certificates = await openCertificatePort(app, config);
    apps.push(app);
    if (certificates) certificatePorts.push(certificates);
    closers.push(async () => {
      await Promise.all([close(), certificates?.close()]);
      await tracing?.stop();
      await opened.close();
    });
  }
  // each instance checks the keys once it listens for notifications: that is over before a test counts statements
  if (options.environment?.['KEY_ROTATION_INTERVAL'] !== '0')
    await vi.waitUntil(() => statements.filter((name) => name === 'signing_keys.find_due').length >= count, {
      timeout: 10_000,
      interval: 5,
    });
  const opened = openDatabase({ connection: database.connection, poolSize: 4, onError: () => undefined });
  const store = createStore(opened);
  const { secretBox } = await openEncryption(store, [secretKey]);
  const administration = createAdministration(store);
  const leave = async () => {
    for (const close of closers.splice(0)) await close();
  };
  return {
    issuer,
    instances: ports.map(base),
    apps,
    database,
    store,
    secretKey,
    dataDir,
    logs,
    statements,
    ofRequests,
    reloadCertificates: () => certificatePorts.forEach((port) => reloadCertificates(port, logger)),
    async createUser(user = {}) {
      const { password = 'correct horse battery staple', emailVerified = false, ...rest } = user;
      if (emailVerified) rest.confirmedBy ??= 'mail';
      remember('password', password);
      const { user: made } = await administration.createUser(
        { actor: 'test' },
        { username: `user-${randomId().slice(0, 8)}`, passwordHash: await hashOf(password, passwordWork), ...rest },
      );
      return { ...made, password };
    },
    async createClient(metadata = {}, { firstParty = false, status = 'enabled' } = {}) {
      const parsed = parseClientMetadata(
        { redirect_uris: [testRedirectUri], grant_types: ['authorization_code', 'refresh_token'], ...metadata },
        { admin: true, apiScopes: splitScope(String(metadata['scope'] ?? '')) },
        { mtls },
      );
      const clientId = randomId();
      const { stored, shown } = newCredentials(secretBox, clientId, parsed);
      await administration.createClient(
        { actor: 'test' },
        {
          clientId,
          metadata: parsed,
          status,
          approvedBy: status === 'enabled' ? 'administrator' : undefined,
          selfRegistered: status === 'disabled',
          firstParty,
          ...stored,
        },
      );
      const clientSecret = shown.clientSecret ?? '';
      remember('client_secret', shown.clientSecret);
      remember('shared_secret', shown.sharedSecret);
      remember('registration access token', shown.registrationAccessToken);
      return {
        clientId,
        clientSecret,
        sharedSecret: shown.sharedSecret!,
        registrationAccessToken: shown.registrationAccessToken!,
        metadata: parsed,
        redirectUri: parsed.redirect_uris[0] ?? '',
        basic: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      };
    },
    leave,
    async stop() {
      await leave();
      for (const [alg, pair] of keyPairs.splice(0)) spareKeyPairs.set(alg, [...(spareKeyPairs.get(alg) ?? []), pair]);
      await rememberKeys(secretBox, store);
      await opened.close();
      rmSync(dataDir, { recursive: true, force: true });
      await database.drop();
    },
  };
}

/** The private signing keys, which a dump must not hold either. */
async function rememberKeys(secretBox: SecretBox, store: Store): Promise<void> {
  for (const { kid, privateKeyEncrypted } of (await store.signingKeys.list()).keys) {
    try {
      const opened = secretBox.open(privateKeyEncrypted, `signing_keys.private_key_encrypted.${kid}`);
      remember('private key', (JSON.parse(opened.toString()) as { d: string }).d);
    } catch {
      // a test has altered the row
    }
  }
}
