// Serves POST /introspect: tells a client whether a token is active, and its properties (RFC 7662, RFC 9701, specification 4.8).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createInstanceLimit } from '../../domain/rate-limits/rate-limits.ts';
import { jsonErrors, jsonRefusal, noStore } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { readParameters } from '../../server/parameters.ts';
import { text } from '../../oauth/text.ts';
import { acrOf, authTimeClaim } from '../../oauth/acr.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import { type Binding, tokenTypeOf } from '../../oauth/binding.ts';
import {
  introspectionClaims,
  needsRoles,
  plainClient,
  releasedClaims,
  type Subject,
} from '../../rules/claims/claims.ts';
import type { RequestedClaims } from '../../oauth/claims-request.ts';
import { OAuthError } from '../../oauth/errors.ts';
import type { ActingParty } from '../../oauth/token-exchange.ts';
import { isServiceScope, splitScope } from '../../oauth/scope.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import { confirmationOf } from '../../repositories/confirmation.ts';
import { isAccessToken } from '../../tokens/jwt-access-token.ts';
import { opaqueTokenHash, opaqueTokenKind } from '../../tokens/opaque-token.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { NotedUses } from '../../repositories/uses/noted-uses.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';

// any length and any characters: a malformed token is inactive, not an error
const shape = z.object({ token: z.string(), token_type_hint: text(255).optional() });

/** A live token of any kind. */
interface Known {
  kind: 'access_token' | 'authorization_code' | 'id_token';
  clientId: string;
  audience: string[];
  scope: string;
  issuedAt: Date;
  expiresAt: Date;
  user: Subject | undefined;
  /** The subject by which the client of the token knows the user. */
  subject: string | undefined;
  sid: string | undefined;
  authTime: Date | undefined;
  amr: string[] | undefined;
  nonce: string | undefined;
  /** The key whose holder may use it. */
  binding: Binding;
  requested?: RequestedClaims | undefined;
  /** The client that acts for the user. */
  act?: ActingParty | undefined;
  /** The authorization details that its resource may know: a token has those of one resource (RFC 9396 9.2). */
  details?: readonly Detail[] | undefined;
  /** Whether its client has rules for claims; undefined if that is not known. */
  hasClaimRules?: boolean;
  /** Whether its own client could have made it, such as an ID Token signed by HS256: then it proves nothing to other clients. */
  byClient?: boolean;
}

/** The claims of a user: those that scopes release, and those that the rules of the client made. */
interface IntrospectedClaims {
  released: Record<string, unknown>;
  made?: Record<string, unknown>;
}

const malformed = new OAuthError('invalid_token', 'the token is malformed: this service did not issue it');
// the answer is the same for every cause (security R77)
const inactive = { active: false };

/** The media type of a signed response (RFC 9701 5). */
const jwtType = 'application/token-introspection+jwt';

interface IntrospectionDependencies {
  config: Config;
  clients: ClientCache;
  store: Pick<Store, 'clientRoles' | 'accessTokens' | 'clientSessionHandles' | 'clientSessions' | 'pairwiseSubjects'>;
  tokens: TokenService;
  authenticateClient: AuthenticateClient;
  uses: NotedUses;
}

