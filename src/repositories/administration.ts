// What administrators do to users and clients, each act with its audit row in one transaction: for routes and command line alike.
import { conflict, invalidRequest, notFound } from '../oauth/errors.ts';
import { isUniqueViolation } from '../database/database.ts';
import type { AuditEvent } from './audit-events.ts';
import type { Client, ClientChange, NewClient } from './clients.ts';
import type { Repositories, Store } from './index.ts';
import type { NewUser, User, UserChange } from './users.ts';

/** Who acts, and from where. */
export interface Actor {
  actor: string;
  address?: string | undefined;
}

export type Administration = ReturnType<typeof createAdministration>;

export function createAdministration(store: Store, onEvent: (event: AuditEvent) => void = () => undefined) {
  async function act<T>(
    by: Actor,
    event: Omit<AuditEvent, 'actor' | 'address' | 'outcome'>,
    work: (repositories: Repositories) => Promise<T>,
    facts: (result: T) => Partial<AuditEvent> = () => ({}),
  ): Promise<T> {
    let recorded: AuditEvent | undefined;
    const result = await store.transaction(async (repositories) => {
      const done = await work(repositories);
      recorded = { ...event, ...by, outcome: 'success', ...facts(done) };
      await repositories.auditEvents.insert(recorded);
      return done;
    });
    if (recorded) onEvent(recorded);
    return result;
  }

  const found = <T>(thing: T | undefined, what: string): T => {
    if (thing === undefined) throw notFound(`there is no such ${what}`);
    return thing;
  };

  /** The last administrator cannot be lost: nobody could make another one. */
  async function keepAnAdministrator(repositories: Repositories, before: User | undefined): Promise<void> {
    if (!before?.admin || before.status !== 'enabled') return;
    if (!(await repositories.users.hasAdmin()))
      throw conflict('this is the last enabled administrator: make another one first');
  }

  return {
    /** @throws OAuthError conflict when the user name or the email is taken */
    createUser: (by: Actor, user: NewUser): Promise<User> =>
      act(
        by,
        { type: 'user.created' },
        (repositories) => repositories.users.insert(user),
        (made) => ({
          sub: made.sub,
          detail: { username: made.username, admin: made.admin },
        }),
      ).catch((error: unknown) => {
        throw isUniqueViolation(error) ? conflict('the user name or the email is taken') : error;
      }),
    changeUser: (by: Actor, sub: string, change: UserChange, passwordHash?: string): Promise<User> =>
      act(
        by,
        {
          type:
            change.status === 'disabled'
              ? 'user.disabled'
              : passwordHash === undefined
                ? 'user.changed'
                : 'user.password_changed',
          sub,
          detail: {
            members: [
              ...Object.keys(change).filter((key) => change[key as keyof UserChange] !== undefined),
              ...(passwordHash === undefined ? [] : ['password']),
            ],
          },
        },
        async (repositories) => {
          if (passwordHash !== undefined) await repositories.users.setPassword(sub, passwordHash);
          const before = await repositories.users.find(sub);
          const changed = found(await repositories.users.update(sub, change), 'user');
          await keepAnAdministrator(repositories, before);
          return changed;
        },
      ).catch((error: unknown) => {
        throw isUniqueViolation(error) ? conflict('the user name or the email is taken') : error;
      }),
    deleteUser: (by: Actor, sub: string): Promise<void> =>
      act(by, { type: 'user.deleted', sub }, async (repositories) => {
        const before = await repositories.users.find(sub);
        if (!(await repositories.users.delete(sub))) throw notFound('there is no such user');
        await keepAnAdministrator(repositories, before);
      }),
    createClient: (by: Actor, client: NewClient): Promise<Client> =>
      act(
        by,
        {
          type: 'client.created',
          clientId: client.clientId,
          detail: { name: client.metadata.client_name, scope: client.metadata.scope },
        },
        (repositories) => repositories.clients.insert(client),
      ),
    /** Changes a client. @param decide makes the change of what the client is, which nobody else changes meanwhile; it may run again */
    changeClient: (by: Actor, clientId: string, decide: (current: Client) => ClientChange): Promise<Client> => {
      let change: ClientChange = {};
      return act(
        by,
        { type: 'client.updated', clientId },
        async (repositories) => {
          change = decide(found(await repositories.clients.lock(clientId), 'client'));
          return found(await repositories.clients.update(clientId, change), 'client');
        },
        () => ({ detail: { members: Object.keys(change) } }),
      );
    },
    /** Approves what was looked at. @throws OAuthError conflict when it changed since */
    approveClient: (by: Actor, clientId: string, version: number | undefined): Promise<Client> =>
      act(
        by,
        { type: 'client.approved', clientId },
        async (repositories) => {
          const approved = await repositories.clients.approve(clientId, version);
          if (approved) return approved;
          const client = found(await repositories.clients.find(clientId), 'client');
          if (client.uncollected && (version ?? client.version) === client.version)
            throw conflict('this registration was refused or its time is over: the client has to register again');
          throw conflict('the client changed since you looked at it: look again, then approve its present version');
        },
        (client) => ({ detail: { version: client.version } }),
      ),
    /** Refuses what waits for a decision, with a reason that the registrant can read. @throws OAuthError conflict */
    refuseClient: (by: Actor, clientId: string, version: number | undefined, reason: string): Promise<Client> =>
      act(by, { type: 'client.refused', clientId, detail: { reason } }, async (repositories) => {
        const refused = await repositories.clients.refuse(clientId, version, reason);
        if (refused) return refused;
        found(await repositories.clients.find(clientId), 'client');
        throw conflict('nothing of this client waits for a decision, or it changed since you looked at it');
      }),
    disableClient: (by: Actor, clientId: string): Promise<Client> =>
      act(by, { type: 'client.disabled', clientId }, async (repositories) =>
        found(await repositories.clients.disable(clientId), 'client'),
      ),
    deleteClient: (by: Actor, clientId: string): Promise<void> =>
      act(by, { type: 'client.deleted', clientId }, async (repositories) => {
        if (!(await repositories.clients.delete(clientId))) throw notFound('there is no such client');
      }),
    endSession: (by: Actor, sid: string): Promise<void> =>
      act(by, { type: 'session.ended', detail: { session: sid } }, async (repositories) => {
        if (!(await repositories.sessions.endBySid(sid))) throw notFound('there is no such session');
      }),
    /** Stores an initial access token. @param lifetime in seconds */
    createRegistrationToken: (by: Actor, tokenHash: Buffer, lifetime: number): Promise<Date> => {
      if (lifetime < 1) throw invalidRequest('the lifetime must be at least a second');
      return act(by, { type: 'registration_token.created' }, (repositories) =>
        repositories.registrationTokens.insert(tokenHash, lifetime),
      );
    },
  };
}
