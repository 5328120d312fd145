// What endpoints are built from: the dependencies that app.ts makes once and hands to each plugin.
import type { Config } from '../config.ts';
import type { PasswordHashing } from '../crypto/password-hashing.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { ClientCache } from '../repositories/client-cache.ts';
import type { Store } from '../repositories/index.ts';
import type { Limits } from '../repositories/limits.ts';
import type { ClientKeys } from '../tokens/client-keys.ts';
import type { KeyRing } from '../tokens/key-ring.ts';
import type { RequestObjects } from '../tokens/request-object.ts';
import type { TokenService } from '../tokens/token-service.ts';
import type { AuditTrail } from './audit.ts';
import type { AuthorizationFlow } from './authorization/flow.ts';
import type { BrowserSessions } from './browser-session.ts';
import type { AuthenticateClient, AuthenticateRegistrant } from './client-authentication.ts';
import type { KnownBrowsers } from './known-browser.ts';
import type { Metrics } from './metrics.ts';
import type { PageResponses } from './page-response.ts';
import type { CheckPassword } from './password-check.ts';
import type { PasswordPolicy } from './password-policy.ts';
import type { CheckSector } from './sector-check.ts';
import type { SignIn } from './sign-in.ts';

export interface ServerOptions {
  config: Config;
  store: Store;
  clients: ClientCache;
  tokens: TokenService;
  keyRing: KeyRing;
  secretBox: SecretBox;
  passwords: PasswordHashing;
  passwordPolicy: PasswordPolicy;
  checkPassword: CheckPassword;
  knownBrowsers: KnownBrowsers;
  sessions: BrowserSessions;
  signIn: SignIn;
  pages: PageResponses;
  authenticateClient: AuthenticateClient;
  authenticateBasic: AuthenticateClient;
  authenticateRegistrant: AuthenticateRegistrant;
  clientKeys: ClientKeys;
  checkSector: CheckSector;
  requestObjects: RequestObjects;
  audit: AuditTrail;
  limits: Limits;
  metrics: Metrics;
  flow: AuthorizationFlow;
}
