// Declares the profile of a connection by OpenID Connect: for a provider without a preset, and as the base of each preset.
import { addressOf, type AnsweredAddress, type Claims } from '../../../rules/connections/connection-answer.ts';
import type { Connection } from '../../../entities/connections.ts';
import { upstreamAlgorithms } from '../../../tokens/upstream-id-token.ts';
import { type ConnectionProfile, variantOf, type Wishes } from '../kind.ts';
import type { ClientAuthentication, ProviderClient } from '../provider-client.ts';
import { scopesOf } from '../settings.ts';
import { type OidcDiscovery, type OidcSettings, oidcSettings } from './settings.ts';

/** The claims of a verified answer. */
export interface VerifiedAnswer {
  /** The claims that are signed. */
  idToken: Claims & { sub: string };
  /** The claims of the ID Token and of UserInfo. */
  claims: Claims;
  connection: Connection;
}

export interface OidcProfile extends ConnectionProfile {
  /** The address below which the discovery document is. */
  discovery: string;
  /** The issuer that the document names. */
  documentIssuer: string;
  /** Whether an answer is of this issuer. */
  isIssuer(issuer: unknown): boolean;
  /** Whether a published key signs for these issuers. */
  usesKey(key: Readonly<Record<string, unknown>>): boolean;
  authentication(discovery: OidcDiscovery): ClientAuthentication;
  scope: string;
  userinfo: boolean;
  algorithms: readonly string[];
  /** Additional parameters of the request. */
  parameters(wishes: Wishes, connection: Connection): Record<string, string>;
  /** Reads the user's identity. @throws ConnectionFailure */
  identify(answer: VerifiedAnswer): { issuer: string; subject: string; address: AnsweredAddress | undefined };
  /** Whether the subject is another claim than `sub`. A logout token has only `sub`, so its `sid` decides. */
  hasOwnSubject?: boolean;
  /** Reads claims that the ID Token leaves out. */
  complete?(claims: Claims, accessToken: unknown, client: Pick<ProviderClient, 'read'>): Promise<Claims>;
  /** Reads unsigned names from the answer that the browser sent. */
  unsignedNames?(answer: Readonly<Record<string, string>>): Claims | undefined;
}

export function profileOf(settings: OidcSettings): OidcProfile {
  const { issuer, client_id, token_endpoint_auth_method: method, id_token_signed_response_alg: alg } = settings;
  return {
    issuer,
    discovery: issuer,
    documentIssuer: issuer,
    credential: method === 'private_key_jwt' ? 'key' : 'secret',
    wordCounts: true,
    isPosted: settings.response_mode === 'form_post',
    isIssuer: (said) => said === issuer,
    usesKey: () => true,
    authentication: ({ token_endpoint: endpoint }) => ({
      clientId: client_id,
      method,
      audience: settings.client_assertion_audience === 'issuer' ? issuer : endpoint,
    }),
    scope: scopesOf(settings.scope, ['openid']),
    userinfo: settings.userinfo,
    algorithms: alg === undefined ? upstreamAlgorithms : [alg],
    parameters: ({ login, maxAge, loginHint, uiLocales }) => ({
      ...(login && { prompt: 'login' }),
      ...((maxAge !== undefined || login) && { max_age: String(login ? 0 : maxAge) }),
      ...(loginHint !== undefined && { login_hint: loginHint }),
      ...(uiLocales !== undefined && { ui_locales: uiLocales }),
    }),
    identify: ({ idToken, claims }) => ({ issuer, subject: idToken.sub, address: addressOf(claims) }),
  };
}

/** Any provider with a discovery document. */
export const anyProvider = variantOf(oidcSettings, { profile: profileOf });
