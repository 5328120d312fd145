// Serves POST /bc-authorize, where a client asks a user who answers in the account (OpenID Connect CIBA Core 7).
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { digest } from '../../crypto/secrets.ts';
import { invalidRequest, invalidScope, OAuthError, proofReused, unauthorizedClient } from '../../oauth/errors.ts';
import { cibaGrant, grantTypeOf, isOffered } from '../../oauth/registrable-values.ts';
import { splitScope } from '../../oauth/scope.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Store } from '../../repositories/store.ts';
import { admitsUsers } from '../../rules/clients/redirect-addresses.ts';
import { permittedScope } from '../../sender-constraint/audience.ts';
import { findDetails, findTargetsOf } from '../../sender-constraint/authorization-details.ts';
import type { Dpop } from '../../sender-constraint/dpop.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { noStore, oauthErrors } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { BackchannelRequestRefused, readBackchannelRequest } from '../../tokens/backchannel-request.ts';
import type { ClientKeys } from '../../tokens/client-keys.ts';
import { deferRequest } from '../../tokens/deferred-authorization.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import { type Asked, readAsked } from './asked.ts';

/** How many requests of a client may wait for one user, and in all (security R144). */
const waiting = { perHint: 3, perClient: 1000 };
/** Seconds after which a client with too many requests may try again. */
const retryAfter = 60;

interface BackchannelAuthenticationDependencies {
  config: Config;
  store: Store;
  secretBox: SecretBox;
  authenticateClient: AuthenticateClient;
  dpop: Dpop;
  audit: AuditTrail;
  clientKeys: ClientKeys;
  tokens: Pick<TokenService, 'readIdTokenHint' | 'now'>;
}

export async function backchannelAuthenticationEndpoint(
  app: FastifyInstance,
  {
    config,
    store,
    secretBox,
    authenticateClient,
    dpop,
    audit,
    clientKeys,
    tokens,
  }: BackchannelAuthenticationDependencies,
): Promise<void> {
  const { issuer } = config;
  await onlyForms(app);
  app.setErrorHandler(oauthErrors(config.issuer));
  onlyWhere(app, isOffered(config, grantTypeOf(cibaGrant)), 'this service does not offer backchannel authentication');

  app.post('/bc-authorize', async (request, reply) => {
    const client = await authenticateClient(request);
    const { clientId, metadata } = client;
    if (!metadata.grant_types.includes(cibaGrant))
      throw unauthorizedClient(`the client is not registered for the grant type ${cibaGrant}`);
    if (!admitsUsers(client))
      throw unauthorizedClient('the document of this client is gone: an administrator must approve it again');
    const proof = await dpop.read(request, { asksNonce: metadata.dpop_nonce ?? false });
    const asked = await readAsked(request.body, metadata, (sent) => verify(sent, client));
    const { resource, message, acrValues, notificationToken } = asked;
    const details = asked.details === undefined ? [] : await findDetails(store, client, asked.details);
    const targets = await findTargetsOf(store, issuer, { client, resource, scope: asked.scope }, details);
    const scope = permittedScope(client, targets, asked.scope, true);
    if (!scope.includes('openid'))
      throw invalidScope('scope must contain openid, which the client must be registered for');
    const { sub, hint } = await find(client, asked.hint);
    const id = randomUUID();
    const { token, body, ...code } = deferRequest(asked.lifetime ?? config.lifetimes.backchannelRequest);
    const notification =
      notificationToken === undefined
        ? undefined
        : secretBox.seal(
            JSON.stringify({ auth_req_id: token, client_notification_token: notificationToken }),
            associatedDataOf('backchannel_requests.notification_encrypted', id),
          );
    const outcome = await store.transaction(async (repositories) => {
      const { outcome, person } = await repositories.backchannelRequests.insert({
        ...code,
        id,
        clientId,
        hintHash: digest('backchannel hint', hint),
        sub,
        scope,
        resources: resource === undefined ? undefined : splitScope(resource),
        details: details.map(({ detail }) => detail),
        message,
        acrValues,
        binding: proof ? proof.binding : 'none',
        proof,
        notification,
        limits: { ...waiting, perDay: config.limits.backchannelRequests },
      });
      if (outcome === 'stored') {
        const event = { type: 'backchannel.requested', outcome: 'success', actor: clientId, clientId } as const;
        await audit(request, { ...event, sub: person, detail: { scope } }, repositories);
      }
      return outcome;
    });
    if (outcome === 'full') throw full();
    if (outcome === 'unknown') throw new OAuthError('unknown_user_id', 'no user can answer a request with this hint');
    if (outcome === 'replayed') {
      await audit(request, { type: 'dpop.replayed', outcome: 'failure', actor: clientId, clientId });
      throw proofReused();
    }
    dpop.renewNonce(proof, reply);
    noStore(reply);
    return body;
  });

  /** The members of a signed request (CIBA Core 7.1.1). */
  async function verify(sent: string, { clientId, metadata }: Client): Promise<Readonly<Record<string, unknown>>> {
    try {
      return await readBackchannelRequest(
        sent,
        { clientId, metadata },
        {
          issuer,
          clientKeys,
          now: tokens.now(),
          useOnce: (jti, expiresAt) =>
            store.clients.useAssertion(clientId, digest('backchannel request', jti), expiresAt),
        },
      );
    } catch (error) {
      if (error instanceof BackchannelRequestRefused) throw invalidRequest(error.message);
      throw error;
    }
  }

  /** The user of a hint, if there is one, and the text by which its requests are counted. Nobody is looked for as long as a user (security R144). */
  async function find(
    { clientId, metadata }: Client,
    { kind, value }: Asked['hint'],
  ): Promise<{ sub: string | undefined; hint: string }> {
    if (kind === 'login_hint') {
      const hint = value.normalize('NFKC').trim().toLowerCase();
      const [named, identified] = await Promise.all([
        store.users.findByLogin(value),
        store.pairwiseSubjects.findUser(metadata, value),
      ]);
      return { sub: (named ?? identified)?.sub, hint };
    }
    const token = await tokens.readIdTokenHint(value);
    if (token?.clientId !== clientId)
      throw invalidRequest('id_token_hint is not an ID Token of this service for this client');
    const user = await store.pairwiseSubjects.findUser(metadata, token.sub);
    return { sub: user?.sub, hint: token.sub };
  }
}

function full(): OAuthError {
  const description = `too many requests wait for this user or were made today: try again in ${retryAfter} seconds`;
  return new OAuthError('slow_down', description, 429, { headers: { 'retry-after': String(retryAfter) } });
}
