// Declares what the console's page of one group reads beside the operations of the API.
import type { Store } from '../../../repositories/store.ts';
import type { UserPage } from '../../../repositories/users/user-search.ts';
import { findGroup } from '../groups.ts';
import { pageOperation } from '../operation.ts';
import { namesIn, unlessSeveral } from './names.ts';

const maxEvents = 10;

/** The latest events of a group: each search reads a bounded number of events of its type. */
async function eventsOf(store: Store, group: string) {
  const types = ['group.created', 'group.changed', 'user.changed'] as const;
  const page = { limit: maxEvents, before: undefined };
  const found = await Promise.all(types.map((type) => store.auditSearch.search({ type, group }, page)));
  const events = found.flatMap((one) => one.events);
  return events.sort((a, b) => b.at.getTime() - a.at.getTime() || Number(b.id) - Number(a.id)).slice(0, maxEvents);
}

/** A group with a page of its members, with the sources of these memberships, and its latest events. */
export const groupPage = pageOperation(
  'groups',
  'read',
  async ({ store }, asked: { name: string; words: string | undefined; page: UserPage }) => {
    const group = await findGroup(store, asked.name);
    const members = await store.userSearch.find({ group: group.name, words: asked.words }, asked.page);
    const subs = members.users.map(({ sub }) => sub);
    const [events, sources] = await Promise.all([
      eventsOf(store, group.name),
      store.memberships.ofGroup(group.name, subs),
    ]);
    return { group, members, sources, events, names: await namesIn(store, events) };
  },
);

/** The subs of the users whom texts name, or the text that fits several. */
export const findMembers = pageOperation('groups', 'read', ({ store }, logins: readonly string[]) =>
  unlessSeveral(store.userBatches.named(logins.map((login) => login.replaceAll('\0', '')))),
);
