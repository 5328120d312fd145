// Serves POST /device_authorization, where a device gets its codes (RFC 8628 sections 3.1 and 3.2).
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { admitsUsers } from '../../rules/clients/redirect-addresses.ts';
import { invalidScope, OAuthError, proofReused, unauthorizedClient } from '../../oauth/errors.ts';
import { deviceGrant, grantTypeOf, isOffered } from '../../oauth/registrable-values.ts';
import { isScope, splitScope } from '../../oauth/scope.ts';
import { text } from '../../oauth/text.ts';
import type { Store } from '../../repositories/store.ts';
import { permittedScope } from '../../sender-constraint/audience.ts';
import { findDetails, findTargetsOf } from '../../sender-constraint/authorization-details.ts';
import type { Dpop } from '../../sender-constraint/dpop.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { noStore, oauthErrors } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import { onlyWhere } from '../../server/switched-off.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { readParameters } from '../../server/parameters.ts';
import { deferAuthorization } from '../../tokens/deferred-authorization.ts';

const parameters = z.object({
  scope: text(1024).optional(),
  resource: text(2000).optional(),
  authorization_details: text(20_000).optional(),
});

/** Undecided requests of one client, and of one network for public clients, whose name anyone can send. */
const limits = { perClient: 1000, perNetwork: 100 };
/** Seconds after which a device may try again. */
const retryAfter = 60;

interface DeviceAuthorizationDependencies {
  config: Config;
  store: Store;
  secretBox: SecretBox;
  authenticateClient: AuthenticateClient;
  dpop: Dpop;
  audit: AuditTrail;
}

export async function deviceAuthorizationEndpoint(
  app: FastifyInstance,
  { config, store, secretBox, authenticateClient, dpop, audit }: DeviceAuthorizationDependencies,
): Promise<void> {
  await onlyForms(app);
  app.setErrorHandler(oauthErrors(config.issuer));
  onlyWhere(
    app,
    isOffered(config, grantTypeOf(deviceGrant)),
    'this service does not offer the device authorization grant',
  );

  app.post('/device_authorization', async (request, reply) => {
    const client = await authenticateClient(request, { allowPublic: true });
    if (!client.metadata.grant_types.includes(deviceGrant))
      throw unauthorizedClient(`the client is not registered for the grant type ${deviceGrant}`);
    if (!admitsUsers(client))
      throw unauthorizedClient('the document of this client is gone: an administrator must approve it again');
    const { clientId } = client;
    const proof = await dpop.read(request, { asksNonce: client.metadata.dpop_nonce ?? false });
    const { scope: requested, resource, authorization_details: named } = readParameters(parameters, request.body);
    if (requested !== undefined && !isScope(requested)) throw invalidScope('scope must be a list of scope values');
    // the registered scopes by default (RFC 6749 section 3.3)
    const asked = splitScope(requested ?? client.metadata.scope);
    const details = named === undefined ? [] : await findDetails(store, client, named);
    const targets = await findTargetsOf(store, config.issuer, { client, resource, scope: asked }, details);
    const scope = permittedScope(client, targets, asked, requested !== undefined);
    if (scope.length === 0 && details.length === 0) throw invalidScope('the client may request none of these scopes');
    const address = clientAddress(request);
    const page = { code: 'device_code', shown: 'user_code', page: `${config.issuer}/device` } as const;
    const kind = { ...page, lifetime: config.lifetimes.deviceCode };
    const { outcome, body } = await deferAuthorization(secretBox, kind, (codes) =>
      store.transaction(async (repositories) => {
        const stored = await repositories.deviceAuthorizations.insert({
          ...codes,
          clientId,
          scope,
          resources: resource === undefined ? undefined : splitScope(resource),
          details: named === undefined ? undefined : details.map(({ detail }) => detail),
          // only the device that asked can redeem its code (draft-parecki-oauth-dpop-device-flow)
          binding: proof ? proof.binding : 'none',
          proof,
          address,
          network: client.rules.isPublic ? networkOf(address) : undefined,
          ...limits,
        });
        if (stored === 'stored') {
          const event = { type: 'device.requested', outcome: 'success', actor: clientId, clientId } as const;
          await audit(request, { ...event, detail: { scope } }, repositories);
        }
        return stored;
      }),
    );
    if (outcome === 'full') throw full();
    if (outcome === 'replayed') {
      // a stranger can send the requests of a public client, and must not fill the audit trail (security R151)
      if (!client.rules.isPublic)
        await audit(request, { type: 'dpop.replayed', outcome: 'failure', actor: clientId, clientId });
      throw proofReused();
    }
    dpop.renewNonce(proof, reply);
    noStore(reply);
    return body;
  });
}

function full(): OAuthError {
  const description = `too many devices wait for a decision: try again in ${retryAfter} seconds`;
  return new OAuthError('temporarily_unavailable', description, 429, {
    headers: { 'retry-after': String(retryAfter) },
  });
}
