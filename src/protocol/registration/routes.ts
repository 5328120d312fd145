// POST /register and GET|PUT|DELETE /register/{clientId}: dynamic registration (RFC 7591, RFC 7592), repeats included.
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest, equalDigests, equalSecrets, randomId } from '../../crypto/secrets.ts';
import { bearerToken } from '../../sender-constraint/protected-resource.ts';
import { bearerErrors, noStore } from '../../server/errors.ts';
import { onlyJson } from '../../server/form-body.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import { createRegistrationProof, idempotencyKey, lockHeld, type Proof } from './registration-proof.ts';
import { type ClientMetadata, parseClientMetadata } from '../../oauth/client-metadata.ts';
import {
  conflict,
  invalidClientMetadata,
  invalidRequest,
  invalidToken,
  OAuthError,
  ResourceHeld,
} from '../../oauth/errors.ts';
import { standardScopes } from '../../oauth/scope.ts';
import { needsSectorCheck } from '../../oauth/subject-type.ts';
import { clientEvent } from '../../repositories/audit/audit-diff.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Repositories } from '../../repositories/store.ts';
import { newCredentials } from '../../tokens/client-credentials.ts';
import { renewalOf, updateOf } from './change.ts';
import { acceptsApproval, createDeferredRegistration, readPoll, type Recorder, tooManyPolls } from './deferred.ts';
import {
  refuseForeignMembers,
  registrationResponse,
  withoutAdministratorScopes,
  withoutGivenScopes,
} from './registration.ts';
import type { Config } from '../../config.ts';
import type { Store } from '../../repositories/store.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { CheckSector } from '../../domain/sector-check.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';
import type { RegistrationProofDependencies } from './registration-proof.ts';

const document = z.record(z.string(), z.unknown());
const idempotencyLifetime = 86_400; // seconds
/** Registrations below the cap from which on they are stored one after another: more than are ever under way at once. */
const nearTheCap = 500;

/** What a POST is answered with. */
interface Answer {
  status: 200 | 201 | 202 | 204;
  answer?: Record<string, unknown>;
}

type RegistrationDependencies = RegistrationProofDependencies & {
  config: Config;
  store: Store;
  clients: ClientCache;
  tokens: TokenService;
  secretBox: SecretBox;
  checkSector: CheckSector;
  audit: AuditTrail;
  limits: Limits;
};

