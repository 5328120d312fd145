// Serves POST /register and GET|PUT|DELETE /register/{clientId}: dynamic client registration and its repetition (RFC 7591, RFC 7592).
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { digest, equalDigests, equalSecrets, randomId } from '../../crypto/secrets.ts';
import { bearerToken } from '../../sender-constraint/protected-resource.ts';
import { bearerErrors, noStore } from '../../server/errors.ts';
import { onlyJson } from '../../server/form-body.ts';
import { clientAddress, networkOf } from '../../server/network.ts';
import {
  createRegistrationProof,
  idempotencyKey,
  lockHeld,
  type Proof,
  type RegistrationProofDependencies,
} from './registration-proof.ts';
import { withoutWaiting } from '../../oauth/client-addresses.ts';
import { type ClientMetadata, parseClientMetadata } from '../../oauth/client-metadata.ts';
import { conflict, invalidClientMetadata, invalidRequest, invalidToken, OAuthError } from '../../oauth/errors.ts';
import { registrableApiScopes } from '../../domain/resources/api-scopes.ts';
import { standardScopes } from '../../oauth/scope.ts';
import { needsSectorCheck } from '../../oauth/subject-type.ts';
import { clientEvent } from '../../repositories/audit/audit-diff.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { newCredentials } from '../../tokens/client-credentials.ts';
import { hasNoAddress, renewalOf, requireAddress, updateOf, waitingOf } from './change.ts';
import { refuseOfKept } from './kept.ts';
import { acceptsApproval, createDeferredRegistration, readPoll, type Recorder, tooManyPolls } from './deferred.ts';
import {
  refuseForeignMembers,
  registrationResponse,
  withHidden,
  withoutAdministratorScopes,
  withoutGivenScopes,
} from './registration.ts';
import type { Config } from '../../config.ts';
import type { ClientCache } from '../../repositories/clients/client-cache.ts';
import type { TokenService } from '../../tokens/token-service.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import type { CheckSector } from '../../domain/client-documents/sector-check.ts';
import type { AuditTrail } from '../../server/audit.ts';
import type { Limits } from '../../domain/rate-limits/rate-limits.ts';

const document = z.record(z.string(), z.unknown());
const idempotencyLifetime = 86_400; // seconds
/** With fewer free places than this, registrations are stored one after another. It exceeds the number of concurrent registrations. */
const nearTheCap = 500;

/** The answer to a POST. */
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
  /** The check for clients that were never approved. */
  checkUnapprovedSector: CheckSector;
  audit: AuditTrail;
  limits: Limits;
};

