// Finds, links or makes the user of a verified identity. Every kind of connection links by this routine alone (federation 4).
import type { Config } from '../../config.ts';
import { isUniqueViolation } from '../../database/database.ts';
import { ownName, userName } from '../../rules/users/administration.ts';
import { type Claims, mappedClaims, valueAt, vouching } from '../../rules/connections/connection-answer.ts';
import { enforcingOf, routeOf } from '../../rules/connections/connection-route.ts';
import { loginKey } from '../../rules/users/login-key.ts';
import { decideLink, type LinkRefusal } from '../../rules/connections/linking.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Connection } from '../../entities/connections.ts';
import type { LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { Confirmation, User } from '../../repositories/users/users.ts';
import { guardedGroups } from '../administration/guarded-groups.ts';
import { type ConnectionKinds, profileOfConnection } from './kinds.ts';
import type { VerifiedIdentity } from './kind.ts';
import { syncUser } from './sync-user.ts';

/** The request in which an identity arrived. */
export interface LinkRequest {
  /** `link` if a signed-in user began the request to link the account. */
  purpose: 'sign-in' | 'link';
  /** The session in this browser, for the purpose `link`. */
  session?: { sub: string; recent: boolean } | undefined;
  /** The user name that the user chose for a new account. */
  username?: string | undefined;
  /** The account that the user has just proven, or has just confirmed on its page. */
  agreed?: string | undefined;
  /** An import of a directory found the identity: it cannot ask a user, and a refusal records no event. */
  imported?: true | undefined;
  /** The origin of the request, for the events. */
  by: Partial<Pick<Actor, 'address' | 'languages'>>;
}

export type LinkOutcome =
  | { outcome: 'sign-in'; sub: string }
  | { outcome: 'prove'; sub: string; address: string }
  | { outcome: 'confirm'; sub: string }
  /** The new account needs a name; `taken` if another account has the suggested one. */
  | { outcome: 'name'; suggested: string | undefined; taken: boolean }
  /** `leadsTo` is the connection with authority over the domain. */
  | { outcome: 'refused'; reason: LinkRefusal | 'closed'; leadsTo?: string | undefined };

export type LinkIdentity = (id: string, identity: VerifiedIdentity, request: LinkRequest) => Promise<LinkOutcome>;

export function createLinkIdentity({
  store,
  config,
  kinds,
}: {
  store: Store;
  config: Pick<Config, 'secondFactor'>;
  kinds: ConnectionKinds;
}): LinkIdentity {
  const guarded = guardedGroups(config);

  return async (id, identity, request) => {
    for (let tries = 0; ; tries++) {
      try {
        return await store.transaction((repositories) => resolve(repositories, id, identity, request));
      } catch (error) {
        // another request took the name or the address meanwhile: the next attempt finds it
        if (!isUniqueViolation(error) || tries === 2) throw error;
      }
    }
  };

  async function resolve(
    repositories: Repositories,
    id: string,
    identity: VerifiedIdentity,
    request: LinkRequest,
  ): Promise<LinkOutcome> {
    const { linkedIdentities, users } = repositories;
    const { issuer, subject } = identity;
    const key = { connectionId: id, issuer, subject };
    await linkedIdentities.claim(key);
    await repositories.connections.hold(id);
    const all = await repositories.connections.list();
    const connection = all.find((one) => one.id === id);
    const opensTo = request.purpose === 'link' ? ['enabled', 'link_only'] : ['enabled'];
    const issuerNow = connection && profileOfConnection(kinds, connection)?.issuer;
    // the identity may be older than the settings, or than the connection (federation F27)
    const isOfIssuer = issuerNow === undefined || issuerNow === issuer;
    const isOpen = connection !== undefined && opensTo.includes(connection.status) && isOfIssuer;
    const found = isOpen ? await factsOf(repositories, all, connection, identity, request) : undefined;
    if (!found) return refuse('closed');

    const { facts } = found;
    const decision = decideLink(facts);
    const { address } = identity;
    const vouched = facts.vouches === 'no' ? undefined : address?.value;
    switch (decision.decision) {
      case 'sign-in': {
        if (!request.imported) await linkedIdentities.touch(key);
        await sync(found.linkedUser!, false);
        return { outcome: 'sign-in', sub: decision.sub };
      }
      case 'confirm':
      case 'prove':
        if (request.agreed === decision.sub) return link(decision.sub, 'person');
        return decision.decision === 'confirm'
          ? { outcome: 'confirm', sub: decision.sub }
          : { outcome: 'prove', sub: decision.sub, address: address!.value };
      case 'link':
        return link(decision.sub, decision.how);
      case 'provision':
        return provision();
      case 'refuse':
        return refuse(decision.reason);
    }

    async function refuse(reason: LinkRefusal | 'closed'): Promise<LinkOutcome> {
      const sub = found?.facts.linked?.sub;
      if (request.imported) return { outcome: 'refused', reason };
      await repositories.auditEvents.insert({
        type: 'identity.refused',
        outcome: 'failure',
        actor: `connection:${id}`,
        sub,
        address: request.by.address,
        detail: { connection: id, reason },
      });
      return { outcome: 'refused', reason, ...(reason === 'elsewhere' && { leadsTo: found?.owner }) };
    }

    async function link(sub: string, how: LinkedIdentity['how']): Promise<LinkOutcome> {
      const user = await users.lock(sub);
      if (user?.status !== 'enabled') return refuse('disabled');
      const made = await linkedIdentities.insert(
        { ...key, sub, how, emailThen: vouched },
        request.purpose === 'sign-in' && !request.imported,
      );
      // another identity of this connection was linked to the user at the same time (federation F9)
      if (!made) return refuse('linked-otherwise');
      await repositories.auditEvents.insert({
        type: 'identity.linked',
        outcome: 'success',
        sub,
        ...request.by,
        actor: how === 'person' ? sub : `connection:${id}`,
        detail: { connection: id, how },
      });
      await sync(user, true);
      return { outcome: 'sign-in', sub };
    }

    async function provision(): Promise<LinkOutcome> {
      const suggested = nameIn(identity.claims, connection!);
      const given = request.username ?? suggested;
      const usable = given !== undefined && isUsable(given, facts.vouches === 'authority' ? vouched : undefined);
      const isTaken = (name: string) => users.isTaken(name);
      const taken = usable && (await isTaken(given));
      const hasSuffix = taken && connection!.usernameSuffix && request.username === undefined && !given.includes('@');
      const wanted = hasSuffix ? await freeName(given, isTaken) : given;
      if (!usable || wanted === undefined || (taken && !hasSuffix)) return { outcome: 'name', suggested, taken };
      const first = connection!.sync !== 'never';
      const user = await users.insert({
        username: wanted,
        isNameGiven: request.purpose === 'sign-in' && request.imported,
        email: vouched,
        confirmedBy: vouched === undefined ? undefined : confirmedBy(),
        claims: first ? mappedClaims(connection!.claimRules, identity.claims) : {},
      });
      const how = request.imported ? 'imported' : 'provisioned';
      await linkedIdentities.insert({ ...key, sub: user.sub, how, emailThen: vouched }, !request.imported);
      const event = {
        outcome: 'success',
        actor: `connection:${id}`,
        sub: user.sub,
        address: request.by.address,
      } as const;
      await repositories.auditEvents.insert({ ...event, type: 'user.created', detail: { connection: id } });
      await repositories.auditEvents.insert({
        ...event,
        type: 'identity.linked',
        detail: { connection: id, how },
      });
      await sync(user, true);
      return { outcome: 'sign-in', sub: user.sub };
    }

    /** Whether the answer confirms the address, and how (security R156, R157). */
    function confirmedBy(): Confirmation | undefined {
      if (facts.vouches === 'authority') return 'authority';
      return (address?.isConfirmed ?? connection!.trustEmail) ? 'word' : undefined;
    }

    function sync(user: User, first: boolean): Promise<void> {
      return syncUser(repositories, {
        connection: connection!,
        identity,
        user,
        first,
        guarded,
        vouches: facts.vouches,
      });
    }
  }

  /**
   * Locks the linked user, then reads the facts for the rule. It reads the account with the address only if the connection vouches for that
   * address (federation FR2).
   */
  async function factsOf(
    { linkedIdentities, users }: Repositories,
    all: readonly Connection[],
    connection: Connection,
    identity: VerifiedIdentity,
    { purpose, session }: LinkRequest,
  ): Promise<{
    facts: Parameters<typeof decideLink>[0];
    owner: string | undefined;
    linkedUser: User | undefined;
  }> {
    const { id, linking, provisioning, authoritativeDomains, subdomains } = connection;
    const { issuer, subject, address } = identity;
    const found = await linkedIdentities.find({ connectionId: id, issuer, subject });
    const linkedUser = found && (await users.lock(found.sub));
    const wordCounts = profileOfConnection(kinds, connection)?.wordCounts ?? false;
    // if one connection has authority over a domain and another over the domain above, the first one owns it
    const owning = all.map((one) => ({ id: one.id, domains: one.authoritativeDomains, subdomains: one.subdomains }));
    const owner = address && routeOf(address.value, owning);
    // a connection that enforces the domain owns it, too: a new user could not sign in by this one (security R158)
    const enforcing = address && enforcingOf(address.value, all);
    const isElsewhere = (other: { id: string } | undefined) => other !== undefined && other.id !== id;
    const ownedElsewhere = isElsewhere(owner) || isElsewhere(enforcing);
    const vouches = ownedElsewhere ? 'no' : vouching({ authoritativeDomains, subdomains, wordCounts }, address);
    const holder = found || vouches === 'no' ? undefined : await users.findByEmail(address!.value);
    const locked = holder && (await users.lock(holder.sub));
    const account = locked?.email === holder?.email ? locked : undefined;
    const linksOf = async (sub: string) => {
      const links = await linkedIdentities.ofUser(sub);
      const isHere = ({ connectionId }: LinkedIdentity) => connectionId === id;
      return { hasLink: links.some(isHere), hasOtherLink: !links.every(isHere) };
    };
    return {
      owner: isElsewhere(owner) ? owner?.id : enforcing?.id,
      linkedUser,
      facts: {
        purpose,
        linking,
        provisioning,
        vouches,
        expected: undefined,
        ownedElsewhere,
        linked: found && { sub: found.sub, enabled: linkedUser?.status === 'enabled' },
        session: session && { ...session, hasLink: (await linksOf(session.sub)).hasLink },
        account: account && {
          sub: account.sub,
          enabled: account.status === 'enabled',
          confirmedBy: account.confirmedBy,
          powerful: account.admin || account.groups.some((group) => guarded.includes(group)),
          ...(await linksOf(account.sub)),
          removedLink: await linkedIdentities.isRemoved(id, account.sub),
        },
      },
    };
  }
}

/** The user name of a new user, as the answer states it. */
function nameIn(claims: Claims, connection: Pick<Connection, 'usernameFrom' | 'usernameLocalPart'>) {
  const said = valueAt(claims, connection.usernameFrom);
  if (typeof said !== 'string') return undefined;
  const name = connection.usernameLocalPart ? said.replace(/@[^@]*$/, '') : said;
  return name.trim();
}

/** The largest number that is added to a name. If all are taken, the page asks the user for a name. */
const mostSuffixes = 100;

/** The name with the lowest number that makes it free. */
async function freeName(name: string, isTaken: (name: string) => Promise<boolean>): Promise<string | undefined> {
  const start = [...name].slice(0, 60).join('');
  for (let number = 2; number <= mostSuffixes; number++)
    if (!(await isTaken(`${start}${number}`))) return `${start}${number}`;
  return undefined;
}

/**
 * Whether a user or a connection can choose this name for a new user (security R154). An address can be the name of its own user only: another
 * address gets the same answer whether it has an account or not.
 * @param owned the address of the user, if the connection has authority over it
 */
function isUsable(name: string, owned: string | undefined): boolean {
  const isOwned = owned !== undefined && loginKey(name) === loginKey(owned);
  return (isOwned ? userName : ownName).safeParse(name).success;
}
