// Performs what administrators do to users and clients, each operation with its audit row in one transaction, for routes and commands.
// An operation that changed nothing has no row (security R91).
import { conflict, invalidRequest, notFound, OAuthError, ResourceHeld } from '../../oauth/errors.ts';
import { isUniqueViolation } from '../../database/database.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { clientEvent, userEvent } from '../../repositories/audit/audit-diff.ts';
import { groupOperations } from './groups.ts';
import { importUsers } from './user-import.ts';
import type { Client, ClientChange, ClientStatus, NewClient } from '../../repositories/clients/clients.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import type { NewUser, User, UserChange } from '../../repositories/users/users.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

/** What is decided about a client; enabling it is an approval, and names the version that was looked at. */
export interface ClientDecision extends ClientChange {
  status?: ClientStatus | undefined;
  /** If the client is not at this version, nothing happens (security R90). */
  version?: number | undefined;
}

/** A change of a user, for what was looked at. */
export interface UserDecision extends UserChange {
  /** Milliseconds since 1970 of the user's last change as it was looked at; if there was another since, nothing happens. */
  version?: string | undefined;
}

/** @throws OAuthError conflict */
function lookedAt(client: Client, version: number | undefined): void {
  if (version !== undefined && version !== client.version)
    throw conflict('the client changed since you looked at it: look again, then decide about its present version');
}

/**
 * What became of one of several decisions: another has to look again at what changed, another client holds a resource that this one
 * claims, and nothing is left of what is gone.
 */
export interface DecisionOutcome {
  clientId: string;
  outcome: 'decided' | 'changed' | 'held' | 'gone';
}

/** The client by which administrators come in to the console. It is made when the first of them does; disabling it closes the console. */
export const consoleClientId = 'gatehouse-console';

/** What the console's own client is registered for is the service's to say: another redirect URI of it would let in the owner of that address. */
function notTheConsoles({ actor }: Actor, clientId: string): void {
  if (clientId === consoleClientId && actor !== 'service')
    throw conflict("the console's own client is not changed: it can be disabled, which closes the console");
}

export type Administration = ReturnType<typeof createAdministration>;