export async function introspectionEndpoint(app: FastifyInstance, options: IntrospectionDependencies): Promise<void> {
  const { config, store, clients, tokens, authenticateClient, uses } = options;
  // a client must not try tokens without limit (security R80)
  const countCall = createInstanceLimit(config.limits.introspections);
  await onlyForms(app);
  app.setErrorHandler(jsonErrors);

  app.post('/introspect', async (request, reply) => {
    // the caller authenticates before its token is read (security R75)
    const caller = await authenticateClient(request, { disabledStatus: 403 });
    const wait = countCall(caller.clientId);
    if (wait > 0) throw tooOften(wait);
    const { token, token_type_hint: hint } = readParameters(shape, request.body);
    const isLenient = config.introspectionMalformed === 'inactive';
    // a hint only speeds up a search (RFC 7662 2.1), and the token itself says its kind
    if (hint !== undefined && hint !== 'access_token' && hint !== 'pct' && !isLenient) {
      throw new OAuthError('unsupported_token_type', 'token_type_hint must be access_token or pct');
    }
    const found = await find(token);
    if (found === 'malformed' && !isLenient) return jsonRefusal(malformed, request, reply);
    noStore(reply);
    const isShown = found !== undefined && found !== 'malformed' && mayKnow(caller, found);
    if (isShown && found.kind === 'access_token') noteUses(found);
    const response = isShown
      ? describe(found, await subjectFor(caller, found), await claimsFor(caller, found))
      : inactive;
    if (!wantsJwt(caller, request.headers.accept)) return response;
    return reply.type(jwtType).send(await tokens.introspection(caller, response));
  });

  /** Finds a live token; `malformed`, without a query, for a text that the service cannot have issued. */
  async function find(token: string): Promise<Known | 'malformed' | undefined> {
    const kind = opaqueTokenKind(token);
    switch (kind) {
      case undefined:
        if (!tokens.isOwnJwt(token)) return 'malformed';
        return isAccessToken(token) ? findAccessToken(await tokens.accessTokenHash(token)) : findIdToken(token);
      case 'access_token':
        return findAccessToken(opaqueTokenHash(kind, token));
      case 'authorization_code': {
        const found = await store.clientSessionHandles.findCode(opaqueTokenHash(kind, token)!);
        return found && { kind: 'authorization_code', ...found };
      }
      case 'client_session_handle': {
        const found = await store.clientSessionHandles.findHandle(opaqueTokenHash(kind, token)!);
        return found && { kind: 'authorization_code', ...found };
      }
      default:
        return undefined;
    }
  }

  /** The audience of a token for a resource has its URI, and the client of its server. */
  function noteUses({ audience, clientId }: Known): void {
    for (const name of audience) if (name !== clientId && name.includes(':')) uses.note('resources', name);
  }

  async function findAccessToken(hash: Buffer | undefined): Promise<Known | undefined> {
    const found = hash && (await store.accessTokens.find(hash));
    return found && { kind: 'access_token', ...found };
  }

  /** An ID Token is active until it expires, as long as its client session lives. */
  async function findIdToken(token: string): Promise<Known | undefined> {
    const content = await tokens.verifyIdToken(token);
    if (content?.clientSessionId === undefined) return undefined;
    const { clientSessionId: id, sid, clientId, sub: subject } = content;
    const session = await store.clientSessions.findNamed({ id, sid, clientId, subject });
    if (!session) return undefined;
    return {
      kind: 'id_token',
      clientId: content.clientId,
      audience: [content.clientId],
      scope: session.scope,
      issuedAt: content.issuedAt,
      expiresAt: content.expiresAt,
      user: session.user,
      subject: content.sub,
      sid: content.sid,
      // the client may have signed this ID Token itself: only the stored time is trusted (security R122)
      authTime: content.vouched?.authTime ?? session.authTime,
      amr: session.amr,
      nonce: content.vouched?.nonce,
      binding: 'none',
      byClient: content.vouched === undefined,
    };
  }

  /** A client knows a user by its own subject only; a resource server gets the subject that its own tokens would have. */
  async function subjectFor(caller: Client, { clientId, user, subject }: Known): Promise<string> {
    if (!user || subject === undefined) return clientId;
    if (caller.clientId === clientId) return subject;
    return (await store.pairwiseSubjects.obtain(caller.metadata, user.sub)) ?? user.sub;
  }

  /** The claims of the user. Most clients have neither rules nor scopes of an operator: for them nothing more is read. */
  function claimsFor(caller: Client, token: Known): IntrospectedClaims | Promise<IntrospectedClaims> {
    const { user, scope, hasClaimRules = true } = token;
    if (!user) return { released: {} };
    const scopes = splitScope(scope);
    if (hasClaimRules || user.roles || !scopes.every(isServiceScope)) return settledClaims(caller, token, user, scopes);
    return { released: releasedClaims(user, scopes) };
  }

  /** The claims by the settings of the client, which is cached. */
  async function settledClaims(caller: Client, { clientId, kind }: Known, user: Subject, scopes: readonly string[]) {
    const client = (await clients.find(clientId)) ?? plainClient;
    // the row of an access token has the roles already
    const roles =
      kind !== 'access_token' && needsRoles(client, scopes)
        ? await store.clientRoles.ofUser(user, clientId)
        : user.roles;
    return introspectionClaims(client, { user: { ...user, roles }, scopes }, caller.clientId === clientId);
  }

  function describe(token: Known, sub: string, { released, made }: IntrospectedClaims): Record<string, unknown> {
    const { user } = token;
    const authentication = token.authTime && {
      ...authTimeClaim(token.authTime),
      acr: token.requested?.acr ?? acrOf(token.amr ?? []),
    };
    return {
      ...made,
      active: true,
      client_id: token.clientId,
      // the user name is the same for all clients: a client with pairwise subjects gets it only with a scope that releases it
      username: user && (sub === user.sub || released['preferred_username'] !== undefined) ? user.username : undefined,
      scope: token.scope === '' ? undefined : token.scope,
      sub,
      aud: token.audience,
      iss: config.issuer,
      exp: Math.floor(token.expiresAt.getTime() / 1000),
      iat: Math.floor(token.issuedAt.getTime() / 1000),
      token_type: token.binding === 'none' ? 'Bearer' : tokenTypeOf(token.binding),
      // RFC 9449 6.2, RFC 8705 3.2
      cnf: confirmationOf(token.binding),
      // RFC 8693 4.1
      act: token.act,
      // RFC 9396 9.2
      authorization_details: token.details,
      // RFC 9470 6.2
      ...authentication,
      extension_field: token.kind,
      extended_claims: {
        ...released,
        ...(authentication && { ...authentication, amr: token.amr, sid: token.sid, nonce: token.nonce }),
      },
    };
  }
}

/** A caller gets a JWT if it registered an algorithm for that or asks for the media type (RFC 9701 4, 6). */
function wantsJwt({ metadata }: Client, accept = ''): boolean {
  if (metadata.introspection_signed_response_alg !== undefined) return true;
  return accept.split(',').some((type) => type.split(';')[0]!.trim().toLowerCase() === jwtType);
}

/** @param wait in seconds */
function tooOften(wait: number): OAuthError {
  const headers = { 'retry-after': String(wait) };
  return new OAuthError('temporarily_unavailable', `too many introspections: wait ${wait} seconds`, 429, { headers });
}

/** A client may introspect its own tokens, those meant for it, and any token if an administrator allowed that (decisions section 4, security R76). */
function mayKnow(caller: Client, token: Known): boolean {
  if (token.clientId === caller.clientId) return true;
  // a token that its client could have made is active for that client only (security R122)
  if (token.byClient) return false;
  return caller.introspect === 'any' || token.audience.includes(caller.clientId);
}
