// Implements approval mode: the client gets 202, and polls until an administrator has decided (draft-dellaert-oauth-approval-based-dcr).
import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { invalidClientMetadata, invalidRequest, OAuthError } from '../../oauth/errors.ts';
import { firstRefusal, rule } from '../../oauth/refusals.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Client } from '../../repositories/clients/clients.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { newCredentials, type ShownCredentials } from '../../tokens/client-credentials.ts';
import { deferAuthorization, polls } from '../../tokens/deferred-authorization.ts';
import { opaqueTokenHash } from '../../tokens/opaque-token.ts';

/** The values of `registration_modes_supported`. */
export const registrationModes = ['immediate', 'approval'];

/** Records an event within a transaction. */
export type Recorder = (event: Omit<AuditEvent, 'address'>, repositories: Repositories) => Promise<void>;

/** The result of a poll. */
export type Outcome = 'pending' | { client: Client; shown: ShownCredentials };

const asked = z.object({
  registration_code: z.string(rule('string')),
  cancel_registration: z.boolean(rule('boolean')).default(false),
});

/**
 * Whether the client accepts a deferred answer; unknown values are ignored.
 * @throws OAuthError invalid_client_metadata
 */
export function acceptsApproval(body: Record<string, unknown>): boolean {
  const modes = z.array(z.string()).optional().safeParse(body['registration_mode']);
  if (!modes.success) throw invalidClientMetadata('registration_mode must be an array of strings');
  return modes.data?.includes('approval') === true;
}

/** Reads a poll or a cancellation; undefined for a registration, which has no `registration_code`. @throws OAuthError invalid_request */
export function readPoll(body: Record<string, unknown>): { code: string; cancel: boolean } | undefined {
  if (!('registration_code' in body)) return undefined;
  const parsed = asked.safeParse(body);
  if (!parsed.success) throw invalidRequest(firstRefusal(parsed.error, 'the request'));
  return { code: parsed.data.registration_code, cancel: parsed.data.cancel_registration };
}

export function createDeferredRegistration({
  config,
  store,
  secretBox,
}: {
  config: Config;
  store: Store;
  secretBox: SecretBox;
}) {
  const lifetime = config.lifetimes.registrationCode;

  return {
    /** Makes the codes of a pending client and returns the body of the 202. Runs in the transaction that inserts the client. */
    async defer(
      repositories: Repositories,
      clientId: string,
      address: string | undefined,
    ): Promise<Record<string, unknown>> {
      const page = `${config.issuer}/admin/registration`;
      const kind = { code: 'registration_code', shown: 'verification_code', page, lifetime } as const;
      const { body } = await deferAuthorization(secretBox, kind, async (codes) =>
        (await repositories.deferredRegistrations.insert({ ...codes, clientId, address })) ? 'stored' : 'taken',
      );
      return body;
    },

    /**
     * Repeats a deferred registration, proven by its Idempotency-Key: the client gets new codes, and the old ones are invalid.
     * @throws OAuthError access_denied or expired_token
     */
    async renew(clientId: string, address: string | undefined): Promise<Record<string, unknown>> {
      return store.transaction(async (repositories) => {
        const client = await repositories.clients.lock(clientId);
        if (client?.refusalReason !== undefined) throw denied(client.refusalReason);
        if (!client?.uncollected || !(await repositories.deferredRegistrations.deleteOf(clientId))) throw expired();
        return this.defer(repositories, clientId, address);
      });
    },

    /**
     * Returns the state of the registration with this code. If it is approved, this poll completes it, once.
     * @throws OAuthError access_denied, expired_token, invalid_registration, slow_down
     */
    async poll(code: string, record: Recorder): Promise<Outcome> {
      const { hash, clientId, approved, early, interval: pause } = await findPending(code);
      if (!approved) {
        if (early) throw tooSoon(pause);
        return 'pending';
      }
      return store.transaction(async (repositories) => {
        const client = await repositories.clients.lock(clientId);
        if (!client?.uncollected || !(await repositories.deferredRegistrations.take(hash))) throw unknown();
        const { stored, shown } = newCredentials(secretBox, clientId, client.metadata);
        const enabled = await repositories.clients.collect(clientId, stored);
        if (!enabled) throw unknown(); // an administrator has just revoked the approval: the code stays valid
        await record({ type: 'client.collected', outcome: 'success', actor: clientId, clientId }, repositories);
        return { client: enabled, shown };
      });
    },

    /** Deletes the pending client at its own request. @throws OAuthError as poll() does */
    async cancel(code: string, record: Recorder): Promise<void> {
      const { hash, clientId } = await findPending(code);
      await store.transaction(async (repositories) => {
        const client = await repositories.clients.lock(clientId);
        if (!client?.uncollected || !(await repositories.deferredRegistrations.take(hash))) throw unknown();
        await repositories.clients.delete(clientId);
        await record(
          { type: 'client.deleted', outcome: 'success', actor: clientId, clientId, detail: { cancelled: true } },
          repositories,
        );
      });
    },
  };

  /** Finds the pending registration of a code that is neither expired nor refused. */
  async function findPending(code: string) {
    const hash = opaqueTokenHash('registration_code', code);
    const found = hash && (await store.deferredRegistrations.poll(hash, polls.slowDown));
    if (!found) throw unknown();
    if (found.expired) throw expired();
    if (found.refusalReason !== undefined) throw denied(found.refusalReason);
    if (found.clientId === undefined) throw unknown();
    return { ...found, hash: hash!, clientId: found.clientId };
  }
}

function unknown(): OAuthError {
  return new OAuthError(
    'invalid_registration',
    'the registration cannot be completed: its code is unknown or was already used',
  );
}

function expired(): OAuthError {
  return new OAuthError('expired_token', 'this registration has expired: register again');
}

/** @param reason the administrator's text, sent if it has only characters that the protocol allows (RFC 6749 5.2) */
function denied(reason: string): OAuthError {
  const readable = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(reason);
  return new OAuthError('access_denied', readable ? reason : 'an administrator did not approve this registration');
}

function tooSoon(seconds: number): OAuthError {
  return slowDownBy(`the registration still waits: leave ${seconds} seconds between two polls`, seconds);
}

/** The network is over its limit. The answer does not depend on the code. @param seconds until the next poll */
export function tooManyPolls(seconds: number): OAuthError {
  return slowDownBy(`too many polls from this network: wait ${seconds} seconds`, seconds);
}

function slowDownBy(description: string, seconds: number): OAuthError {
  return new OAuthError('slow_down', description, 429, { headers: { 'retry-after': String(seconds) } });
}
