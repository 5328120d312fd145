// Creates, changes and deletes users for a SCIM source. It sets no password, power, guarded group or confirmation, and no link but that of the
// source's connection (federation 8, FR34, FR35).
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config.ts';
import { isTakenKey, isUniqueViolation } from '../../database/database.ts';
import type { Connection } from '../../entities/connections.ts';
import type { ScimSource } from '../../entities/scim-sources.ts';
import { userEvent } from '../../repositories/audit/audit-diff.ts';
import type { ScimPage, ScimUser, ScimUserValues } from '../../repositories/scim/scim-users.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { User, UserChange } from '../../repositories/users/users.ts';
import { invalidValue, ScimError, taken } from '../../rules/scim/errors.ts';
import type { Values } from '../../rules/scim/resource.ts';
import { userName } from '../../rules/users/administration.ts';
import type { Attribute } from '../../rules/claims/attributes.ts';
import { guardedGroups } from '../administration/guarded-groups.ts';
import { membershipSource } from '../administration/scim-sources.ts';
import { type ConnectionKinds, issuerOfIdentity } from '../connections/kinds.ts';
import { withoutNulls } from '../users/attributes.ts';
import { claimChanges, projectionOf, uniqueIn } from './projection.ts';

export interface ScimUsersOptions {
  store: Store;
  config: Pick<Config, 'secondFactor'>;
  connectionKinds: ConnectionKinds;
}

/** Refuses a version that the request did not expect. @throws ScimError 412 */
export type Expects = (one: { version: number; active?: boolean }) => void;

const gone = () => new ScimError(404, 'there is no such resource');
const powerful = () =>
  new ScimError(403, 'only an administrator changes the name, the address, the external id or the status of this user');

interface Read {
  values: ScimUserValues;
  active: boolean;
  emailed: Values;
}

/** Divides a resource into what the tables have. @throws ScimError invalidValue */
function divide({ userName: name, externalId, active = true, ...resource }: Values): Read {
  const parsed = userName.safeParse(name);
  if (!parsed.success) throw invalidValue('userName cannot be a name of a user');
  if (externalId !== undefined && Buffer.byteLength(String(externalId)) > 255)
    throw invalidValue('externalId has more than 255 bytes');
  const values = { userName: parsed.data, externalId: externalId as string | undefined, resource };
  return { values, active: active === true, emailed: resource };
}

/** The resource that the parts of a row stand for. */
export const resourceOf = ({ userName: name, externalId, resource, active }: ScimUser): Values => ({
  userName: name,
  ...(externalId !== undefined && { externalId }),
  ...resource,
  active,
});

