// Creates, changes and deletes connections and links, a part of administration.ts.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { isOfAttribute } from '../../rules/connections/connection-answer.ts';
import type { connectionChangeShape, ConnectionInput } from '../../rules/connections/connection-shape.ts';
import { conflict, invalidRequest, notFound } from '../../oauth/errors.ts';
import { firstRefusal, refusal } from '../../oauth/refusals.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { AuditEvent } from '../../repositories/audit/audit-events.ts';
import type { Connection, ConnectionMembers, EndedAccess } from '../../repositories/connections/connections.ts';
import { isUnasked, type LinkedIdentity } from '../../repositories/connections/linked-identities.ts';
import type { Repositories, Store } from '../../repositories/store.ts';
import { type ConnectionKey, makeConnectionKey } from '../../tokens/upstream-client.ts';
import type { ConnectionVariant } from '../connections/kind.ts';
import { type ConnectionKinds, variantOfConnection } from '../connections/kinds.ts';
import { differences, otherSubject, sideOf, trustOf } from './connection-trust.ts';
import { hasMoved, secretAt } from '../connections/moved-address.ts';

/** The names of the members in the admin routes and in the audit trail. */
const names = {
  displayName: 'display_name',
  status: 'status',
  position: 'position',
  hidden: 'hidden',
  domains: 'domains',
  subdomains: 'subdomains',
  enforced: 'enforced',
  authoritativeDomains: 'authoritative_domains',
  linking: 'linking',
  provisioning: 'provisioning',
  usernameFrom: 'username_from',
  usernameLocalPart: 'username_local_part',
  usernameSuffix: 'username_suffix',
  claimRules: 'claim_rules',
  groupRules: 'group_rules',
  defaultGroups: 'default_groups',
  sync: 'sync',
  trustEmail: 'trust_email',
  trustMfa: 'trust_mfa',
  mfaValues: 'mfa_values',
  sessionLifetime: 'session_lifetime',
  logout: 'logout',
  storeTokens: 'store_tokens',
  settings: 'settings',
} as const satisfies Partial<Record<keyof ConnectionMembers, string>>;

const start: ConnectionMembers = {
  displayName: '',
  status: 'disabled',
  position: 0,
  hidden: false,
  domains: [],
  subdomains: false,
  enforced: false,
  authoritativeDomains: [],
  linking: 'ask',
  provisioning: 'off',
  usernameFrom: 'preferred_username',
  usernameLocalPart: false,
  usernameSuffix: false,
  claimRules: [],
  groupRules: [],
  defaultGroups: [],
  sync: 'always',
  trustEmail: false,
  trustMfa: false,
  mfaValues: [],
  sessionLifetime: undefined,
  logout: 'local',
  storeTokens: false,
  settings: {},
};

const nothing: EndedAccess = { sessions: 0, tokens: 0 };

/** The members after a change. A member that is undefined in the change stays. */
function changed(before: ConnectionMembers, change: ConnectionInput): ConnectionMembers {
  const after = { ...before };
  for (const [member, name] of Object.entries(names) as [keyof typeof names, keyof ConnectionInput][]) {
    const value = change[name];
    if (value !== undefined && member !== 'settings')
      Object.assign(after, { [member]: value === null ? undefined : value });
  }
  if (change.settings) {
    // null removes a setting of the kind, and an absent setting stays
    const settings = { ...before.settings, ...change.settings };
    after.settings = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  }
  return after;
}