export async function registrationEndpoint(app: FastifyInstance, options: RegistrationDependencies): Promise<void> {
  const { config, store, clients, secretBox, tokens, audit, limits, checkSector } = options;
  const { prove, authorize } = createRegistrationProof(options);
  const deferred = createDeferredRegistration(options);
  const parse = (body: Record<string, unknown>, current?: Client): ClientMetadata => {
    // what an administrator gave is sent back with the rest (RFC 7592 2.2)
    const unsigned = config.requestObjectUnsigned || current?.metadata.request_object_signing_alg === 'none';
    return parseClientMetadata(body, { unsigned }, config);
  };
  onlyJson(app);
  app.setErrorHandler(bearerErrors);
  // OpenID Connect clients name no scope as they register: one that needs no approval gets all standard ones (decisions section 2)
  const withScope = (body: Record<string, unknown>, approvedBy: Client['approvedBy']): Record<string, unknown> =>
    config.automaticApproval || approvedBy === 'automatic' || approvedBy === 'initial_access_token'
      ? { scope: standardScopes.join(' '), ...body }
      : body;

  app.post('/register', async (request, reply) => {
    const body = read(request);
    const poll = readPoll(body);
    const { status, answer } = poll ? await resume(request, poll) : await register(request, body);
    noStore(reply).code(status);
    return answer ?? reply.send();
  });

  app.get('/register/:clientId', async (request, reply) => {
    const client = await authorize(request);
    noStore(reply);
    return registrationResponse(config, client, { registrationAccessToken: bearerToken(request) });
  });

  app.put('/register/:clientId', async (request, reply) => {
    const held = await authorize(request);
    const body = withScope(read(request), held.approvedBy);
    if (body['client_id'] !== held.clientId) throw invalidRequest('client_id must be there and be that of the address');
    const secret = body['client_secret'];
    checkSecret(held, secret);
    refuseForeignMembers(body, await answered(held, body, bearerToken(request)), held);
    const metadata = parse(withoutGivenScopes(held, body), held);
    await checkSectorOf(request, metadata, held.metadata);
    const { client, newSecret } = await changing(async (repositories) => {
      const current = await lockHeld(repositories, held);
      checkSecret(current, secret);
      const change = updateOf(options, current, metadata, {
        secret: typeof secret === 'string' ? secret : undefined,
        keepsWaiting: 'pending_changes' in body,
        claimsHeld: await claimsHeld(repositories, current, metadata),
      });
      const updated = (await repositories.clients.update(current.clientId, change.change))!;
      const event = clientEvent(current, updated);
      if (event) {
        const detail = { ...event.detail, waits_for_approval: updated.pendingMetadata !== undefined };
        await audit(
          request,
          { ...event, type: 'client.updated', outcome: 'success', actor: current.clientId, detail },
          repositories,
        );
      }
      return { client: updated, newSecret: change.newSecret };
    });
    clients.forget(client.clientId);
    noStore(reply);
    return registrationResponse(config, client, {
      clientSecret: newSecret ?? (typeof secret === 'string' ? secret : undefined),
      registrationAccessToken: bearerToken(request),
    });
  });

  app.delete('/register/:clientId', async (request, reply) => {
    const client = await authorize(request);
    await store.transaction(async (repositories) => {
      await lockHeld(repositories, client);
      await repositories.clients.delete(client.clientId);
      await audit(
        request,
        { type: 'client.deleted', outcome: 'success', actor: client.clientId, clientId: client.clientId },
        repositories,
      );
    });
    clients.forget(client.clientId);
    return noStore(reply).code(204).send();
  });

  /** A transaction that changes a client. Which client was given a resource a moment before is told to administrators alone. */
  async function changing<T>(act: (repositories: Repositories) => Promise<T>): Promise<T> {
    try {
      return await store.transaction(act);
    } catch (error) {
      if (!(error instanceof ResourceHeld)) throw error;
      throw conflict('another client was given one of these resource_uris just now: send the request again');
    }
  }

  /** The client as a read answers it, with the secrets of the body where they are the right ones. */
  async function answered(
    client: Client,
    body: Record<string, unknown>,
    registrationAccessToken: string,
  ): Promise<Record<string, unknown>> {
    const sent = body['shared_secret'];
    const isRight = typeof sent === 'string' && equalSecrets(sent, tokens.sharedSecret(client).toString());
    return registrationResponse(config, client, { registrationAccessToken, sharedSecret: isRight ? sent : undefined });
  }

  /** A registration: a new one, or the repeat of one that the request proves. */
  async function register(request: FastifyRequest, body: Record<string, unknown>): Promise<Answer> {
    const approval = acceptsApproval(body);
    const proof = await prove(request, body);
    if (proof && 'client' in proof) {
      if (!proof.client.uncollected) return { status: 200, answer: await repeat(request, proof, body) };
      return { status: 202, answer: await deferred.renew(proof.client.clientId, clientAddress(request)) };
    }
    return create(request, body, proof?.initialAccessToken === true, approval);
  }

  /** A poll for what became of a deferred registration, or its cancellation. Counted before the code is looked at, good or bad. */
  async function resume(request: FastifyRequest, { code, cancel }: { code: string; cancel: boolean }): Promise<Answer> {
    const wait = await limits.consume('registrationPolls', networkOf(clientAddress(request)));
    if (wait > 0) throw tooManyPolls(wait);
    const record: Recorder = (event, repositories) => audit(request, event, repositories);
    if (cancel) {
      await deferred.cancel(code, record);
      return { status: 204 };
    }
    const outcome = await deferred.poll(code, record);
    if (outcome === 'pending') return { status: 202 };
    clients.forget(outcome.client.clientId);
    return { status: 201, answer: registrationResponse(config, outcome.client, outcome.shown) };
  }

  /** A new registration: disabled until an administrator approves it, unless it came with an initial access token (security R42, R49). */
  async function create(
    request: FastifyRequest,
    body: Record<string, unknown>,
    trusted: boolean,
    acceptsDeferral: boolean,
  ): Promise<Answer> {
    const approvedBy = trusted ? 'initial_access_token' : config.automaticApproval ? 'automatic' : undefined;
    const metadata = parse(withoutAdministratorScopes(withScope(body, approvedBy)));
    if (!trusted) await countRegistration(request);
    const cap = approvedBy ? 0 : config.limits.registrationsWaiting;
    const room = async (repositories: Repositories) => {
      const left = cap - (await repositories.clients.countWaiting(cap));
      if (left <= 0) throw busy('too many registrations wait for an administrator: try again later', 503, 3600);
      return left;
    };
    const isNear = cap > 0 && (await room(store)) <= nearTheCap;
    // last, so that nobody makes the service fetch without a limit
    await checkSector(metadata);
    const clientId = randomId();
    const credentials = newCredentials(secretBox, clientId, metadata);
    const key = idempotencyKey(request, body);
    const uncollected = !approvedBy && acceptsDeferral;
    return store.transaction(async (repositories) => {
      if (isNear) {
        // those that are under way at once count each other
        await repositories.clients.lockWaiting();
        await room(repositories);
      }
      const inserted = await repositories.clients.insert({
        clientId,
        metadata,
        status: approvedBy ? 'enabled' : 'disabled',
        approvedBy,
        firstParty: false,
        selfRegistered: true,
        uncollected,
        ...credentials.stored,
        // these are for nobody: an approved registrant gets others
        ...(uncollected && { registrationTokenHash: undefined }),
      });
      if (
        key &&
        !(await repositories.registrationTokens.insertKey(key.keyHash, key.bodyHash, clientId, idempotencyLifetime))
      ) {
        throw conflict('another registration holds this Idempotency-Key: repeat that one, or send a new key');
      }
      await audit(
        request,
        {
          type: 'client.registered',
          outcome: 'success',
          actor: clientId,
          clientId,
          detail: { status: inserted.status, name: metadata.client_name, ...(uncollected && { deferred: true }) },
        },
        repositories,
      );
      return uncollected
        ? { status: 202, answer: await deferred.defer(repositories, clientId, clientAddress(request)) }
        : { status: 201, answer: registrationResponse(config, inserted, credentials.shown) };
    });
  }

  /** A repeat registration: new credentials, the state unchanged, the metadata updated as PUT does. */
  async function repeat(
    request: FastifyRequest,
    { client: known, byKey }: Extract<Proof, { client: Client }>,
    body: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const metadata = parse(withoutAdministratorScopes(withScope(body, known.approvedBy)), known);
    await checkSectorOf(request, metadata, known.metadata);
    const { client, shown } = await changing(async (repositories) => {
      const current = await repositories.clients.lock(known.clientId);
      if (!current) throw invalidToken('the registration is gone');
      // what proved the repeat may have been renewed since then (security R44)
      if (!byKey && !hasCredentialsOf(current, known))
        throw invalidToken('the credentials of this client were renewed meanwhile');
      // enabled since the key was looked up (security R120)
      if (byKey && current.everEnabled)
        throw conflict('the registration was approved meanwhile: this Idempotency-Key repeats it no more');
      const renewal = renewalOf(options, current, metadata, await claimsHeld(repositories, current, metadata));
      const updated = (await repositories.clients.update(current.clientId, renewal.change))!;
      await audit(
        request,
        {
          ...clientEvent(current, updated),
          type: 'client.credentials_renewed',
          outcome: 'success',
          actor: current.clientId,
          clientId: current.clientId,
        },
        repositories,
      );
      // administrators hear of a change that waits, however it came
      if (updated.pendingMetadata && !isDeepStrictEqual(updated.pendingMetadata, current.pendingMetadata))
        await audit(
          request,
          {
            ...{ type: 'client.updated', outcome: 'success', actor: current.clientId, clientId: current.clientId },
            detail: { version: updated.version, members: ['pending_changes'], waits_for_approval: true },
          },
          repositories,
        );
      return { client: updated, shown: renewal.shown };
    });
    clients.forget(client.clientId);
    return registrationResponse(config, client, shown);
  }

  /** Counts against the limit of the network. @throws OAuthError temporarily_unavailable */
  async function countRegistration(request: FastifyRequest): Promise<void> {
    const wait = await limits.consume('registrationPerNetwork', networkOf(clientAddress(request)));
    if (wait > 0) throw busy(`too many registrations from this network: wait ${wait} seconds`, 429, wait);
  }

  /** The sector of an update, where it changed; the fetch counts as a registration does. */
  async function checkSectorOf(
    request: FastifyRequest,
    metadata: ClientMetadata,
    current: ClientMetadata,
  ): Promise<void> {
    if (!needsSectorCheck(metadata, current)) return;
    await countRegistration(request);
    await checkSector(metadata);
  }
}

