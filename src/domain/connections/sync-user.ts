// Stores what a connection states about a linked user: claims and groups by its rules, and an address that it owns (federation 4).
import { isDeepStrictEqual } from 'node:util';
import { conflict } from '../../oauth/errors.ts';
import { isOfAttribute, mappedClaims, mappedGroups, valueAt } from '../../rules/connections/connection-answer.ts';
import { domainOf, isOfDomains } from '../../rules/connections/mail-domain.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { User, UserChange } from '../../repositories/users/users.ts';
import type { VerifiedIdentity } from './kind.ts';

export interface Sync {
  connection: Connection;
  identity: Pick<VerifiedIdentity, 'claims' | 'address' | 'unsignedNames'>;
  /** The transaction holds the user's row. */
  user: User;
  /** Whether the identity has just been linked. */
  first: boolean;
  /** The groups that only an administrator changes. */
  guarded: readonly string[];
  vouches: 'authority' | 'word' | 'no';
}

export async function syncUser(repositories: Repositories, sync: Sync): Promise<void> {
  const { connection, first } = sync;
  if (connection.sync === 'never' || (connection.sync === 'first' && !first)) return;
  await syncMembers(repositories, sync);
  await syncGroups(repositories, sync);
}

const nameClaims = ['name', 'given_name', 'family_name'];

/** Stores claims and the address. A connection without claim rules sets the claims of users whom it makes, and changes none later. */
async function syncMembers(repositories: Repositories, sync: Sync): Promise<void> {
  const { users, attributes, auditEvents } = repositories;
  const { connection, identity, user, first } = sync;
  const change: UserChange = {};
  const members: string[] = [];
  const { claims: ruled, unique } = await ruledClaims(repositories, sync);
  // unsigned names fill an empty name at the first sign-in
  const isNameless = nameClaims.every((name) => user.claims[name] === undefined);
  const said = {
    ...(first && isNameless && identity.unsignedNames && mappedClaims([], identity.unsignedNames)),
    ...ruled,
  };
  const claims = { ...user.claims, ...said };
  if (!isDeepStrictEqual(claims, user.claims)) {
    change.claims = claims;
    members.push(...Object.keys(said).filter((name) => !isDeepStrictEqual(said[name], user.claims[name])));
  }
  const address = await ownedAddress(users, sync);
  if (address === undefined) await noteMoved(repositories, sync);
  if (address !== undefined) {
    if (address !== user.email) change.email = address;
    change.confirmedBy = 'authority';
    members.push('email');
  }
  if (members.length === 0) return;
  await users.update(user.sub, change);
  if (!(await attributes.keepUnique([user.sub], unique)))
    throw conflict('another user got the same value of a unique attribute at this moment');
  await auditEvents.insert({
    type: 'user.changed',
    outcome: 'success',
    actor: `connection:${connection.id}`,
    sub: user.sub,
    detail: { members, connection: connection.id },
  });
}

/** The claims by the rules of the connection, and the unique attributes among them. It leaves out a value that another user has. */
async function ruledClaims(
  { attributes }: Repositories,
  { connection: { claimRules }, identity, user }: Sync,
): Promise<{ claims: Record<string, unknown>; unique: string[] }> {
  if (claimRules.length === 0) return { claims: {}, unique: [] };
  const definitions = claimRules.some(isOfAttribute) ? await attributes.listForUse() : [];
  const claims = mappedClaims(claimRules, identity.claims, definitions);
  const unique = definitions
    .filter(({ name, unique }) => unique && Object.hasOwn(claims, name))
    .map(({ name }) => name);
  const taken = unique.length > 0 ? await attributes.heldByOthers(user.sub, claims, unique) : [];
  const isFree = (name: string) => !taken.includes(name);
  return {
    claims: Object.fromEntries(Object.entries(claims).filter(([name]) => isFree(name))),
    unique: unique.filter(isFree),
  };
}

/** Records that the provider states another address of the user, which the service does not store. */
async function noteMoved({ linkedIdentities, auditEvents }: Repositories, sync: Sync): Promise<void> {
  const { connection, identity, user, vouches } = sync;
  const address = identity.address?.value;
  if (vouches === 'no' || address === undefined || address === user.email) return;
  if (!(await linkedIdentities.noteAddress(connection.id, user.sub, address))) return;
  await auditEvents.insert({
    type: 'user.email_kept',
    outcome: 'failure',
    actor: `connection:${connection.id}`,
    sub: user.sub,
    detail: { connection: connection.id },
  });
}

/**
 * The address to store as confirmed. The connection must have authority over it. It replaces only an address in the domains of the connection,
 * and is never the address of another account.
 */
async function ownedAddress(users: Repositories['users'], sync: Sync): Promise<string | undefined> {
  const { connection, identity, user, vouches } = sync;
  const address = identity.address?.value;
  if (vouches !== 'authority' || address === undefined) return undefined;
  if (address === user.email) return user.emailVerified && user.confirmedBy !== 'word' ? undefined : address;
  const domain = user.email === undefined ? undefined : domainOf(user.email);
  const isOurs =
    user.email === undefined ||
    (domain !== undefined && isOfDomains(domain, connection.authoritativeDomains, connection.subdomains));
  const holder = isOurs ? await users.findByEmail(address) : undefined;
  return isOurs && (holder === undefined || holder.sub === user.sub) ? address : undefined;
}

async function syncGroups({ memberships, auditEvents }: Repositories, sync: Sync): Promise<void> {
  const { connection, identity, user, guarded } = sync;
  const { id, groupRules, defaultGroups, settings } = connection;
  if (groupRules.length === 0 && defaultGroups.length === 0) return;
  const path = typeof settings['groups_claim'] === 'string' ? settings['groups_claim'] : 'groups';
  const said =
    groupRules.length === 0
      ? []
      : mappedGroups(groupRules, valueAt(identity.claims, path), identity.claims['group_dns']);
  const event = { outcome: 'success', actor: `connection:${id}`, sub: user.sub } as const;
  // an answer without groups removes no membership (federation FR15)
  if (said === undefined) {
    await auditEvents.insert({ ...event, type: 'groups.unknown', detail: { connection: id } });
    return;
  }
  const { joined, departed, skipped } = await memberships.set(
    user.sub,
    id,
    [...new Set([...said, ...defaultGroups])],
    guarded,
  );
  if (joined.length > 0 || departed.length > 0)
    await auditEvents.insert({
      ...event,
      type: 'user.changed',
      detail: { members: ['groups'], connection: id, joined: joined.slice(0, 20), departed: departed.slice(0, 20) },
    });
  if (skipped.length > 0)
    await auditEvents.insert({
      ...event,
      type: 'group.guarded',
      outcome: 'failure',
      detail: { connection: id, groups: skipped.slice(0, 20) },
    });
}
