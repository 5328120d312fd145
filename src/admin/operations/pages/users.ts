// Declares what the console's pages about users read and change beside the operations of the API.
import type { Administration } from '../../../domain/administration/administration.ts';
import { attributesOf } from '../../../rules/claims/attributes.ts';
import type { Store } from '../../../repositories/store.ts';
import { pageOperation } from '../operation.ts';
import { findUser } from '../users.ts';
import { namesIn } from './names.ts';

/** The maximum to which sessions and grants of a user are counted. */
export const maxCounted = 100;
/** How many events the page of a user lists. */
const maxEvents = 10;

/** The names of the connections to which a user is linked; undefined where the service has none. */
async function connectionsOf(store: Store, sub: string): Promise<string[] | undefined> {
  const all = await store.connections.list();
  if (all.length === 0) return undefined;
  const links = await store.linkedIdentities.ofUser(sub);
  return links.map((link) => all.find(({ id }) => id === link.connectionId)?.displayName ?? link.connectionId);
}

/** Everything on the page of one user. */
export const userPage = pageOperation('users', 'read', async ({ store }, sub: string) => {
  const user = await findUser(store, sub);
  const [sessions, grants, factors, recoveryCodes, memberships, invitation, connections, events] = await Promise.all([
    store.sessions.list({ sub }, { limit: maxCounted, after: undefined }),
    store.grants.list(sub),
    store.secondFactors.list(sub),
    store.recoveryCodes.count(sub),
    store.memberships.ofUser(sub),
    store.mailedLinks.findInvitation(sub),
    connectionsOf(store, sub),
    store.auditView.list({ sub }, { limit: maxEvents, before: undefined }),
  ]);
  const isStandard = Object.keys(attributesOf(user.claims)).length === 0;
  const attributes = isStandard ? [] : await store.attributes.list();
  const names = await namesIn(store, events);
  return {
    user,
    sessions,
    grants,
    factors,
    recoveryCodes,
    memberships,
    invitation,
    connections,
    attributes,
    events,
    names,
  };
});

/** What ends with a user who is disabled or deleted. */
export const userEnd = pageOperation('users', 'read', async ({ store }, sub: string) => {
  const user = await findUser(store, sub);
  const page = { limit: maxCounted, after: undefined };
  const [sessions, grants] = await Promise.all([store.sessions.list({ sub }, page), store.grants.list(sub, page)]);
  return { user, sessions: sessions.length, grants: grants.length };
});

/** When users last signed in, or used a session. */
export const usesOfUsers = pageOperation('users', 'read', ({ store }, subs: readonly string[]) =>
  store.knownBrowsers.lastUses(subs),
);

export const userConnections = pageOperation('users', 'read', async ({ store }, sub: string) => {
  const user = await findUser(store, sub);
  const [links, connections, passkeys, breakGlass] = await Promise.all([
    store.linkedIdentities.ofUser(sub),
    store.connections.list(),
    store.passkeys.list(sub),
    store.breakGlass.has(sub),
  ]);
  return { user, links, connections, passkeys, breakGlass };
});

/** A user with the attributes that the form of the user offers. */
export const userToEdit = pageOperation('users', 'read', async ({ store }, sub: string) => {
  const user = await findUser(store, sub);
  return { user, definitions: await store.attributes.list() };
});

export const findKnownUser = pageOperation('users', 'read', ({ store }, sub: string) => store.users.find(sub));

export const findKnownGroup = pageOperation('groups', 'read', ({ store }, name: string) => store.groups.find(name));

/** Which of these texts name another user or a client. */
export const takenLogins = pageOperation(
  'users',
  'read',
  ({ store }, { logins, sub }: { logins: readonly (string | null | undefined)[]; sub: string | undefined }) =>
    Promise.all(logins.map((typed) => (typed ? store.users.isTaken(typed, sub) : false))),
);

/** The users that words find, and first the user with exactly this subject. */
export const findUsers = pageOperation(
  'users',
  'read',
  async ({ store }, { words, limit }: { words: string; limit: number }) => {
    const [bySub, found] = await Promise.all([
      store.users.find(words),
      store.userSearch.find({ words }, { order: 'newest', limit }),
    ]);
    const others = found.users.filter(({ sub }) => sub !== bySub?.sub);
    return bySub ? [bySub, ...others] : others;
  },
);

type CreateUser = Administration['createUser'];
export const createTypedUser = pageOperation(
  'users',
  'change',
  (
    { administration },
    { user, delivery }: { user: Parameters<CreateUser>[1]; delivery: Parameters<CreateUser>[2] },
    actor,
  ) => administration.createUser(actor, user, delivery),
);

type ChangeUser = Administration['changeUser'];
export const changeTypedUser = pageOperation(
  'users',
  'change',
  (
    { administration },
    { sub, change, passwordHash }: { sub: string; change: Parameters<ChangeUser>[2]; passwordHash?: string },
    actor,
  ) => administration.changeUser(actor, sub, change, passwordHash),
);

/** Removes one second factor, or all. @throws OAuthError conflict if `keepsOne` and the user could no longer sign in */
export const removeSecondFactors = pageOperation(
  'users',
  'change',
  ({ administration }, { sub, id, keepsOne }: { sub: string; id: string | undefined; keepsOne: boolean }, actor) =>
    administration.removeSecondFactor(actor, sub, id, keepsOne),
);