export function createScimUsers({ store, config, connectionKinds }: ScimUsersOptions) {
  const guarded = guardedGroups(config);
  const isGuarded = ({ groups }: User) => groups.some((group) => guarded.includes(group));
  const actorOf = ({ id }: ScimSource) => ({ actor: membershipSource(id) });

  const connectionOf = async ({ connections }: Repositories, { connectionId }: ScimSource) =>
    connectionId === undefined ? undefined : await connections.find(connectionId);

  /** The identity that the source calls by an external id, at its connection. */
  function identityOf(connection: Connection | undefined, externalId: string | undefined) {
    const issuer = connection && issuerOfIdentity(connectionKinds, connection);
    if (!connection || issuer === undefined || externalId === undefined) return undefined;
    return { connectionId: connection.id, issuer, subject: externalId };
  }

  /** In a transaction that holds the user's row: the user signs in by the connection of the source. @throws ScimError uniqueness */
  async function link(
    { linkedIdentities, auditEvents }: Repositories,
    source: ScimSource,
    sub: string,
    identity: ReturnType<typeof identityOf>,
    before?: ReturnType<typeof identityOf>,
  ): Promise<void> {
    if (before?.subject === identity?.subject) return;
    const links = await linkedIdentities.ofUser(sub);
    const own = links.find((one) => one.connectionId === (identity ?? before)?.connectionId);
    // a link that a person or an administrator made stays, and one that was removed does not return
    if (own && (own.how !== 'provisioned' || own.subject !== before?.subject)) return;
    const detail = { connection: (identity ?? before)!.connectionId, how: 'provisioned' };
    const event = { ...actorOf(source), outcome: 'success', sub, detail } as const;
    if (own) {
      await linkedIdentities.remove(own.connectionId, sub);
      await auditEvents.insert({ ...event, type: 'identity.unlinked' });
    } else if (identity && (await linkedIdentities.isRemoved(identity.connectionId, sub))) return;
    if (!identity) return;
    if (!(await linkedIdentities.insert({ ...identity, sub, how: 'provisioned', emailThen: undefined }, false)))
      throw taken('another user is linked to the identity with this externalId');
    await auditEvents.insert({ ...event, type: 'identity.linked' });
  }

  /** The user whom the source takes over; undefined if there is none (federation 8). */
  async function adoptable(
    { users, scimUsers }: Repositories,
    { adopt }: ScimSource,
    address: string | undefined,
  ): Promise<User | undefined> {
    if (adopt !== 'domain' || address === undefined) return undefined;
    const found = await users.findByEmail(address);
    const holder = found && (await users.lock(found.sub));
    if (!holder || holder.email !== found.email) return undefined;
    const isConfirmed = holder.emailVerified && holder.confirmedBy !== 'word';
    if (!isConfirmed || holder.admin || isGuarded(holder)) return undefined;
    return (await scimUsers.sourceOf(holder.sub)) === undefined ? holder : undefined;
  }

  /** In a transaction that holds the user's row: lets the user in, or ends everything of the user (federation FR37). */
  async function setActive(repositories: Repositories, before: User, active: boolean, byMe: boolean): Promise<void> {
    const { users, scimUsers } = repositories;
    if (active === (before.status === 'enabled')) return;
    // a user whom an administrator disabled stays disabled
    if (active && !byMe) return;
    if (!active && before.admin) throw powerful();
    await users.update(before.sub, { status: active ? 'enabled' : 'disabled' });
    if (!active) await users.endSessions(before.sub);
    await scimUsers.setDisabled(before.sub, !active);
  }

  async function record({ users, auditEvents }: Repositories, source: ScimSource, before: User): Promise<void> {
    const event = userEvent(before, (await users.find(before.sub))!);
    if (event) await auditEvents.insert({ ...event, ...actorOf(source), outcome: 'success' });
  }

  /** Stores the changed members of a user. @throws ScimError */
  async function change(
    repositories: Repositories,
    source: ScimSource,
    user: User,
    { values, emailed }: Read,
    before: ScimUser,
    context: { connection: Connection | undefined; definitions: readonly Attribute[] },
  ): Promise<void> {
    const { users, attributes } = repositories;
    const { connection, definitions } = context;
    const was = projectionOf(before.resource, definitions, connection);
    const is = projectionOf(emailed, definitions, connection);
    const claims = claimChanges(was.claims, is.claims);
    const isRenamed = values.userName !== before.userName && values.userName !== user.username;
    const isMoved = is.address !== was.address && is.address !== undefined && is.address !== user.email;
    const isRelinked = values.externalId !== before.externalId && connection !== undefined;
    if ((isRenamed || isMoved || isRelinked) && (user.admin || isGuarded(user))) throw powerful();
    const update: UserChange = {
      ...(isRenamed && { username: values.userName }),
      ...(isMoved && { email: is.address, confirmedBy: 'authority' }),
      ...(Object.keys(claims).length > 0 && { claims: withoutNulls({ ...user.claims, ...claims }) }),
    };
    if (Object.keys(update).length > 0) {
      await users.update(user.sub, update);
      if (!(await attributes.keepUnique([user.sub], uniqueIn(claims, definitions))))
        throw taken('another user has the same value of a unique attribute');
    }
    const [then, now] = [before.externalId, values.externalId].map((id) => identityOf(connection, id));
    await link(repositories, source, user.sub, now, then);
  }

  /** Locks the user, then the row of the source. @throws ScimError 404 */
  async function locked({ users, scimUsers }: Repositories, source: ScimSource, sub: string, withGone = false) {
    const user = await users.lock(sub);
    const mine = user && (await scimUsers.lock(source.id, sub));
    if (!mine || (mine.deletedAt && !withGone)) throw gone();
    return { user, mine };
  }

  /** Another transaction, or the database, found that a name is taken. */
  const refused = (error: unknown): never => {
    if (isTakenKey(error) || isUniqueViolation(error))
      throw taken('userName, externalId or an address is that of another user');
    throw error;
  };

  async function write(
    source: ScimSource,
    sub: string,
    expects: Expects,
    next: (mine: ScimUser) => Values,
    withGone = false,
  ): Promise<void> {
    await store
      .transaction(async (repositories) => {
        const { scimUsers, attributes } = repositories;
        const { user, mine } = await locked(repositories, source, sub, withGone);
        if (!mine.deletedAt) expects(mine);
        const read = divide(next(mine));
        const definitions = await attributes.listForUse();
        const connection = await connectionOf(repositories, source);
        const same =
          !mine.deletedAt &&
          isDeepStrictEqual(read.values, {
            userName: mine.userName,
            externalId: mine.externalId,
            resource: mine.resource,
          });
        if (!same) {
          await change(repositories, source, user, read, mine, { connection, definitions });
          await scimUsers.update(source.id, sub, read.values);
        }
        await setActive(repositories, user, read.active, mine.disabled);
        await record(repositories, source, user);
      })
      .catch(refused);
  }

  return {
    list: (source: ScimSource, page: ScimPage, withGroups: boolean) =>
      store.scimUsers.list(source.id, page, withGroups),
    /** @throws ScimError 404 */
    async find(source: ScimSource, sub: string): Promise<ScimUser> {
      const found = sub.includes('\0') ? undefined : await store.scimUsers.find(source.id, sub);
      if (!found) throw gone();
      return found;
    },
    /** Makes a user, adopts one, or brings a deleted one back. @returns the sub @throws ScimError */
    async create(source: ScimSource, resource: Values): Promise<string> {
      const { values, active, emailed } = divide(resource);
      const known =
        values.externalId === undefined ? undefined : await store.scimUsers.byExternalId(source.id, values.externalId);
      if (known && !known.gone) throw taken('a user has this externalId');
      if (known) {
        await write(
          source,
          known.sub,
          () => undefined,
          () => resource,
          true,
        );
        return known.sub;
      }
      return store
        .transaction(async (repositories) => {
          const { users, scimUsers, attributes, linkedIdentities, auditEvents } = repositories;
          const connection = await connectionOf(repositories, source);
          const identity = identityOf(connection, values.externalId);
          if (identity) await linkedIdentities.claim(identity);
          const definitions = await attributes.listForUse();
          const { claims, address } = projectionOf(emailed, definitions, connection);
          const adopted = await adoptable(repositories, source, address);
          if (!adopted) {
            if (await users.isTaken(values.userName)) throw taken('another user has this userName');
            if (address !== undefined && (await users.isTaken(address))) throw taken('another user has this address');
          }
          // the first adoption changes no name and no address
          const user =
            adopted ??
            (await users.insert({
              username: values.userName,
              isNameGiven: true,
              email: address,
              confirmedBy: address === undefined ? undefined : 'authority',
              claims: withoutNulls(claims),
            }));
          if (!(await attributes.keepUnique([user.sub], adopted ? [] : uniqueIn(claims, definitions))))
            throw taken('another user has the same value of a unique attribute');
          await scimUsers.insert(source.id, user.sub, values, adopted !== undefined);
          await link(repositories, source, user.sub, identity);
          const event = { ...actorOf(source), outcome: 'success', sub: user.sub } as const;
          if (adopted) {
            const detail = { members: ['scim_source'], scim_source: source.id };
            await auditEvents.insert({ ...event, type: 'user.changed', detail });
          } else {
            const detail = { admin: false };
            await auditEvents.insert({ ...event, type: 'user.created', detail });
          }
          await setActive(repositories, user, active, false);
          if (!active) await record(repositories, source, user);
          return user.sub;
        })
        .catch(refused);
    },
    /** @param next makes the new resource from the locked one @throws ScimError */
    change: (source: ScimSource, sub: string, expects: Expects, next: (mine: ScimUser) => Values): Promise<void> =>
      sub.includes('\0') ? Promise.reject(gone()) : write(source, sub, expects, next),
    /** Ends everything of the user, then disables the account, or deletes it. @throws ScimError */
    async remove(source: ScimSource, sub: string, expects: Expects): Promise<void> {
      if (sub.includes('\0')) throw gone();
      await store.transaction(async (repositories) => {
        const { users, scimUsers, memberships, auditEvents } = repositories;
        const { user, mine } = await locked(repositories, source, sub);
        expects(mine);
        if (user.admin) throw powerful();
        await scimUsers.touchGroups(source.id, sub);
        if (source.onDelete === 'delete' && !mine.adopted) {
          await users.delete(sub);
          const detail = { admin: false };
          await auditEvents.insert({ ...actorOf(source), type: 'user.deleted', outcome: 'success', sub, detail });
          return;
        }
        await memberships.set(sub, membershipSource(source.id), [], []);
        await scimUsers.remove(source.id, sub);
        await setActive(repositories, user, false, mine.disabled);
        await record(repositories, source, user);
      });
    },
  };
}