/** Past a limit. @param wait in seconds */
function busy(description: string, status: 429 | 503, wait: number): OAuthError {
  return new OAuthError('temporarily_unavailable', description, status, { headers: { 'retry-after': String(wait) } });
}

function read(request: FastifyRequest): Record<string, unknown> {
  const parsed = document.safeParse(request.body);
  if (!parsed.success || Array.isArray(request.body))
    throw invalidClientMetadata('send the client metadata as a JSON object');
  return parsed.data;
}

/** Whether a client still has the secret and the registration access token that it had. */
function hasCredentialsOf(current: Client, known: Client): boolean {
  const same = (a: Buffer | undefined, b: Buffer | undefined) => (a && b ? equalDigests(a, b) : a === b);
  return same(current.registrationTokenHash, known.registrationTokenHash) && same(current.secretHash, known.secretHash);
}

/** Whether an update of an enabled client adds a resource that another client holds. */
async function claimsHeld(
  { clientJudgement }: Repositories,
  { clientId, status, metadata }: Client,
  next: ClientMetadata,
): Promise<boolean> {
  const added = next.resource_uris?.filter((uri) => !metadata.resource_uris?.includes(uri)) ?? [];
  if (status !== 'enabled' || added.length === 0) return false;
  return (await clientJudgement.heldResources(added.map((uri) => ({ clientId, uri })))).size > 0;
}

/** The secret that an update may hold. @throws OAuthError invalid_request when it is not the client's */
function checkSecret({ secretHash }: Client, secret: unknown): void {
  if (secret === undefined) return;
  if (typeof secret !== 'string' || !secretHash || !equalDigests(digest('client_secret', secret), secretHash))
    throw invalidRequest('client_secret differs from the current one');
}
