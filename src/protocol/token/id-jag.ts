// Signs an ID-JAG about the user of a token for a connected server (draft-ietf-oauth-identity-assertion-authz-grant).
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config.ts';
import type { ConnectedClient, ConnectedServer } from '../../entities/connected-servers.ts';
import { acrOf, authTimeClaim } from '../../oauth/acr.ts';
import { invalidRequest, invalidScope, invalidTarget, OAuthError, unauthorizedClient } from '../../oauth/errors.ts';
import { splitScope } from '../../oauth/scope.ts';
import { idJagLifetime, tokenTypes } from '../../oauth/token-exchange.ts';
import type { Store } from '../../repositories/store.ts';
import type { JagFailure, JagSubject } from '../../repositories/tokens/id-jags.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import { bindingRefusals, type GrantContext, type Minted, type Refusal } from './grant-type.ts';

export interface IdJagDependencies {
  config: Pick<Config, 'issuer' | 'idJag'>;
  store: Pick<Store, 'connectedServers' | 'idJags' | 'pairwiseSubjects'>;
  tokens: Pick<TokenService, 'signIdJag' | 'verifyIdToken'>;
}

interface IdJagRequest {
  subject_token: string;
  subject_token_type: string;
  audience?: string | undefined;
  scope?: string | undefined;
}

const unknown = () => invalidRequest('subject_token is not a valid ID Token or refresh token of this client');
const failures: Record<Exclude<JagFailure, 'proof'> | 'unknown', () => OAuthError> = {
  unknown,
  ended: () => invalidRequest('the authorization of subject_token is no longer valid'),
  key: () => invalidRequest('subject_token is bound to a key: prove that the client holds it'),
  server: () => invalidTarget('the service signs no ID-JAGs for this audience'),
};

/** The token of the caller itself: here alone a refresh token is one. It stays as it is. */
async function subjectOf(
  { tokens }: Pick<IdJagDependencies, 'tokens'>,
  clientId: string,
  { subject_token: token, subject_token_type: type }: IdJagRequest,
): Promise<JagSubject | undefined> {
  if (type === tokenTypes.refreshToken) {
    const refreshTokenHash = opaqueTokenHash('refresh_token', token);
    return refreshTokenHash && { refreshTokenHash };
  }
  const content = type === tokenTypes.idToken ? await tokens.verifyIdToken(token) : undefined;
  // one that the client could have signed itself proves nothing about the user (security R122)
  if (!content?.vouched || content.clientId !== clientId || content.clientSessionId === undefined) return undefined;
  return { id: content.clientSessionId, sid: content.sid, subject: content.sub };
}

/** What the server allows the client, for this request. */
function allowedBy(
  { clients, resources }: ConnectedServer,
  { client: { clientId }, resource }: GrantContext,
  scope: string | undefined,
): { entry: ConnectedClient; scope: string[] } | OAuthError {
  const entry = clients.find(({ client }) => client === clientId);
  if (!entry) return unauthorizedClient('no connected server lets this client have ID-JAGs for this audience');
  if (resource !== undefined && !resources.includes(resource))
    return invalidTarget('the connected server has no such resource');
  const asked = scope === undefined ? entry.scopes : splitScope(scope);
  if (asked.length === 0 || asked.some((value) => !entry.scopes.includes(value)))
    return invalidScope('scope exceeds what the connected server lets this client have');
  return { entry, scope: asked };
}

export async function grantIdJag(
  dependencies: IdJagDependencies,
  request: IdJagRequest,
  context: GrantContext,
): Promise<Minted | Refusal> {
  const { config, store, tokens } = dependencies;
  const { client, resource, proof, held: binding } = context;
  const { clientId } = client;
  const { audience } = request;
  const server =
    audience === undefined || audience.includes('\0') ? undefined : await store.connectedServers.byIssuer(audience);
  if (!server) return { refusal: failures.server() };
  const allowed = allowedBy(server, context, request.scope);
  if (allowed instanceof OAuthError) return { refusal: allowed };
  const subject = await subjectOf(dependencies, clientId, request);
  if (!subject) return { refusal: unknown() };
  const result = await store.idJags.allow({ subject, clientId, address: context.address(), server, binding, proof });
  if ('failure' in result)
    return { refusal: result.failure === 'proof' ? bindingRefusals.proof() : failures[result.failure]() };
  const { authorization, issuedAt } = result;
  const { user, amr, authTime, requested } = authorization;
  const { entry, scope } = allowed;
  if (entry.groups.length > 0 && !entry.groups.some((group) => user.groups.includes(group)))
    return { refusal: new OAuthError('access_denied', 'the user may not use this server') };
  // a sector of its own: no other server learns the subject
  const sector = { subject_type: 'pairwise' as const, sector_identifier_uri: server.issuer, redirect_uris: [] };
  const sub =
    server.subject === 'public' ? user.sub : ((await store.pairwiseSubjects.obtain(sector, user.sub)) ?? user.sub);
  const iat = Math.floor(issuedAt.getTime() / 1000);
  const access_token = await tokens.signIdJag({
    iss: config.issuer,
    sub,
    aud: server.issuer,
    client_id: entry.id,
    jti: randomUUID(),
    iat,
    exp: iat + idJagLifetime,
    scope: scope.join(' '),
    resource,
    ...authTimeClaim(authTime),
    acr: requested?.acr ?? acrOf(amr),
    amr,
  });
  const detail = { connected_server: server.name, scope: scope.join(' '), ...(resource !== undefined && { resource }) };
  return {
    minted: {
      access_token,
      issued_token_type: tokenTypes.idJag,
      token_type: 'N_A',
      expires_in: idJagLifetime,
      scope: scope.join(' '),
    },
    sub: user.sub,
    event: { type: 'id_jag.issued', clientId, sub: user.sub, detail },
  };
}
