// Performs administrative operations on users and clients for routes and commands, each with its audit event in one transaction.
// An operation that changes nothing has no event (security R91).
import { consoleClientId } from '../../rules/clients/console-client.ts';
import { conflict, invalidRequest, notFound, OAuthError } from '../../oauth/errors.ts';
import { type Refusal, refusal } from '../../oauth/refusals.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import { clientEvent, userEvent } from '../../repositories/audit/audit-diff.ts';
import { requireSettings } from './client-access.ts';
import { checkedApplication } from './saml-application.ts';
import { type AttributeValues, checkedAttributes, isEmpty, keepUnique, withoutNulls } from '../users/attributes.ts';
import type { DecisionOutcome } from './decision-outcome.ts';
import { appearanceChanges } from './appearance.ts';
import { attributeAdministration } from './attributes.ts';
import { confirmationChanges } from './confirmations.ts';
import { directoryImportChanges } from './directory-imports.ts';
import { claimChanges, roleAdministration } from './claims.ts';
import { groupChanges } from './groups.ts';
import { resourceAdministration } from './resources.ts';
import { scopeAdministration } from './scopes.ts';
import { identityLinkChanges } from './identity-links.ts';
import { invitationChanges, invite, type InvitationDelivery } from './invitations.ts';
import { refuseTaken } from './taken-texts.ts';
import { givesPower, requireDecidedLinks } from './power.ts';
import { importUsers } from './user-import.ts';
import { decided } from './user-status.ts';
import type { Client, ClientChange, ClientStatus, NewClient } from '../../repositories/clients/clients.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { SecondFactor } from '../../repositories/second-factors/second-factors.ts';
import type { NewUser, User, UserChange } from '../../repositories/users/users.ts';
import type { Actor } from '../../repositories/audit/actor.ts';

/** A decision about a client. Enabling the client is an approval, and names the version that the administrator reviewed. */
export interface ClientDecision extends ClientChange {
  status?: ClientStatus | undefined;
  /** Conflict if the client is at another version (security R90). */
  version?: number | undefined;
}

/** A change of a user, as the administrator saw the user. */
export interface UserDecision extends UserChange {
  /** The groups that give power. */
  guarded?: readonly string[] | undefined;
  /** Merged into the present ones; null removes one. */
  attributes?: AttributeValues | undefined;
  /** The time of the user's last change that the administrator saw, in milliseconds since 1970: conflict if there was a later one. */
  version?: string | undefined;
}

/** @throws OAuthError conflict */
function requireVersion(client: Client, version: number | undefined): void {
  if (version !== undefined && version !== client.version) throw conflict(refusal('client.changed', 'version'));
}

/** Refuses changes of the console's own client: another redirect URI would give its owner access to the console. */
function refuseConsoleClient({ actor }: Actor, clientId: string): void {
  if (clientId === consoleClientId && actor !== 'service')
    throw conflict('the client of the console cannot be changed: it can only be disabled, which closes the console');
}

export type Administration = ReturnType<typeof createAdministration>;