export function connectionOperations(store: Store) {
  const record = ({ auditEvents }: Repositories, by: Actor, type: AuditEvent['type'], detail: AuditEvent['detail']) =>
    auditEvents.insert({ ...by, type, outcome: 'success', detail });
  const found = <T>(thing: T | undefined, what: string): T => {
    if (thing === undefined) throw notFound(`there is no such ${what}`);
    return thing;
  };

  /** Finds the rules of a connection's settings. @throws OAuthError invalid_request */
  function rulesOf(kinds: ConnectionKinds, of: Pick<Connection, 'kind' | 'preset'>): ConnectionVariant {
    if (!kinds.get(of.kind)) throw invalidRequest(refusal('connection.kind', 'kind'));
    const variant = variantOfConnection(kinds, of);
    if (!variant) throw invalidRequest(refusal('connection.preset', 'preset'));
    return variant;
  }

  /** Checks the settings. @throws OAuthError invalid_request */
  function checked(variant: ConnectionVariant, members: ConnectionMembers): ConnectionMembers {
    const parsed = variant.settings.safeParse(members.settings, { reportInput: true });
    if (parsed.success) return { ...members, settings: parsed.data };
    const wrong = firstRefusal(parsed.error, 'settings');
    throw invalidRequest({ ...wrong, member: wrong.member === 'settings' ? 'settings' : `settings.${wrong.member}` });
  }

  /** @throws OAuthError invalid_request if a rule sets an attribute that is not defined */
  async function checkTargets({ attributes }: Repositories, { claimRules }: ConnectionMembers): Promise<void> {
    const targets = claimRules.filter(isOfAttribute).map(({ to }) => to);
    if (targets.length === 0) return;
    const defined = (await attributes.list()).map(({ name }) => name);
    const unknown = targets.find((to) => !defined.includes(to));
    if (unknown !== undefined) throw invalidRequest(refusal('connection.attribute', 'claim_rules', { name: unknown }));
  }

  /** @throws OAuthError conflict if another connection has one of the domains */
  async function claimDomains({ connections }: Repositories, id: string, members: ConnectionMembers): Promise<void> {
    const holder = await connections.keepDomains(id, members.domains, members.authoritativeDomains);
    if (holder !== undefined) throw conflict(refusal('connection.domain-held', 'domains', { connection: holder }));
  }

  /** Makes the key that the connection does not have yet, or that replaces its present key. */
  async function newKey(
    { settings }: ConnectionMembers,
    variant: ConnectionVariant,
    has: boolean,
  ): Promise<ConnectionKey | undefined> {
    return variant.profile(settings).credential === 'key' && !has ? makeConnectionKey() : undefined;
  }

  async function keepKey(
    repositories: Repositories,
    secretBox: SecretBox,
    id: string,
    key: ConnectionKey | undefined,
  ): Promise<void> {
    if (!key) return;
    const sealed = secretBox.seal(key.privateKey, associatedDataOf('connections.key_encrypted', id));
    await repositories.connections.setKey(id, sealed, { ...key.publicKey });
  }

  async function keepSecret(
    repositories: Repositories,
    secretBox: SecretBox,
    id: string,
    secret: string | null | undefined,
  ): Promise<void> {
    if (secret === undefined) return;
    const sealed =
      secret === null ? undefined : secretBox.seal(secret, associatedDataOf('connections.secret_encrypted', id));
    await repositories.connections.setSecret(id, sealed);
  }

  /** @throws OAuthError invalid_request */
  async function requireSecret(
    variant: ConnectionVariant,
    members: ConnectionMembers,
    secret: string | null | undefined,
    hasOne: boolean,
  ): Promise<void> {
    if (typeof secret === 'string' && variant.isSecret && !(await variant.isSecret(secret)))
      throw invalidRequest(refusal('connection.secret-form', 'secret'));
    const has = secret === undefined ? hasOne : secret !== null;
    if (members.status !== 'disabled' && variant.profile(members.settings).credential === 'secret' && !has)
      throw invalidRequest(refusal('connection.secret', 'secret'));
  }

  /** In a transaction that holds the user's row: removes a link with the sessions, tokens and memberships that came by it (security R159). */
  async function removeLink(repositories: Repositories, by: Actor, sub: string, id: string): Promise<EndedAccess> {
    found(await repositories.linkedIdentities.remove(id, sub), 'link');
    const ended = await repositories.connections.endSessions(id, sub);
    await repositories.memberships.set(sub, id, [], []);
    await repositories.auditEvents.insert({
      ...by,
      type: 'identity.unlinked',
      outcome: 'success',
      sub,
      detail: { connection: id, ...ended },
    });
    return ended;
  }

  return {
    /** @throws OAuthError invalid_request, conflict */
    async createConnection(
      by: Actor,
      {
        id,
        kind,
        preset,
        secret,
        ...input
      }: ConnectionInput & Pick<Connection, 'id' | 'kind'> & { preset?: string | undefined },
      { kinds, secretBox }: { kinds: ConnectionKinds; secretBox: SecretBox },
    ): Promise<Connection> {
      const variant = rulesOf(kinds, { kind, preset });
      const members = checked(variant, changed({ ...start, ...variant.members }, input));
      await requireSecret(variant, members, secret, false);
      const discovery = await kinds.get(kind)!.discover({ preset, settings: members.settings });
      const key = await newKey(members, variant, false);
      return store.transaction(async (repositories) => {
        await repositories.connections.lockDomains();
        const made = await repositories.connections.insert({ id, kind, preset, ...members });
        if (!made) throw conflict(refusal('connection.taken', 'id'));
        await claimDomains(repositories, id, members);
        await checkTargets(repositories, members);
        await keepSecret(repositories, secretBox, id, secret);
        await keepKey(repositories, secretBox, id, key);
        if (discovery) await repositories.connections.setDiscovery(id, discovery, members.settings);
        await record(repositories, by, 'connection.created', {
          connection: id,
          kind,
          ...(preset !== undefined && { preset }),
          ...trustOf(variant, members),
        });
        return (await repositories.connections.find(id))!;
      });
    },
    /** @throws OAuthError not_found, invalid_request, conflict */
    async changeConnection(
      by: Actor,
      id: string,
      {
        version,
        end_sessions: ends = false,
        renew_key: renewsKey = false,
        secret,
        ...input
      }: z.infer<typeof connectionChangeShape>,
      { kinds, secretBox }: { kinds: ConnectionKinds; secretBox: SecretBox },
    ): Promise<Connection> {
      const looked = found(await store.connections.find(id), 'connection');
      const variant = rulesOf(kinds, looked);
      const members = checked(variant, changed(looked, input));
      const isMoved = hasMoved(variant, looked, members);
      const replaced = secretAt(variant, members, looked, secret, isMoved);
      await requireSecret(variant, members, replaced, looked.secretEncrypted !== undefined);
      const isOther = !isDeepStrictEqual(members.settings, looked.settings);
      const { settings } = members;
      const discovery = isOther
        ? await kinds.get(looked.kind)!.discover({ preset: looked.preset, settings })
        : undefined;
      const key = await newKey(members, variant, looked.keyPublic !== undefined && !renewsKey && !isMoved);
      return store.transaction(async (repositories) => {
        await repositories.connections.lockDomains();
        const before = found(await repositories.connections.lock(id), 'connection');
        if (before.version !== looked.version || (version !== undefined && version !== before.version))
          throw conflict(refusal('connection.version', 'version'));
        const which = (Object.keys(names) as (keyof typeof names)[]).filter(
          (member) => !isDeepStrictEqual(before[member], members[member]),
        );
        const subjectSetting = otherSubject(before, members);
        if (subjectSetting !== undefined && (await repositories.linkedIdentities.isUsed(id)))
          throw conflict(refusal('connection.subject-claim', `settings.${subjectSetting}`));
        if (which.length > 0) {
          await claimDomains(repositories, id, members);
          await checkTargets(repositories, members);
          await repositories.connections.update(id, members);
        }
        await keepSecret(repositories, secretBox, id, replaced);
        await keepKey(repositories, secretBox, id, key);
        if (discovery) await repositories.connections.setDiscovery(id, discovery, members.settings);
        // sign-ins at the previous provider must not finish, and its tokens must not reach the new one
        const isOtherSide = !isDeepStrictEqual(sideOf(variant, before), sideOf(variant, members));
        if (isOtherSide) await repositories.connectionSteps.removeAll(id);
        if (isOtherSide || (before.storeTokens && !members.storeTokens))
          await repositories.upstreamTokens.removeAll(id);
        const ended = ends && members.status !== 'enabled' ? await repositories.connections.endSessions(id) : nothing;
        if (which.length > 0 || replaced !== undefined || key || ended.sessions + ended.tokens > 0)
          await record(repositories, by, 'connection.changed', {
            connection: id,
            members: [
              ...which.map((member) => names[member]),
              ...(replaced === undefined ? [] : ['secret']),
              ...(key ? ['key'] : []),
            ],
            ...differences(trustOf(variant, before), trustOf(variant, members)),
            ...(ended.sessions + ended.tokens > 0 && ended),
          });
        return (await repositories.connections.find(id))!;
      });
    },
    /** Deletes a connection with its links, sessions and memberships. @returns the ended access, and the number of users without another way in @throws OAuthError not_found */
    deleteConnection: async (by: Actor, id: string): Promise<EndedAccess & { people: number }> => {
      // waits for sign-ins that are being decided; a later one finds the connection disabled, and gives no memberships
      await store.transaction(async ({ connections }) => {
        found(await connections.lock(id), 'connection');
        await connections.disable(id);
      });
      // deletes in steps: a directory may have given very many memberships
      for (let left = true; left;) {
        const subs = await store.memberships.usersOf(id, 500);
        for (const sub of subs) await store.transaction(({ memberships }) => memberships.set(sub, id, [], []));
        left = subs.length > 0;
      }
      return store.transaction(async (repositories) => {
        found(await repositories.connections.lock(id), 'connection');
        const people = await repositories.connections.withoutOtherWay(id);
        const ended = await repositories.connections.endSessions(id);
        await repositories.connectionSteps.removeAll(id);
        await repositories.connections.endTrust(id);
        await repositories.connections.delete(id);
        await record(repositories, by, 'connection.deleted', { connection: id, ...ended, people });
        return { people, ...ended };
      });
    },
    /** Links an identity to a user, also to one with a role or a guarded group. @throws OAuthError not_found, conflict */
    linkIdentity: (
      by: Actor,
      sub: string,
      { connectionId, issuer, subject }: Pick<LinkedIdentity, 'connectionId' | 'issuer' | 'subject'>,
    ): Promise<void> =>
      store.transaction(async (repositories) => {
        await repositories.linkedIdentities.claim({ connectionId, issuer, subject });
        found(await repositories.users.lock(sub), 'user');
        const link = { connectionId, issuer, subject, sub, how: 'administrator', emailThen: undefined } as const;
        if (!(await repositories.linkedIdentities.insert(link, false)))
          throw conflict('this identity is linked already, or the user has another link to this connection');
        const detail = { connection: connectionId, how: 'administrator' };
        await repositories.auditEvents.insert({ ...by, type: 'identity.linked', outcome: 'success', sub, detail });
      }),
    /** Keeps a link that was made automatically, so that the user can become an administrator or join a guarded group (security R165). @throws OAuthError not_found */
    keepLink: (by: Actor, sub: string, connection: string): Promise<void> =>
      store.transaction(async (repositories) => {
        found(sub.includes('\0') ? undefined : await repositories.users.lock(sub), 'user');
        const links = await repositories.linkedIdentities.ofUser(sub);
        const link = found(
          links.find((one) => one.connectionId === connection),
          'link',
        );
        if (!isUnasked(link)) return;
        await repositories.linkedIdentities.keep(connection, sub);
        const detail = { connection, how: 'administrator' };
        await repositories.auditEvents.insert({ ...by, type: 'identity.linked', outcome: 'success', sub, detail });
      }),
    /** Decides whether a user may sign in here although the domain of the address is enforced (federation FR14). @throws OAuthError not_found */
    setBreakGlass: (by: Actor, sub: string, marked: boolean): Promise<void> =>
      store.transaction(async (repositories) => {
        found(sub.includes('\0') ? undefined : await repositories.users.lock(sub), 'user');
        if (!(await repositories.breakGlass.set(sub, marked))) return;
        const detail = { members: ['break_glass'], break_glass_before: !marked, break_glass: marked };
        await repositories.auditEvents.insert({ ...by, type: 'user.changed', outcome: 'success', sub, detail });
      }),
    /**
     * Removes the link of a user to a connection, with the sessions that came by it (federation FR8).
     * @param keepWayIn refuses to remove the last way to sign in
     * @throws OAuthError not_found, conflict
     */
    unlinkIdentity: (by: Actor, sub: string, id: string, keepWayIn = false): Promise<EndedAccess> =>
      store.transaction(async (repositories) => {
        const { passwordHash } = found(await repositories.users.lock(sub), 'user');
        if (keepWayIn && passwordHash === undefined && (await repositories.passkeys.list(sub)).length === 0) {
          const others = (await repositories.linkedIdentities.ofUser(sub)).filter(
            ({ connectionId }) => connectionId !== id,
          );
          const open = (await repositories.connections.list()).filter(({ status }) => status === 'enabled');
          if (!others.some(({ connectionId }) => open.some((one) => one.id === connectionId)))
            throw conflict('this link is the only way to sign in to this account');
        }
        return removeLink(repositories, by, sub, id);
      }),
  };
}