export async function registrationEndpoint(app: FastifyInstance, options: RegistrationDependencies): Promise<void> {
  const { config, store, clients, secretBox, tokens, audit, limits } = options;
  const { checkSector, checkUnapprovedSector } = options;
  const { prove, authorize } = createRegistrationProof(options);
  const deferred = createDeferredRegistration(options);
  const parse = async (body: Record<string, unknown>, current?: Client): Promise<ClientMetadata> => {
    // an update contains every member, also one that only an administrator can set (RFC 7592 2.2)
    const unsigned = config.requestObjectUnsigned || current?.metadata.request_object_signing_alg === 'none';
    const kept = current?.metadata.scope;
    const apiScopes = await registrableApiScopes(store, body['scope'], { admin: false, kept });
    return parseClientMetadata(body, { apiScopes, unsigned, awaitsAdmission: true }, config);
  };
  onlyJson(app);
  app.setErrorHandler(bearerErrors);
  // OpenID Connect clients register without a scope: a client that needs no approval gets all standard scopes (decisions section 2)
  const withDefaultScope = (
    body: Record<string, unknown>,
    approvedBy: Client['approvedBy'],
  ): Record<string, unknown> =>
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
    const body = withDefaultScope(read(request), held.approvedBy);
    if (body['client_id'] !== held.clientId) throw invalidRequest('client_id is required and must match the URL');
    const secret = body['client_secret'];
    checkSecret(held, secret);
    refuseForeignMembers(body, await answered(held, body, bearerToken(request)), held);
    const metadata = await parse(withHidden(config, held, withoutGivenScopes(held, body)), held);
    await checkSectorOf(request, metadata, held);
    const { client, newSecret } = await changeClient(async (repositories) => {
      const current = await lockHeld(repositories, held);
      checkSecret(current, secret);
      const change = updateOf(options, current, metadata, {
        secret: typeof secret === 'string' ? secret : undefined,
        keepsPending: 'pending_changes' in body,
        claimsHeld: await claimsHeld(repositories, current, metadata),
      });
      await refuseOfKept(repositories, current, change.change);
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
      await refuseOfKept(repositories, await lockHeld(repositories, client), undefined);
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

  /** Changes a client in a transaction. The error does not name the client that got a resource first: only administrators may know. */
  async function changeClient<T>(change: (repositories: Repositories) => Promise<T>): Promise<T> {
    try {
      return await store.transaction(change);
    } catch (error) {
      if (!(error instanceof OAuthError) || error.refusal?.code !== 'resource-held') throw error;
      throw conflict('another client has just been given one of these resource_uris: send the request again');
    }
  }

  /** The answer to a read, with the secret of the body if it is right. */
  async function answered(
    client: Client,
    body: Record<string, unknown>,
    registrationAccessToken: string,
  ): Promise<Record<string, unknown>> {
    const sent = body['shared_secret'];
    const isRight = typeof sent === 'string' && equalSecrets(sent, tokens.sharedSecret(client).toString());
    return registrationResponse(config, client, { registrationAccessToken, sharedSecret: isRight ? sent : undefined });
  }

  /** Registers a client, or repeats the registration of the client that the request proves to be. */
  async function register(request: FastifyRequest, body: Record<string, unknown>): Promise<Answer> {
    const approval = acceptsApproval(body);
    const proof = await prove(request, body);
    if (proof && 'client' in proof) {
      if (!proof.client.uncollected) return { status: 200, answer: await repeat(request, proof, body) };
      return { status: 202, answer: await deferred.renew(proof.client.clientId, clientAddress(request)) };
    }
    return create(request, body, proof?.initialAccessToken === true, approval);
  }

  /** Answers a poll or a cancellation of a deferred registration. Each counts against the limit before its code is checked. */
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

  /** Stores a new client, disabled until an administrator approves it unless it has an initial access token (security R42, R49). */
  async function create(
    request: FastifyRequest,
    body: Record<string, unknown>,
    trusted: boolean,
    acceptsDeferral: boolean,
  ): Promise<Answer> {
    const givenBy = trusted ? 'initial_access_token' : config.automaticApproval ? 'automatic' : undefined;
    const wanted = await parse(withoutAdministratorScopes(withDefaultScope(body, givenBy)));
    // an address that only an administrator admits waits; who needs no approval does without it, unless it is the only one (reports A5)
    const metadata = withoutWaiting(wanted);
    requireAddress(config, metadata, wanted);
    const approvedBy = hasNoAddress(metadata, wanted) ? undefined : givenBy;
    const pendingMetadata = approvedBy ? undefined : waitingOf(config, metadata, wanted);
    if (!trusted) await countRegistration(request);
    const cap = approvedBy ? 0 : config.limits.registrationsWaiting;
    const requireRoom = async (repositories: Repositories) => {
      const left = cap - (await repositories.clients.countWaiting(cap, 'service'));
      if (left <= 0) throw busy('too many registrations wait for an administrator: try again later', 503, 3600);
      return left;
    };
    const isNear = cap > 0 && (await requireRoom(store)) <= nearTheCap;
    // after the limits, so that a client cannot make the service fetch without one
    await (approvedBy ? checkSector : checkUnapprovedSector)(metadata);
    const clientId = randomId();
    const credentials = newCredentials(secretBox, clientId, metadata);
    const key = idempotencyKey(request, body);
    const uncollected = !approvedBy && acceptsDeferral;
    return store.transaction(async (repositories) => {
      if (isNear) {
        // the lock lets concurrent registrations count each other
        await repositories.clients.lockWaiting();
        await requireRoom(repositories);
      }
      const made = await repositories.clients.insert({
        clientId,
        metadata,
        status: approvedBy ? 'enabled' : 'disabled',
        approvedBy,
        firstParty: false,
        selfRegistered: true,
        uncollected,
        ...credentials.stored,
        // the client never sees these credentials: it gets others once it is approved
        ...(uncollected && { registrationTokenHash: undefined }),
      });
      const inserted = pendingMetadata ? (await repositories.clients.update(clientId, { pendingMetadata }))! : made;
      if (
        key &&
        !(await repositories.registrationTokens.insertKey(key.keyHash, key.bodyHash, clientId, idempotencyLifetime))
      ) {
        throw conflict('another registration uses this Idempotency-Key: repeat that one, or send a new key');
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

  /** Repeats a registration: the client gets new credentials and keeps its state; the metadata change as by PUT. */
  async function repeat(
    request: FastifyRequest,
    { client: known, byKey }: Extract<Proof, { client: Client }>,
    body: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const metadata = await parse(withoutAdministratorScopes(withDefaultScope(body, known.approvedBy)), known);
    await checkSectorOf(request, metadata, known);
    const { client, shown } = await changeClient(async (repositories) => {
      const current = await repositories.clients.lock(known.clientId);
      if (!current) throw invalidToken('the registration no longer exists');
      // the credentials that proved the repeat may have been renewed since (security R44)
      if (!byKey && !hasCredentialsOf(current, known))
        throw invalidToken('the credentials of this client have been renewed in the meantime');
      // the client was enabled after the key was checked (security R120)
      if (byKey && current.everEnabled)
        throw conflict('the registration has been approved in the meantime: this Idempotency-Key no longer repeats it');
      const renewal = renewalOf(options, current, metadata, await claimsHeld(repositories, current, metadata));
      await refuseOfKept(repositories, current, renewal.change);
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
      // this event notifies administrators of the pending change, as after PUT
      if (updated.pendingMetadata && !isDeepStrictEqual(updated.pendingMetadata, current.pendingMetadata))
        await audit(
          request,
          {
            type: 'client.updated',
            outcome: 'success',
            actor: current.clientId,
            clientId: current.clientId,
            detail: { version: updated.version, members: ['pending_changes'], waits_for_approval: true },
          },
          repositories,
        );
      return { client: updated, shown: renewal.shown };
    });
    clients.forget(client.clientId);
    return registrationResponse(config, client, shown);
  }

  /** Counts a registration against the limit of the network. @throws OAuthError temporarily_unavailable */
  async function countRegistration(request: FastifyRequest): Promise<void> {
    const wait = await limits.consume('registrationPerNetwork', networkOf(clientAddress(request)));
    if (wait > 0) throw busy(`too many registrations from this network: wait ${wait} seconds`, 429, wait);
  }

  /** Checks the sector of an update if it changed; the fetch counts as a registration. */
  async function checkSectorOf(request: FastifyRequest, metadata: ClientMetadata, current: Client): Promise<void> {
    if (!needsSectorCheck(metadata, current.metadata)) return;
    await countRegistration(request);
    await (current.everEnabled ? checkSector : checkUnapprovedSector)(metadata);
  }
}

/** Refuses a registration over a limit. @param wait in seconds */
function busy(description: string, status: 429 | 503, wait: number): OAuthError {
  return new OAuthError('temporarily_unavailable', description, status, { headers: { 'retry-after': String(wait) } });
}

function read(request: FastifyRequest): Record<string, unknown> {
  const parsed = document.safeParse(request.body);
  if (!parsed.success || Array.isArray(request.body))
    throw invalidClientMetadata('send the client metadata as a JSON object');
  return parsed.data;
}

/** Whether the secret and the registration access token of a client are unchanged. */
function hasCredentialsOf(current: Client, known: Client): boolean {
  const same = (a: Buffer | undefined, b: Buffer | undefined) => (a && b ? equalDigests(a, b) : a === b);
  return same(current.registrationTokenHash, known.registrationTokenHash) && same(current.secretHash, known.secretHash);
}

/** Whether an update of an enabled client adds a resource that another client holds. */
async function claimsHeld(
  { clientReview }: Repositories,
  { clientId, status, metadata }: Client,
  next: ClientMetadata,
): Promise<boolean> {
  const added = next.resource_uris?.filter((uri) => !metadata.resource_uris?.includes(uri)) ?? [];
  if (status !== 'enabled' || added.length === 0) return false;
  return (await clientReview.heldResources(added.map((uri) => ({ clientId, uri })))).size > 0;
}

/** Checks the secret of an update, which may be absent. @throws OAuthError invalid_request if it is not the client's */
function checkSecret({ secretHash }: Client, secret: unknown): void {
  if (secret === undefined) return;
  if (typeof secret !== 'string' || !secretHash || !equalDigests(digest('client_secret', secret), secretHash))
    throw invalidRequest('client_secret differs from the current one');
}
