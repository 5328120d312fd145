// Declares what the console's pages about sessions, keys, the audit trail and the state of the service read beside the operations of the API.
import { exportEvents } from '../../../domain/audit/audit-export.ts';
import type { TransferFormat } from '../../../domain/users/user-records.ts';
import type { AuditSearch, Found } from '../../../repositories/audit/audit-search.ts';
import { tokenIssued, type ViewedEvent } from '../../../repositories/audit/audit-view.ts';
import type { Store } from '../../../repositories/store.ts';
import { consoleClientId } from '../../../rules/clients/console-client.ts';
import { pageOperation } from '../operation.ts';
import { findUser } from '../users.ts';
import { findNamed, type Names, namesIn } from './names.ts';

/** How many pending clients the overview lists. */
const maxShown = 5;

/** The state of the service, and its counts since a time. @param beginningOf the time, from the present one of the database */
export const overview = pageOperation(
  'overview',
  'read',
  async ({ store, config }, beginningOf: (now: Date) => Date) => {
    const state = await store.hourlyCounts.state();
    const [newest, counts, database, mails, stream, users, clients, sessions, events] = await Promise.all([
      store.clients.list({ status: undefined, waiting: true }, { limit: maxShown, after: undefined }),
      store.hourlyCounts.list(beginningOf(state.now)),
      store.databaseStatus.database(),
      store.mails.waiting(),
      config.auditStream.url === undefined ? undefined : store.auditStream.state(),
      ...(['users', 'clients', 'sessions', 'auditEvents'] as const).map((of) => store.databaseStatus.amount(of)),
    ]);
    const amounts = { users: users!, clients: clients!, sessions: sessions!, events: events! };
    return { state, newest, counts, database, mails, stream, amounts };
  },
);

/** What a new service needs, in the order of the checklist. */
export const checklistItems = ['email', 'administrator', 'passkey', 'client', 'backup', 'https'] as const;
export type ChecklistItem = (typeof checklistItems)[number];

/** Which items of the checklist are done, each by a fact of its own. */
export const checklist = pageOperation('overview', 'read', async ({ store, config }, _: undefined, { actor }) => {
  const last = async (type: 'mail.tested' | 'backup.confirmed' | 'backup.noted') =>
    (await store.auditSearch.search({ type }, { limit: 1, before: undefined })).events[0];
  const [mail, backup, noted, hasSeveralAdministrators, passkeys, clients, isArchived] = await Promise.all([
    last('mail.tested'),
    last('backup.confirmed'),
    last('backup.noted'),
    store.userSearch.hasSeveralAdministrators(),
    store.passkeys.list(actor),
    store.clients.list({}, { limit: 2, after: undefined }),
    store.databaseStatus.isArchived(),
  ]);
  const isDone: Record<ChecklistItem, boolean> = {
    email: config.smtpUrl !== undefined && mail?.outcome === 'success',
    administrator: hasSeveralAdministrators,
    passkey: passkeys.length > 0,
    client: clients.some(({ clientId }) => clientId !== consoleClientId),
    backup: isArchived || backup !== undefined || noted !== undefined,
    https: config.issuer.startsWith('https:'),
  };
  return checklistItems.map((name) => ({ name, isDone: isDone[name] }));
});

/** Records that an administrator has seen to backups, which the service cannot see for itself. */
export const confirmBackup = pageOperation('overview', 'change', async ({ store }, _: undefined, actor) => {
  await store.auditEvents.insert({ ...actor, type: 'backup.confirmed', outcome: 'success' });
});

/** The keys that encrypt stored values, and those with which the running instances encrypt. */
export const secretKeys = pageOperation('keys', 'read', async ({ store }) => {
  const [keyIds, instances] = await Promise.all([store.sealedValues.keyIds(), store.instances.running()]);
  return { keyIds, encrypting: instances.map(({ secretKeyId }) => secretKeyId) };
});

/** The instances that serve now. */
export const runningInstances = pageOperation('settings', 'read', ({ store }) => store.instances.running());

/** The user whom the filter of the sessions names: by sub, which a link has, or as an administrator types a user. */
export const userOfSessions = pageOperation(
  'sessions',
  'read',
  async ({ store }, { sub, typed }: { sub: string | undefined; typed: string | undefined }) => {
    if (sub === undefined) return typed === undefined ? undefined : findNamed(store, typed);
    return (sub.includes('\0') ? undefined : await store.users.find(sub)) ?? 'unknown';
  },
);

type ListSessions = Store['sessions']['list'];
export const findSessions = pageOperation(
  'sessions',
  'read',
  ({ store }, { filter, page }: { filter: Parameters<ListSessions>[0]; page: Parameters<ListSessions>[1] }) =>
    store.sessions.list(filter, page),
);

/** A user, and the sessions of the user up to a number. */
export const sessionsOfUser = pageOperation(
  'sessions',
  'read',
  async ({ store }, { sub, limit }: { sub: string; limit: number }) => ({
    user: await findUser(store, sub),
    sessions: await store.sessions.list({ sub }, { limit, after: undefined }),
  }),
);

type FoundEvents = Omit<Found, 'events'> & { events: ViewedEvent[] };

/** Finds events, or issued tokens: those are no events, and are found while they are stored. */
export const findEvents = pageOperation(
  'audit',
  'read',
  async (
    { store },
    asked: { search: AuditSearch; issues: boolean; before: string | undefined; limit: number },
  ): Promise<FoundEvents & { names: Names }> => {
    const found = await (asked.issues ? issuedTokens(store, asked) : eventsOf(store, asked));
    return { ...found, names: await namesIn(store, found.events) };
  },
);

type Asked = { search: AuditSearch; before: string | undefined; limit: number };
const eventsOf = (store: Store, { search, before, limit }: Asked): Promise<FoundEvents> =>
  store.auditSearch.search(search, { limit, before: before?.startsWith('token-') ? undefined : before });

async function issuedTokens(store: Store, { search, before, limit }: Asked): Promise<FoundEvents> {
  const { actor, address, outcome, sub, clientId, since, until } = search;
  if (actor !== undefined || address !== undefined || outcome === 'failure')
    return { events: [], next: undefined, cut: false };
  const events = await store.auditView.list({ type: tokenIssued, sub, clientId, since, until }, { limit, before });
  return { events, next: events.length === limit ? events.at(-1) : undefined, cut: false };
}

/** One event with the names in it; undefined if there is none. */
export const findEvent = pageOperation('audit', 'read', async ({ store }, id: string) => {
  const event = /^\d{1,18}$/.test(id) ? await store.auditSearch.find(id) : undefined;
  return event && { event, names: await namesIn(store, [event]) };
});

export const exportFound = pageOperation(
  'audit',
  'read',
  ({ store }, of: { format: TransferFormat; search: AuditSearch; asked: Record<string, string | undefined> }, actor) =>
    exportEvents(store, actor, of.format, of.search, of.asked),
);