export function createAdministration(store: Store) {
  /** Performs an operation and records it in one transaction. */
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

  const found = <T>(thing: T | undefined, what: string | Refusal): T => {
    if (thing === undefined) throw notFound(typeof what === 'string' ? `there is no such ${what}` : what);
    return thing;
  };
  const lockClient = async ({ clients }: Repositories, clientId: string, what: string | Refusal = 'client') =>
    found(await clients.lock(clientId), what);

  /** Enables a locked client, or approves the pending change of an enabled one. @throws OAuthError conflict */
  async function approve({ clients }: Repositories, clientId: string): Promise<Client> {
    const approved = await clients.approve(clientId);
    if (!approved) throw conflict(refusal('client.ended', 'id'));
    return approved;
  }

  /** Keeps the last administrator, who alone can create others. Call it after the change, in a transaction that began with lockAdmins(). */
  async function keepAnAdministrator(repositories: Repositories, before: User): Promise<void> {
    if (!before.admin || before.status !== 'enabled') return;
    if (!(await repositories.users.hasAdmin())) throw conflict(refusal('last-administrator', 'admin'));
  }

  const approveClient = (by: Actor, clientId: string, version: number | undefined): Promise<Client> =>
    operation<Client>(by, async (repositories) => {
      const before = await lockClient(repositories, clientId, refusal('client.gone', 'id'));
      requireVersion(before, version);
      const after = await approve(repositories, clientId);
      return [after, clientEvent(before, after)];
    });
  const refuseClient = (by: Actor, clientId: string, version: number | undefined, reason: string): Promise<Client> =>
    operation<Client>(by, async (repositories) => {
      requireVersion(await lockClient(repositories, clientId, refusal('client.gone', 'id')), version);
      const refused = await repositories.clients.refuse(clientId, reason);
      if (!refused) throw conflict(refusal('client.decided', 'id'));
      return [refused, { type: 'client.refused', clientId, detail: { version: refused.version, reason } }];
    });

  return {
    ...appearanceChanges(store),
    ...claimChanges(store),
    ...groupChanges(store),
    attributes: attributeAdministration(store),
    resources: resourceAdministration(store),
    roles: roleAdministration(store),
    scopes: scopeAdministration(store),
    ...confirmationChanges(store),
    ...directoryImportChanges(store),
    ...identityLinkChanges(store),
    ...invitationChanges(store),
    importUsers: importUsers(store),
    /**
     * Creates a user, and invites the user if there is a delivery.
     * @returns the user, and when the link of the invitation expires
     * @throws OAuthError conflict if the user name or the email belongs to another user
     */
    createUser: (
      by: Actor,
      { attributes, ...user }: NewUser & { attributes?: AttributeValues | undefined },
      invitation?: InvitationDelivery,
    ): Promise<{ user: User; expiresAt: Date | undefined }> =>
      store
        .transaction(async (repositories) => {
          const checked = await checkedAttributes(repositories, attributes);
          const claims = withoutNulls({ ...user.claims, ...checked.values });
          const made = await repositories.users.insert({ ...user, claims, isNameGiven: true });
          await keepUnique(repositories, made.sub, checked);
          const { sub, admin } = made;
          // a deleted user must be nowhere but for the sub: no event has a name or an address in its detail (federation 14)
          const detail = { admin };
          await repositories.auditEvents.insert({ ...by, type: 'user.created', outcome: 'success', sub, detail });
          return { user: made, expiresAt: invitation && (await invite(repositories, by, made, invitation)) };
        })
        .catch((error: unknown) => refuseTaken(store, error, user)),
    /**
     * Changes a user; concurrent changes of other members are kept.
     * @param change its claims are merged into the present ones, and null removes a claim
     * @param own for a change by the user: the hash against which the present password was checked, and the id of the session to keep
     * @throws OAuthError conflict if the user or the password has changed, or the user name or the email belongs to another user
     * @returns changed: false if the change made no difference
     */
    changeUser: (
      by: Actor,
      sub: string,
      { version, attributes, guarded = [], ...change }: UserDecision,
      passwordHash?: string,
      own?: { replaces: string; keepSession: string },
    ): Promise<{ user: User; changed: boolean }> =>
      operation<{ user: User; changed: boolean }>(by, async (repositories) => {
        const { users } = repositories;
        if (change.admin === false || change.status === 'disabled') await users.lockAdmins();
        const before = found(await users.lock(sub), 'user');
        if (version !== undefined && version !== String(before.updatedAt.getTime()))
          throw conflict('the user has changed since you read it: read it again, then change the current version');
        if (own && before.passwordHash !== own.replaces)
          throw conflict('the password has been changed in the meantime');
        if (givesPower(before, change, guarded))
          await requireDecidedLinks(
            repositories,
            { ...before, passwordHash: passwordHash ?? before.passwordHash },
            change.admin ? 'admin' : 'groups',
          );
        if (passwordHash !== undefined) await users.setPassword(sub, passwordHash, own?.keepSession);
        const checked = await checkedAttributes(repositories, attributes);
        const merged = { ...before.claims, ...change.claims, ...checked.values };
        const claims = (change.claims ?? attributes) && withoutNulls(merged);
        const user = found(await users.update(sub, { ...change, claims }), 'user');
        await keepUnique(repositories, sub, checked);
        await keepAnAdministrator(repositories, before);
        const event = userEvent(await decided(repositories, before, change), user);
        return [{ user, changed: event !== undefined }, event];
      }).catch((error: unknown) => refuseTaken(store, error, change, sub)),
    deleteUser: (by: Actor, sub: string): Promise<void> =>
      operation<undefined>(by, async (repositories) => {
        await repositories.users.lockAdmins();
        const before = found(await repositories.users.lock(sub), 'user');
        await repositories.users.delete(sub);
        await keepAnAdministrator(repositories, before);
        return [undefined, { type: 'user.deleted', sub, detail: { admin: before.admin } }];
      }),
    /** Resets the failed sign-ins of a user, which delay the next ones. @returns changed: false if there were none */
    forgetFailures: (by: Actor, sub: string): Promise<{ user: User; changed: boolean }> =>
      operation<{ user: User; changed: boolean }>(by, async ({ users, signInFailures }) => {
        const user = found(await users.find(sub), 'user');
        const changed = await signInFailures.forgetUser(sub);
        return [{ user, changed }, changed ? { type: 'user.failures_forgotten', sub } : undefined];
      }),
    /**
     * Stores a link by which a user can choose another password once; returns the time at which it expires.
     * @param lifetime in seconds
     * @throws OAuthError not_found, or conflict for a disabled user
     */
    createRecoveryLink: (by: Actor, sub: string, tokenHash: Buffer, lifetime: number): Promise<Date> => {
      if (lifetime < 1) throw invalidRequest('the lifetime must be at least a second');
      return operation<Date>(by, async ({ users, mailedLinks }) => {
        const user = found(await users.lock(sub), 'user');
        if (user.status !== 'enabled') throw conflict(refusal('user.disabled', 'sub'));
        const none = { email: undefined, replaces: undefined };
        const expiresAt = await mailedLinks.insert({ ...none, purpose: 'recovery', sub, tokenHash, lifetime });
        return [expiresAt!, { type: 'link.created', sub, detail: { purpose: 'recovery' } }];
      });
    },
    /**
     * Removes second factors of a user; with the last one also the recovery codes.
     * @param id of one factor; without it all are removed
     * @param keepWayIn refuses to remove the last passkey of a user without a password, who could no longer sign in; for the last
     *   administrator who can sign in that is always refused
     * @throws OAuthError not_found if the user or the factor does not exist, conflict
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
              'this passkey is the only way for the last administrator to sign in: set a password for this user, or make another user an administrator first',
            );
        }
        const detail = { kinds: [...new Set(removed.map(({ kind }) => kind))] };
        return [removed, removed.length > 0 ? { type: 'user.second_factor_removed', sub, detail } : undefined];
      }),
    /** Withdraws the grant of a user to a client, and revokes its tokens. @throws OAuthError not_found */
    withdrawGrant: (by: Actor, sub: string, clientId: string): Promise<void> =>
      operation<undefined>(by, async ({ grants }) => {
        if (!(await grants.withdraw(sub, clientId))) throw notFound('there is no such grant');
        return [undefined, { type: 'consent.withdrawn', sub, clientId }];
      }),
    /** @param settings the settings beside the metadata */
    createClient: (by: Actor, client: NewClient, settings: ClientChange = {}): Promise<Client> =>
      operation<Client>(by, async (repositories) => {
        const { clients } = repositories;
        const { clientId, metadata, status } = client;
        await requireSettings(repositories, client.kind ?? 'oauth', settings);
        await clients.insert(client);
        const made = found(await checkedApplication(clients.update(clientId, settings)), 'client');
        const detail = { name: metadata.client_name, scope: metadata.scope, status };
        const weak = client.weakSecret && { weak_secret: true };
        return [made, { type: 'client.created', clientId, detail: { ...detail, ...weak } }];
      }),
    /**
     * Changes a client and its state in one transaction.
     * @param decide makes the decision from the locked client; it may run again
     * @throws OAuthError conflict if the client is not at the version that the decision names
     */
    changeClient: (by: Actor, clientId: string, decide: (current: Client) => ClientDecision): Promise<Client> =>
      operation<Client>(by, async (repositories) => {
        const before = await lockClient(repositories, clientId);
        const { status, version, ...change } = decide(before);
        requireVersion(before, version);
        await requireSettings(repositories, before.kind, change, before);
        if (Object.values(change).some((value) => value !== undefined && !isEmpty(value)))
          refuseConsoleClient(by, clientId);
        let after = found(await checkedApplication(repositories.clients.update(clientId, change)), 'client');
        // an approved client that has not collected its credentials is still disabled: its approval is revoked
        if (status === 'disabled' && (before.status === 'enabled' || before.uncollected))
          after = found(await repositories.clients.disable(clientId), 'client');
        else if (status === 'enabled' && before.status === 'disabled') after = await approve(repositories, clientId);
        return [after, clientEvent(before, after)];
      }),
    /**
     * Enables a client at the reviewed version, or approves its pending change if it is enabled: the change of a disabled client stays
     * pending (security R116).
     * @throws OAuthError conflict if the client has changed since
     */
    approveClient,
    /** Refuses a pending registration or change, with a reason that the client can read. @throws OAuthError conflict */
    refuseClient,
    /**
     * Decides about several clients, each in its own transaction at its reviewed version: a conflict of one does not affect the others.
     * @param reason refuses the clients; undefined approves them
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
          const outcome =
            error.refusal?.code === 'resource-held' ? 'held' : error.code === 'conflict' ? 'changed' : 'gone';
          outcomes.push({ clientId, outcome });
        }
      }
      return outcomes;
    },
    /**
     * Dismisses the warning that two clients have similar names. It returns when one of them gets another name.
     * @param reviewed the names that the administrator saw; without them the present ones
     * @throws OAuthError not_found, or conflict if a name has changed since
     */
    dismissLookAlike: (
      by: Actor,
      [clientId, otherId]: readonly [string, string],
      reviewed: { name?: string | undefined; otherName?: string | undefined },
    ): Promise<void> =>
      operation<undefined>(by, async (repositories) => {
        if (clientId === otherId) throw invalidRequest('a client does not look like itself: name two clients');
        const { metadata, pendingMetadata } = await lockClient(repositories, clientId, refusal('client.gone', 'id'));
        const other = found(await repositories.clients.find(otherId), refusal('client.gone', 'other'));
        const { client_name: name } = pendingMetadata ?? metadata;
        const { client_name: otherName } = other.metadata;
        if (name === undefined || otherName === undefined) throw notFound(refusal('client.unnamed', 'id'));
        if ((reviewed.name ?? name) !== name || (reviewed.otherName ?? otherName) !== otherName)
          throw conflict(refusal('client.names', 'name'));
        const changed = await repositories.clientReview.dismiss(
          { clientId, name },
          { clientId: otherId, name: otherName },
        );
        const detail = { name, other_client_id: otherId, other_name: otherName };
        return [undefined, changed ? { type: 'client.look_alike_dismissed', clientId, detail } : undefined];
      }),
    /**
     * Gives a client new secrets and revokes the old ones.
     * @param renew makes the secrets for the locked client; it may run again
     * @throws OAuthError not_found, and the errors of `renew`
     */
    renewSecrets: (
      by: Actor,
      clientId: string,
      renew: (current: Client) => NonNullable<ClientChange['credentials']>,
      version?: number,
    ): Promise<Client> =>
      operation<Client>(by, async (repositories) => {
        refuseConsoleClient(by, clientId);
        const before = await lockClient(repositories, clientId);
        requireVersion(before, version);
        const after = found(await repositories.clients.update(clientId, { credentials: renew(before) }), 'client');
        const event = clientEvent(before, after);
        return [after, event && { ...event, type: 'client.credentials_renewed' }];
      }),
    /** @returns changed: false if the client was disabled before */
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
        // locked before the session: every transaction that locks both does so in this order
        await users.lock(sub);
        found(await sessions.endBySid(sid, owner), 'session');
        // when users end one of their own sessions, the database cancels only the changes requested in it (security R118)
        if (owner === undefined) await mailedLinks.cancelChanges(sub);
        return [undefined, { type: 'session.ended', sub, detail: { session: sid } }];
      }),
    /**
     * Ends all sessions of a user, and the tokens that outlived earlier ones; returns how much ended.
     * @param keepSession the id of a session to keep
     * @throws OAuthError not_found
     */
    endSessions: (by: Actor, sub: string, keepSession?: string): Promise<{ sessions: number; tokens: number }> =>
      operation<{ sessions: number; tokens: number }>(by, async ({ users, mailedLinks }) => {
        found(await users.lock(sub), 'user');
        const { sessions, clientSessions } = await users.endSessions(sub, keepSession);
        // also changes that the remaining session ordered: an attacker may have its cookie, too (security R118)
        await mailedLinks.cancelChanges(sub);
        const event = { type: 'session.ended', sub, detail: { sessions } } as const;
        return [{ sessions, tokens: clientSessions }, sessions + clientSessions > 0 ? event : undefined];
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
