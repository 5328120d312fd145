// Serves POST /token, in the phases that every grant type shares (RFC 6749 section 3.2).
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AuthenticateClient } from '../../client-authentication/client-authentication.ts';
import type { Config } from '../../config.ts';
import type { Detail } from '../../oauth/authorization-details.ts';
import { mayUse } from '../../rules/access/access.ts';
import { detailsFor, readDetails } from '../../rules/details/details.ts';
import { type Binding, isBoundFor } from '../../oauth/binding.ts';
import {
  clientDisabled,
  invalidAuthorizationDetails,
  invalidScope,
  OAuthError,
  proofMissing,
  proofReused,
  unauthorizedClient,
  unsupportedGrantType,
} from '../../oauth/errors.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Store } from '../../repositories/store.ts';
import type { NotedUses } from '../../repositories/uses/noted-uses.ts';
import { type AskedDetail, checkedDetails, findTargetsOf } from '../../sender-constraint/authorization-details.ts';
import { formatOf, oneResource, scopeFor, subjectAt } from '../../sender-constraint/audience.ts';
import { type Keys, keysOf } from '../../sender-constraint/certificate.ts';
import type { Dpop } from '../../sender-constraint/dpop.ts';
import type { ClientCertificates } from '../../server/client-certificate.ts';
import type { AuditTrail } from '../../server/audit.ts';
import { noStore, oauthErrors } from '../../server/errors.ts';
import { onlyForms } from '../../server/form-body.ts';
import type { Metrics } from '../../server/metrics.ts';
import { clientAddress } from '../../server/network.ts';
import { isNamed, readParameters } from '../../server/parameters.ts';
import { grantTypeOf, namesOf } from '../../oauth/registrable-values.ts';
import { isServiceScopeOf } from '../../oauth/scope.ts';
import { repeated, text } from '../../oauth/text.ts';
import { type TokenResponse, withLifetimeOf } from '../../tokens/token-issuer.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import {
  beyondClient,
  beyondDetails,
  type ClientToken,
  type GrantContext,
  type GrantType,
  type UserTokens,
} from './grant-type.ts';

const grantTypeParameter = z.object({ grant_type: text(255) });
const resourceParameter = z.object({ resource: text(2000) });
const detailsParameter = z.object({ authorization_details: text(20_000) });

/** @throws OAuthError invalid_authorization_details */
function namedDetails({ takesDetails }: GrantType, body: unknown): Detail[] {
  if (!takesDetails)
    throw invalidAuthorizationDetails('this grant_type takes no authorization_details: leave them out');
  return readDetails(readParameters(detailsParameter, body).authorization_details);
}

/** Whose groups the grant's database call asks about. */
const anyUser = { groups: [] };

const isInNetwork = (client: Client, request: FastifyRequest): boolean =>
  client.networks.length === 0 ||
  mayUse(anyUser, { ...client, access: 'everyone' }, { from: { address: clientAddress(request) } }) !== 'network';

interface TokenDependencies {
  grantTypes: readonly GrantType[];
  authenticateClient: AuthenticateClient;
  dpop: Dpop;
  /** Undefined where the service takes no certificates. */
  certificates: ClientCertificates | undefined;
  config: Pick<Config, 'issuer'>;
  store: Pick<
    Store,
    'accessTokens' | 'authorizationDetailsTypes' | 'clients' | 'pairwiseSubjects' | 'resources' | 'users'
  >;
  tokens: TokenService;
  audit: AuditTrail;
  metrics: Metrics;
  uses: NotedUses;
}

/** Of a request without a proof or a certificate, by a client that needs neither. */
const noKeys: Keys = { binding: 'none', held: 'none' };

