// Creates, changes and deletes connections. Their settings are checked, and metadata is read, outside of the transaction.
import { isDeepStrictEqual } from 'node:util';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { type Connection, connections, type ConnectionMembers } from '../../entities/connections.ts';
import { changed, type Input, membersOf, starts, view } from '../../entities/entity.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { firstRefusal, refusal } from '../../oauth/refusals.ts';
import { isOfAttribute } from '../../rules/connections/connection-answer.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { EndedAccess } from '../../repositories/connections/connections.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import { differing } from '../../repositories/entities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { makeConnectionKey } from '../../tokens/upstream-client.ts';
import type { ConnectionVariant } from '../connections/kind.ts';
import { type ConnectionKinds, variantOfConnection } from '../connections/kinds.ts';
import { notePublished } from '../connections/saml/metadata-watch.ts';
import { publishedDigest } from '../connections/saml/provider-metadata.ts';
import { hasMoved, secretAfterMove } from '../connections/moved-address.ts';
import { differences, otherSubject, sideOf } from './connection-trust.ts';

const nothing: EndedAccess = { sessions: 0, tokens: 0 };

/** Finds the rules of a connection's settings. @throws OAuthError invalid_request */
export function rulesOf(kinds: ConnectionKinds, of: Pick<Connection, 'kind' | 'preset'>): ConnectionVariant {
  if (!kinds.get(of.kind)) throw invalidRequest(refusal('connection.kind', 'kind'));
  const variant = variantOfConnection(kinds, of);
  if (!variant) throw invalidRequest(refusal('connection.preset', 'preset'));
  return variant;
}

/** Checks the settings: null removes one. @throws OAuthError invalid_request */
export function checkedSettings(variant: ConnectionVariant, settings: Input): Input {
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  const parsed = variant.shape.safeParse(given, { reportInput: true });
  if (parsed.success) return parsed.data;
  const wrong = firstRefusal(parsed.error, 'settings');
  throw invalidRequest({ ...wrong, member: wrong.member === 'settings' ? 'settings' : `settings.${wrong.member}` });
}

/** @throws OAuthError invalid_request */
async function requireSecret(
  variant: ConnectionVariant,
  { status, settings }: Pick<ConnectionMembers, 'status' | 'settings'>,
  secret: unknown,
  hasOne: boolean,
): Promise<void> {
  if (typeof secret === 'string' && variant.isSecret && !(await variant.isSecret(secret, settings)))
    throw invalidRequest(refusal(variant.secretRefusal ?? 'connection.secret-form', 'secret'));
  const has = secret === undefined ? hasOne : secret !== null;
  if (status !== 'disabled' && variant.profile(settings).credential === 'secret' && !has)
    throw invalidRequest(refusal('connection.secret', 'secret'));
}

/**
 * Whether an administrator accepts what the provider has published since: exactly what the administrator saw (federation F44).
 * @param digest of what was shown
 * @throws OAuthError conflict if the provider has published something else meanwhile
 */
function isAccepted(looked: Connection | undefined, digest: unknown): boolean {
  if (digest === undefined) return false;
  if (!looked?.discovery || publishedDigest(looked.discovery) !== digest)
    throw conflict(refusal('connection.saml-changed', 'accept_metadata'));
  return true;
}

/** @throws OAuthError conflict if another connection has one of the domains */
async function claimDomains(
  { connections }: Repositories,
  { id, domains, authoritativeDomains }: Connection,
): Promise<void> {
  await connections.lockDomains();
  const holder = await connections.keepDomains(id, domains, authoritativeDomains);
  if (holder !== undefined) throw conflict(refusal('connection.domain-held', 'domains', { connection: holder }));
}

export interface ConnectionContext {
  store: Store;
  connectionKinds: ConnectionKinds;
  secretBox: SecretBox;
}