export function createAdministration(store: Store) {
  /** Performs an operation and records it, both or neither. */
  function operation<T>(
    by: Actor,
    work: (repositories: Repositories) => Promise<[T, Omit<AuditEvent, 'actor' | 'address' | 'outcome'> | undefined]>,
  ): Promise<T> {
    return store.transaction(async (repositories) => {
      const [result, event] = await work(repositories);
      if (event) await repositories.auditEvents.insert({ ...event, ...by, outcome: 'success' });
      return result;
    });
  }

  const found = <T>(thing: T | undefined, what: string): T => {
    if (thing === undefined) throw notFound(`there is no such ${what}`);
    return thing;
  };
  const lockClient = async ({ clients }: Repositories, clientId: string) =>
    found(await clients.lock(clientId), 'client');

  /** Enables a client that is locked, or approves what waits of an enabled one. @throws OAuthError conflict */
  async function approve({ clients }: Repositories, clientId: string): Promise<Client> {
    const approved = await clients.approve(clientId);
    if (!approved)
      throw conflict('this registration was refused or its time is over: the client has to register again');
    return approved;
  }

  /** The last administrator cannot be lost: nobody could make another one. After the change, in a transaction that began with lockAdmins(). */
  async function keepAnAdministrator(repositories: Repositories, before: User): Promise<void> {
    if (!before.admin || before.status !== 'enabled') return;
    if (!(await repositories.users.hasAdmin()))
      throw conflict('this is the last enabled administrator: make another one first');
  }

  const taken = (error: unknown): never => {
    throw isUniqueViolation(error) ? conflict('the user name or the email is taken') : error;
  };

  const approveClient = (by: Actor, clientId: string, version: number | undefined): Promise<Client> =>
    operation<Client>(by, async (repositories) => {
      const before = await lockClient(repositories, clientId);
      lookedAt(before, version);
      const after = await approve(repositories, clientId);
      return [after, clientEvent(before, after)];
    });
  const refuseClient = (by: Actor, clientId: string, version: number | undefined, reason: string): Promise<Client> =>
    operation<Client>(by, async (repositories) => {
      lookedAt(await lockClient(repositories, clientId), version);
      const refused = await repositories.clients.refuse(clientId, reason);
      if (!refused) throw conflict('nothing of this client waits for a decision');
      return [refused, { type: 'client.refused', clientId, detail: { version: refused.version, reason } }];
    });

  return {
    ...groupOperations(store),
    importUsers: importUsers(store),
    /** @throws OAuthError conflict when the user name or the email is taken */
    createUser: (by: Actor, user: NewUser): Promise<User> =>
      operation<User>(by, async ({ users }) => {
        const made = await users.insert(user);
        const detail = { username: made.username, admin: made.admin };
        return [made, { type: 'user.created', sub: made.sub, detail }];
      }).catch(taken),
    /**
     * Changes a user; what others change meanwhile is kept.
     * @param change its claims are merged into those that there are, and null takes one away
     * @param own by the person: the hash that the present password was checked against, and the id of the session that lives on
     * @throws OAuthError conflict when the user or the password is another by now, or the user name or the email is taken
     * @returns changed: false when all was so before
     */
    changeUser: (
      by: Actor,
      sub: string,
      { version, ...change }: UserDecision,
      passwordHash?: string,
      own?: { replaces: string; keepSession: string },
    ): Promise<{ user: User; changed: boolean }> =>
      operation<{ user: User; changed: boolean }>(by, async (repositories) => {
        const { users } = repositories;
        if (change.admin === false || change.status === 'disabled') await users.lockAdmins();
        const before = found(await users.lock(sub), 'user');
        if (version !== undefined && version !== String(before.updatedAt.getTime()))
          throw conflict('the user changed since you looked: look again, then change what is there now');
        if (own && before.passwordHash !== own.replaces) throw conflict('the password was changed meanwhile');
        if (passwordHash !== undefined) await users.setPassword(sub, passwordHash, own?.keepSession);
        const claims = change.claims && withoutNulls({ ...before.claims, ...change.claims });
        const user = found(await users.update(sub, { ...change, claims }), 'user');
        await keepAnAdministrator(repositories, before);
        const event = userEvent(before, user);
        return [{ user, changed: event !== undefined }, event];
      }).catch(taken),
    deleteUser: (by: Actor, sub: string): Promise<void> =>
      operation<undefined>(by, async (repositories) => {
        await repositories.users.lockAdmins();
        const before = found(await repositories.users.lock(sub), 'user');
        await repositories.users.delete(sub);
        await keepAnAdministrator(repositories, before);
        // who goes by themselves leaves no name behind, only the sub
        const name = by.actor === sub ? {} : { username: before.username };
        return [undefined, { type: 'user.deleted', sub, detail: { ...name, admin: before.admin } }];
      }),
    /** Lets a user sign in who was held up by failures. @returns changed: false when there were none */
    forgetFailures: (by: Actor, sub: string): Promise<{ user: User; changed: boolean }> =>
      operation<{ user: User; changed: boolean }>(by, async ({ users, signInFailures }) => {
        const user = found(await users.find(sub), 'user');
        const changed = await signInFailures.forgetUser(sub);
        return [{ user, changed }, changed ? { type: 'user.failures_forgotten', sub } : undefined];
      }),
    /**
     * Stores a link by which a user chooses another password, once; returns when it ends.
     * @param lifetime in seconds
     * @throws OAuthError not_found, or conflict for a disabled user
     */
    createRecoveryLink: (by: Actor, sub: string, tokenHash: Buffer, lifetime: number): Promise<Date> => {
      if (lifetime < 1) throw invalidRequest('the lifetime must be at least a second');
      return operation<Date>(by, async ({ users, mailedLinks }) => {
        const user = found(await users.lock(sub), 'user');
        if (user.status !== 'enabled') throw conflict('the user is disabled: enable the user first');
        const none = { email: undefined, replaces: undefined };
        const expiresAt = await mailedLinks.insert({ ...none, purpose: 'recovery', sub, tokenHash, lifetime });
        return [expiresAt!, { type: 'link.created', sub, detail: { purpose: 'recovery' } }];
      });
    },
    /**
     * Takes second factors of a user away; with the last one the recovery codes go.
     * @param id of one of them; without it all
     * @param keepWayIn refuses the last passkey of somebody without a password, who could not sign in any more; that of the last
     *   administrator who can is always refused
     * @throws OAuthError not_found when there is no such user or factor, conflict
     */
    removeSecondFactor: (by: Actor, sub: string, id?: string, keepWayIn = false): Promise<SecondFactor[]> =>
      operation<SecondFactor[]>(by, async ({ users, passkeys, secondFactors }) => {
        await users.lockAdmins();
        const { passwordHash, admin } = found(await users.lock(sub), 'user');
        const removed = await secondFactors.remove(sub, id);
        if (id !== undefined && removed.length === 0) throw notFound('there is no such second factor');
        const passkeysGo = removed.some(({ kind }) => kind === 'passkey');
        if (passwordHash === undefined && passkeysGo && (await passkeys.list(sub)).length === 0) {
          if (keepWayIn) throw conflict('this passkey is the only way to sign in to this account');
          if (admin && !(await users.hasAdminWhoCanSignIn()))
            throw conflict(
              'this passkey is the only way in of the last administrator: set a password for this user, or make another administrator first',
            );
        }
        const detail = { kinds: [...new Set(removed.map(({ kind }) => kind))], names: removed.map(({ name }) => name) };
        return [removed, removed.length > 0 ? { type: 'user.second_factor_removed', sub, detail } : undefined];
      }),
    /** Withdraws what a user granted to a client, and ends all that was issued for it. @throws OAuthError not_found */
    withdrawGrant: (by: Actor, sub: string, clientId: string): Promise<void> =>
      operation<undefined>(by, async ({ grants }) => {
        if (!(await grants.withdraw(sub, clientId))) throw notFound('there is no such grant');
        return [undefined, { type: 'consent.withdrawn', sub, clientId }];
      }),
    /** @param settings what an administrator sets beside the metadata */
    createClient: (by: Actor, client: NewClient, settings: ClientChange = {}): Promise<Client> =>
      operation<Client>(by, async ({ clients }) => {
        const { clientId, metadata, status } = client;
        await clients.insert(client);
        const made = found(await clients.update(clientId, settings), 'client');
        const detail = { name: metadata.client_name, scope: metadata.scope, status };
        return [made, { type: 'client.created', clientId, detail }];
      }),
    /**
     * Changes a client and its state, both or neither.
     * @param decide makes the decision of what the client is, which nobody else changes meanwhile; it may run again
     * @throws OAuthError conflict when the client is not at the version that the decision names
     */
    changeClient: (by: Actor, clientId: string, decide: (current: Client) => ClientDecision): Promise<Client> =>
      operation<Client>(by, async (repositories) => {
        const before = await lockClient(repositories, clientId);
        const { status, version, ...change } = decide(before);
        lookedAt(before, version);
        if (Object.values(change).some((value) => value !== undefined && !isEmpty(value))) notTheConsoles(by, clientId);
        let after = found(await repositories.clients.update(clientId, change), 'client');
        // one that is approved but not collected yet is disabled still: its approval is taken back
        if (status === 'disabled' && (before.status === 'enabled' || before.uncollected))
          after = found(await repositories.clients.disable(clientId), 'client');
        else if (status === 'enabled' && before.status === 'disabled') after = await approve(repositories, clientId);
        return [after, clientEvent(before, after)];
      }),
    /**
     * Enables what was looked at, or approves what waits of it if it is enabled: a change of a disabled client goes on waiting (security R116).
     * @throws OAuthError conflict when it changed since
     */
    approveClient,
    /** Refuses what waits for a decision, with a reason that the registrant can read. @throws OAuthError conflict */
    refuseClient,
    /**
     * Decides about several clients, each by itself and at the version that was looked at; one that changed keeps none of the others up.
     * @param reason why they are refused; undefined approves them
     */
    async decideClients(
      by: Actor,
      looked: readonly { clientId: string; version: number }[],
      reason: string | undefined,
    ): Promise<DecisionOutcome[]> {
      const outcomes: DecisionOutcome[] = [];
      for (const { clientId, version } of looked) {
        try {
          if (reason === undefined) await approveClient(by, clientId, version);
          else await refuseClient(by, clientId, version, reason);
          outcomes.push({ clientId, outcome: 'decided' });
        } catch (error) {
          if (!(error instanceof OAuthError) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error;
          const outcome = error instanceof ResourceHeld ? 'held' : error.code === 'conflict' ? 'changed' : 'gone';
          outcomes.push({ clientId, outcome });
        }
      }
      return outcomes;
    },
    /**
     * Gives a client new secrets; the old ones stop working.
     * @param renew makes them for what the client is, which nobody else changes meanwhile; it may run again
     * @throws OAuthError not_found, and what `renew` throws
     */
    renewSecrets: (
      by: Actor,
      clientId: string,
      renew: (current: Client) => NonNullable<ClientChange['credentials']>,
      version?: number,
    ): Promise<Client> =>
      operation<Client>(by, async (repositories) => {
        notTheConsoles(by, clientId);
        const before = await lockClient(repositories, clientId);
        lookedAt(before, version);
        const after = found(await repositories.clients.update(clientId, { credentials: renew(before) }), 'client');
        const event = clientEvent(before, after);
        return [after, event && { ...event, type: 'client.credentials_renewed' }];
      }),
    /** @returns changed: false when it was disabled before */
    disableClient: (by: Actor, clientId: string): Promise<{ client: Client; changed: boolean }> =>
      operation<{ client: Client; changed: boolean }>(by, async (repositories) => {
        const before = await lockClient(repositories, clientId);
        const client = found(await repositories.clients.disable(clientId), 'client');
        const event = clientEvent(before, client);
        return [{ client, changed: event !== undefined }, event];
      }),
    deleteClient: (by: Actor, clientId: string): Promise<void> =>
      operation<undefined>(by, async ({ clients }) => {
        if (!(await clients.delete(clientId))) throw notFound('there is no such client');
        return [undefined, { type: 'client.deleted', clientId }];
      }),
    /** @param owner ends the session only if it is this user's @throws OAuthError not_found */
    endSession: (by: Actor, sid: string, owner?: string): Promise<void> =>
      operation<undefined>(by, async ({ users, sessions, mailedLinks }) => {
        const sub = found(await sessions.owner(sid, owner), 'session');
        // before the session, as all do who need both
        await users.lock(sub);
        found(await sessions.endBySid(sid, owner), 'session');
        // of one's own sessions only what this one ordered ends, as the database sees to (security R118)
        if (owner === undefined) await mailedLinks.cancelChanges(sub);
        return [undefined, { type: 'session.ended', sub, detail: { session: sid } }];
      }),
    /**
     * Ends all sessions of a user, and what outlived earlier ones; returns how many sessions.
     * @param keepSession the id of one that lives on
     * @throws OAuthError not_found
     */
    endSessions: (by: Actor, sub: string, keepSession?: string): Promise<number> =>
      operation<number>(by, async ({ users, mailedLinks }) => {
        found(await users.lock(sub), 'user');
        const { sessions, clientSessions } = await users.endSessions(sub, keepSession);
        // also what the remaining session ordered: an attacker may hold its cookie, too (security R118)
        await mailedLinks.cancelChanges(sub);
        const event = { type: 'session.ended', sub, detail: { sessions } } as const;
        return [sessions, sessions + clientSessions > 0 ? event : undefined];
      }),
    /** Stores an initial access token. @param lifetime in seconds */
    createRegistrationToken: (by: Actor, tokenHash: Buffer, lifetime: number): Promise<Date> => {
      if (lifetime < 1) throw invalidRequest('the lifetime must be at least a second');
      return operation<Date>(by, async ({ registrationTokens }) => [
        await registrationTokens.insert(tokenHash, lifetime),
        { type: 'registration_token.created' },
      ]);
    },
  };
}

function withoutNulls(claims: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null && value !== undefined));
}

/** No member of a change that is an object says anything. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((member) => member === undefined);
}