export async function tokenEndpoint(
  app: FastifyInstance,
  {
    authenticateClient,
    dpop,
    certificates,
    config,
    store,
    tokens,
    audit,
    metrics,
    uses,
    ...options
  }: TokenDependencies,
): Promise<void> {
  const grantTypes = new Map(options.grantTypes.map((grantType) => [grantType.name, grantType]));
  const forPublic = new Set(namesOf(options.grantTypes.filter(({ name }) => grantTypeOf(name).allowsPublic)));
  await onlyForms(app);
  app.setErrorHandler(oauthErrors(config.issuer));

  app.post('/token', async (request, reply) => {
    const { grant_type: name } = readParameters(grantTypeParameter, request.body);
    const grantType = grantTypes.get(name);
    // authenticate the client
    const client = await authenticateClient(request, { allowPublic: !grantType || forPublic.has(name) });
    // establish the binding; a missing nonce is asked for before the grant is touched
    const proof =
      request.headers['dpop'] !== undefined
        ? await dpop.read(request, { asksNonce: client.metadata.dpop_nonce ?? false })
        : undefined;
    const presented = certificates?.of(request);
    const needsKeys = proof !== undefined || presented !== undefined || client.rules.neededBinding !== 'none';
    const { binding, held } = needsKeys ? keysOf(client, proof, presented) : noKeys;
    // find the grant
    if (!grantType) throw unsupportedGrantType(`this grant_type is not supported${repeated(name)}`);
    if (!client.metadata.grant_types.some((registered) => registered === name)) {
      throw unauthorizedClient(`the client is not registered for this grant_type${repeated(name)}`);
    }
    const parameters = readParameters(grantType.parameters, request.body);
    const { resource } = isNamed(request.body, 'resource')
      ? readParameters(resourceParameter, request.body)
      : { resource: undefined };
    const details = isNamed(request.body, 'authorization_details') ? namedDetails(grantType, request.body) : undefined;
    // the refresh token and the device code stay as they are: the client may come again from its network
    if (grantType.asksNetwork && !isInNetwork(client, request))
      throw new OAuthError('access_denied', 'the client may not act from this network');
    // let it authorize
    const contextFor = (key: Binding): GrantContext => ({
      client,
      // a function: for its own tokens no client is asked where it acts
      address: () => clientAddress(request),
      resource: resource === undefined ? undefined : oneResource(resource),
      details,
      held,
      proof,
      prepare: (kinds) => tokens.prepare(client, key, ['access_token', ...kinds]),
    });
    const first = await grantType.authorize(parameters, contextFor(binding));
    // only the stored grant says which resource it is for, and so whether the certificate must bind its tokens
    const isTriedAgain = 'refusal' in first && first.isUnbound && binding === 'none' && held !== 'none';
    const authorized = isTriedAgain ? await grantType.authorize(parameters, contextFor(held)) : first;
    if ('refusal' in authorized) {
      const { refusal, event } = authorized;
      if (event) await audit(request, { ...event, outcome: 'failure', actor: client.clientId });
      throw refusal;
    }
    if ('minted' in authorized) {
      const { minted, sub, event } = authorized;
      await audit(request, { ...event, outcome: 'success', actor: client.clientId });
      request.log.info({ client_id: client.clientId, sub, grant_type: name }, 'tokens issued');
      metrics.granted(name);
      if (proof) dpop.renewNonce(proof, reply);
      noStore(reply);
      return minted;
    }
    // apply resource and scope policy, issue
    const isOfUser = 'authorization' in authorized;
    if (isOfUser && authorized.event)
      await audit(request, { ...authorized.event, outcome: 'success', actor: client.clientId });
    const response = isOfUser
      ? await userResponse(client, authorized)
      : await clientResponse(request, contextFor(binding), { ...authorized, binding, held });
    // answer
    const sub = isOfUser ? authorized.authorization.user.sub : undefined;
    request.log.info({ client_id: client.clientId, sub, grant_type: name }, 'tokens issued');
    metrics.granted(name);
    if (proof) dpop.renewNonce(proof, reply);
    noStore(reply);
    return authorized.members ? { ...authorized.members, ...response } : response;
  });

  /** The tokens of a user: the grant's database call has applied the policy, and stored them. */
  const userResponse = async (
    client: Client,
    { tokens: prepared, authorization, issuedAt, nonce, refreshToken, jwt }: UserTokens,
  ): Promise<TokenResponse> => {
    // other tokens are known to their resource once it introspects them
    if (jwt) uses.note('resources', jwt.audience);
    return tokens.respond(client, prepared, {
      jwt: jwt && { ...jwt, sub: await subjectAt(jwt, store, authorization.user.sub) },
      scope: authorization.scope,
      details: authorization.details,
      authorization: { ...authorization, issuedAt, nonce },
      refreshToken,
      direct: true,
    });
  };

  /** A token of the client itself, for the resource that the request named. */
  async function clientResponse(
    request: FastifyRequest,
    { client, resource, details: named, proof }: GrantContext,
    { scope, isScopeNamed, binding, held }: ClientToken & Keys,
  ): Promise<TokenResponse> {
    const asked = named ? await detailsOfClient(client, named) : [];
    const targets = await findTargetsOf(store, config.issuer, { client, resource, scope }, asked);
    const [target, ...others] = targets;
    if (others.length > 0) oneResource(targets.map(({ audience: [uri] }) => uri).join(' '));
    const isOfService = isServiceScopeOf(client);
    const permitted = scope.filter((value) => isOfService(value) || target?.scope.includes(value));
    if (isScopeNamed && permitted.length < scope.length) throw invalidScope(beyondClient);
    const granted = scopeFor(targets, permitted, isScopeNamed).join(' ');
    const demanded = target?.api?.binding ?? 'none';
    const key = isBoundFor(demanded, binding) ? binding : held;
    if (!isBoundFor(demanded, key)) throw proofMissing('resource');
    const format = formatOf(target, client);
    const prepared = withLifetimeOf(format, await tokens.prepare(client, key, ['access_token']));
    // a resource must not take a client for a user: no JWT where a user has the id of the client as subject (RFC 9068 5)
    const isUser = format.jwt && (await store.users.find(client.clientId));
    const ofResource = detailsFor(asked, target?.audience[0] ?? undefined);
    if (ofResource.length < asked.length) throw beyondDetails();
    const details = asked.length > 0 ? ofResource.map((detail) => ({ ...detail, id: randomUUID() })) : undefined;
    const stored = await store.accessTokens.insertForClient({
      tokenHash: prepared.accessToken.hash,
      clientId: client.clientId,
      scope: granted,
      lifetime: prepared.lifetimes.accessToken,
      audience: target?.audience,
      details,
      binding: prepared.bindings.binding,
      proof,
    });
    if (stored === 'disabled') throw clientDisabled();
    if (stored === 'replayed') {
      const { clientId } = client;
      await audit(request, { type: 'dpop.replayed', outcome: 'failure', actor: clientId, clientId });
      throw proofReused();
    }
    if (target?.api) uses.note('resources', target.api.resource);
    const jwt = format.jwt && !isUser ? { ...format.jwt, sub: client.clientId } : undefined;
    return tokens.respond(client, prepared, {
      jwt,
      scope: granted === '' ? undefined : granted,
      details,
      direct: true,
    });
  }

  /** The details that a client asks for itself: no user reads them, so that the type has to allow it. */
  async function detailsOfClient(client: Client, named: readonly Detail[]): Promise<AskedDetail[]> {
    const asked = await checkedDetails(store, client, named);
    if (!asked.every(({ type }) => type.withoutUser))
      throw invalidAuthorizationDetails('authorization_details have a type that only a user can allow');
    return asked;
  }
}