export function connectionAdministration({ store, connectionKinds: kinds, secretBox }: ConnectionContext) {
  const seal = (id: string) => (value: string, column: string) => secretBox.seal(value, `connections.${column}.${id}`);

  /** The members and settings that decide about trust, for the event of a new connection (federation FR14). */
  function trustOf(connection: Connection) {
    const values = view(connections, connection);
    const trusted = membersOf(connections).flatMap(([name, { trust }]) => (trust ? [[name, values[name]]] : []));
    // such a member is a text, a flag or a list of texts
    const members = Object.fromEntries(trusted) as Record<string, string | boolean | string[]>;
    return { ...members, ...sideOf(rulesOf(kinds, connection), connection) };
  }

  /** Reads the metadata of the provider for new settings, and makes a key. */
  async function prepare(
    {
      secret,
      end_sessions: ends,
      renew_key: renewsKey,
      accept_metadata: accepted,
      read_metadata: rereads,
      ...given
    }: Input,
    looked?: Connection,
  ) {
    const first = looked ? { ...looked } : starts(connections);
    const { kind, preset } = changed(connections, first, given) as ConnectionMembers;
    const variant = rulesOf(kinds, { kind, preset });
    const input: Input = looked ? given : { ...variant.starts, ...given };
    const wanted = changed(connections, first, input) as ConnectionMembers;
    const checked = checkedSettings(variant, { ...looked?.settings, ...wanted.settings });
    const complete = kinds.get(kind)!.complete;
    const settings = complete
      ? await complete(checked, { before: looked, accepted: isAccepted(looked, accepted) })
      : checked;
    const members = { ...wanted, settings };
    const isMoved = looked !== undefined && hasMoved(variant, looked, members);
    const mustDecide = isMoved && secret === undefined && looked.secretEncrypted !== undefined;
    const kept = mustDecide ? secretAfterMove(variant, members) : secret;
    await requireSecret(variant, members, kept, looked?.secretEncrypted !== undefined);
    const isOther = !isDeepStrictEqual(settings, looked?.settings);
    const discovery = isOther ? await kinds.get(kind)!.discover({ preset, settings }) : undefined;
    const hasKey = looked?.keyPublic !== undefined && renewsKey !== true && !isMoved;
    const needsKey = variant.profile(settings).credential === 'key' && !hasKey;
    const key = needsKey ? await (variant.makeKey ?? makeConnectionKey)() : undefined;
    const published = rereads === true && looked ? await kinds.get(kind)!.reread?.(looked) : undefined;
    const prepared: Input = { ...input, settings, ...(kept !== undefined && { secret: kept }) };
    return {
      input: prepared,
      async stored(repositories: Repositories, made: Connection, which: readonly string[]) {
        const { id, status, storeTokens } = made;
        if (which.length > 0) await claimDomains(repositories, made);
        if (key) {
          const sealed = secretBox.seal(key.privateKey, associatedDataOf('connections.key_encrypted', id));
          await repositories.connections.setKey(id, sealed, { ...key.publicKey });
        }
        if (discovery) await repositories.connections.setDiscovery(id, discovery, settings);
        if (published) await notePublished(repositories, { id, settings }, published);
        const one = (await repositories.connections.find(id))!;
        if (!looked) return { one };
        // sign-ins at the previous provider must not finish, and its tokens must not reach the new one
        const isOtherSide = !isDeepStrictEqual(sideOf(variant, looked), sideOf(variant, made));
        if (isOtherSide) await repositories.connectionSteps.removeAll(id);
        if (isOtherSide || (looked.storeTokens && !storeTokens)) await repositories.upstreamTokens.removeAll(id);
        const ended = ends === true && status !== 'enabled' ? await repositories.connections.endSessions(id) : nothing;
        const hasEnded = ended.sessions + ended.tokens > 0;
        const detail = { ...(key && { members: [...which, 'key'] }), ...(hasEnded && ended) };
        return { one, ...(Object.keys(detail).length > 0 && { detail }) };
      },
    };
  }

  /** @throws OAuthError */
  async function check(repositories: Repositories, after: ConnectionMembers, looked?: Connection) {
    const { id, claimRules } = after;
    const name = looked && otherSubject(looked, after);
    if (name !== undefined && (await repositories.linkedIdentities.isUsed(id)))
      throw conflict(refusal('connection.subject-claim', `settings.${name}`));
    const targets = claimRules.filter(isOfAttribute).map(({ to }) => to);
    if (targets.length === 0) return;
    const defined = (await repositories.attributes.list()).map(({ name }) => name);
    const unknown = targets.find((to) => !defined.includes(to));
    if (unknown !== undefined) throw invalidRequest(refusal('connection.attribute', 'claim_rules', { name: unknown }));
  }

  /** In a transaction. @throws OAuthError not_found */
  async function lock(repositories: Repositories, id: string): Promise<Connection> {
    const found = await repositories.connections.lock(id);
    if (!found) throw notFound('there is no such connection');
    return found;
  }

  return {
    /** @throws OAuthError invalid_request, conflict */
    async create(by: Actor, given: Input): Promise<Connection> {
      const { input, stored } = await prepare(given);
      const id = String(input['id']);
      const wanted = changed(connections, starts(connections), input, seal(id)) as ConnectionMembers;
      return store.transaction(async (repositories) => {
        await check(repositories, wanted);
        // a client keeps the id of a deleted connection: users of another one must not come by that (federation F27)
        const client = await repositories.connections.clientNaming(wanted.id);
        if (client !== undefined) throw conflict(refusal('connection.still-named', 'id', { client }));
        const made = await repositories.connections.insert(wanted);
        if (!made) throw conflict(refusal('connection.taken', 'id'));
        const { one } = await stored(repositories, made, ['domains']);
        const { kind, preset } = made;
        const detail = { connection: id, kind, ...(preset && { preset }), ...trustOf(made) };
        await repositories.auditEvents.insert({ ...by, type: 'connection.created', outcome: 'success', detail });
        return one;
      });
    },
    /** @throws OAuthError not_found, invalid_request, conflict */
    async change(by: Actor, id: string, { version, ...given }: Input): Promise<Connection> {
      const looked = id.includes('\0') ? undefined : await store.connections.find(id);
      if (!looked) throw notFound('there is no such connection');
      const { input, stored } = await prepare(given, looked);
      return store.transaction(async (repositories) => {
        const before = await lock(repositories, id);
        if (before.version !== looked.version || (version !== undefined && version !== before.version))
          throw conflict(refusal('connection.version', 'version'));
        const after = changed(connections, before, input, seal(id));
        const members = differing(connections, before, after);
        await check(repositories, after, before);
        const made = members.length === 0 ? before : (await repositories.connections.update(after))!;
        const { one, detail: more } = await stored(repositories, made, members);
        if (members.length > 0 || more) {
          const trust = differences(trustOf(before), trustOf(made));
          const detail = { connection: id, members, ...trust, ...more };
          await repositories.auditEvents.insert({ ...by, type: 'connection.changed', outcome: 'success', detail });
        }
        return one;
      });
    },
    /** Deletes a connection with its links, sessions and memberships. @returns the ended access, and the number of users without another way in @throws OAuthError not_found */
    remove: async (by: Actor, id: string): Promise<EndedAccess & { people: number }> => {
      // waits for sign-ins that are being decided; a later one finds the connection disabled, and gives no memberships
      await store.transaction(async (repositories) => {
        await lock(repositories, id);
        const name = await repositories.references.namedBy('connections', id);
        if (name !== undefined) throw conflict(refusal('entity.named', 'connection', { name }));
        await repositories.connections.disable(id);
      });
      // deletes in steps: a directory may have given very many memberships
      for (let left = true; left;) {
        const subs = await store.memberships.usersOf(id, 500);
        for (const sub of subs) await store.transaction(({ memberships }) => memberships.set(sub, id, [], []));
        left = subs.length > 0;
      }
      return store.transaction(async (repositories) => {
        const found = await lock(repositories, id);
        const people = await repositories.connections.withoutOtherWay(id);
        const ended = await repositories.connections.endSessions(id);
        await repositories.connectionSteps.removeAll(id);
        await repositories.connections.endTrust(id);
        await repositories.connections.delete(found);
        const detail = { connection: id, ...ended, people };
        await repositories.auditEvents.insert({ ...by, type: 'connection.deleted', outcome: 'success', detail });
        return { people, ...ended };
      });
    },
  };
}
