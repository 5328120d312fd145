// Finds, links or makes the user whom a verified identity is: the one routine that links, for every kind of connection (federation 4).
import type { Config } from '../../config.ts';
import { isUniqueViolation } from '../../database/database.ts';
import { name as usernameShape } from '../../oauth/administration.ts';
import { mappedClaims, valueAt, vouching } from '../../oauth/connection-answer.ts';
import { routeOf } from '../../oauth/connection-route.ts';
import { decideLink, type LinkRefusal } from '../../oauth/linking.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Connection } from '../../repositories/connections/connections.ts';
import type { LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import type { User } from '../../repositories/users/users.ts';
import { guardedGroups } from '../administration/guarded-groups.ts';
import { type ConnectionKinds, profileOfConnection } from './kinds.ts';
import type { VerifiedIdentity } from './kind.ts';
import { syncUser } from './sync-user.ts';

/** Where the identity arrived, and for whom. */
export interface LinkRequest {
  /** `link` if a signed-in user began it to link the account. */
  purpose: 'sign-in' | 'link';
  /** The session in this browser, for the purpose `link`. */
  session?: { sub: string; recent: boolean } | undefined;
  /** The user name that the user chose for a new account. */
  username?: string | undefined;
  /** The account that the user has just proven, or whose page the user has just confirmed. */
  agreed?: string | undefined;
  /** An import of a directory found the identity: no user is there to be asked, and a refusal is no event. */
  imported?: true | undefined;
  /** Where the request comes from, for the events. */
  by: Partial<Pick<Actor, 'address' | 'languages'>>;
}

export type LinkOutcome =
  | { outcome: 'sign-in'; sub: string }
  | { outcome: 'prove'; sub: string; address: string }
  | { outcome: 'confirm'; sub: string }
  /** A name for the new account is missing; `taken` if another account has it. */
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
        // another request took the name or the address meanwhile: the next look finds it
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
        const user = await users.lock(decision.sub);
        if (!request.imported) await linkedIdentities.touch(key);
        await sync(user!, false);
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
        ...{
          type: 'identity.refused',
          outcome: 'failure',
          actor: `connection:${id}`,
          sub,
          address: request.by.address,
        },
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
      // two identities of one connection at once (federation F9)
      if (!made) return refuse('linked-otherwise');
      await repositories.auditEvents.insert({
        ...{ type: 'identity.linked', outcome: 'success', sub, ...request.by },
        actor: how === 'person' ? sub : `connection:${id}`,
        detail: { connection: id, how },
      });
      await sync(user, true);
      return { outcome: 'sign-in', sub };
    }

    async function provision(): Promise<LinkOutcome> {
      const said = valueAt(identity.claims, connection!.usernameFrom);
      const suggested = typeof said === 'string' ? said.trim() : undefined;
      const wanted = request.username ?? suggested;
      const usable = wanted !== undefined && isUsable(wanted, vouched);
      // a name that is the address of another account would sign in before that account
      const taken = usable && (await users.findByLogin(wanted)) !== undefined;
      if (!usable || taken) return { outcome: 'name', suggested, taken };
      const first = connection!.sync !== 'never';
      const user = await users.insert({
        username: wanted,
        email: vouched,
        emailVerified:
          vouched !== undefined &&
          (facts.vouches === 'authority' || (profileOfConnection(kinds, connection!)?.confirms ?? false)),
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

  /** Reads what the rule needs; the account with the address only if the connection vouches for it (federation FR2). */
  async function factsOf(
    { linkedIdentities, users }: Repositories,
    all: readonly Connection[],
    connection: Connection,
    identity: VerifiedIdentity,
    { purpose, session }: LinkRequest,
  ): Promise<{ facts: Parameters<typeof decideLink>[0]; owner: string | undefined }> {
    const { id, linking, provisioning, authoritativeDomains, subdomains } = connection;
    const { issuer, subject, address } = identity;
    const found = await linkedIdentities.find({ connectionId: id, issuer, subject });
    const linkedUser = found && (await users.find(found.sub));
    const wordCounts = profileOfConnection(kinds, connection)?.wordCounts ?? false;
    // of two connections with authority over a domain and one above it, the nearest one owns it
    const owning = all.map((one) => ({ id: one.id, domains: one.authoritativeDomains, subdomains: one.subdomains }));
    const owner = address && routeOf(address.value, owning);
    const ownedElsewhere = owner !== undefined && owner.id !== id;
    const vouches = ownedElsewhere ? 'no' : vouching({ authoritativeDomains, subdomains, wordCounts }, address);
    const account = found || vouches === 'no' ? undefined : await users.findByEmail(address!.value);
    const hasLink = async (sub: string) =>
      (await linkedIdentities.ofUser(sub)).some(({ connectionId }) => connectionId === id);
    return {
      owner: owner?.id,
      facts: {
        ...{ purpose, linking, provisioning, vouches, expected: undefined, ownedElsewhere },
        linked: found && { sub: found.sub, enabled: linkedUser?.status === 'enabled' },
        session: session && { ...session, hasLink: await hasLink(session.sub) },
        account: account && {
          sub: account.sub,
          enabled: account.status === 'enabled',
          confirmed: account.emailVerified,
          powerful: account.admin || account.groups.some((group) => guarded.includes(group)),
          hasLink: await hasLink(account.sub),
          removedLink: await linkedIdentities.isRemoved(id, account.sub),
        },
      },
    };
  }
}

/** Whether a name can be that of a new user. One that reads as an address must be the vouched address of the user. */
function isUsable(name: string, vouched: string | undefined): boolean {
  return usernameShape.safeParse(name).success && (!name.includes('@') || name === vouched);
}
