// Writes all stored data of a user as one JSON document, in pieces because the audit trail can be long.
import {
  auditEventView,
  grantView,
  passkeyView,
  secondFactorView,
  sessionView,
  userView,
} from '../../domain/administration/administrator-views.ts';
import type { ViewedEvent } from '../../repositories/audit/audit-view.ts';
import type { Repositories } from '../../repositories/store.ts';
import type { ClientSettings } from '../../repositories/users/user-settings.ts';
import type { User } from '../../repositories/users/users.ts';

type Readable = Pick<Repositories, 'images' | 'sessions' | 'grants' | 'secondFactors' | 'passkeys' | 'userSettings' | 'auditView'>;

const limit = 200;
const settingsLimit = 10; // each up to 64 KiB

/** The document in pieces, without secrets and without data of others. */
export async function* ownData(store: Readable, issuer: string, user: User): AsyncGenerator<string> {
  const { sub } = user;
  const head = { issuer, downloaded_at: new Date().toISOString(), profile: userView(user) };
  yield JSON.stringify(head).slice(0, -1);
  const picture = await store.images.findOfUser(sub);
  if (picture)
    yield `,\n"picture":{"type":"image/${picture.type}","content":"${picture.content.toString('base64')}"}`;
  yield* list('sessions', sessionView, limit, (last) =>
    store.sessions.list({ sub }, { limit, after: last && { at: last.createdAt, id: last.id } }),
  );
  yield* list('grants', grantView, limit, (last) =>
    store.grants.list(sub, { limit, after: last && { at: last.createdAt, id: last.clientId } }),
  );
  yield `,\n"second_factors":${JSON.stringify((await store.secondFactors.list(sub)).map(secondFactorView))}`;
  yield* list('settings', settingsView, settingsLimit, (last) =>
    store.userSettings.list(sub, { limit: settingsLimit, after: last?.clientId }),
  );
  const passkeys = (await store.passkeys.list(sub)).map(passkeyView);
  yield* list(
    'passkeys',
    (view) => view,
    limit,
    async () => passkeys,
  );
  yield* list(
    'audit_events',
    (event: ViewedEvent) => ownEvent(event, sub),
    limit,
    (last) => store.auditView.list({ sub }, { limit, before: last?.id }),
  );
  yield '}\n';
}

/** A member with a list, one item a line. @param read the page after an item, `size` items unless it is the last one */
async function* list<T>(
  member: string,
  view: (item: T) => unknown,
  size: number,
  read: (last: T | undefined) => Promise<T[]>,
): AsyncGenerator<string> {
  yield `,\n"${member}":[`;
  let last: T | undefined;
  for (;;) {
    const page = await read(last);
    if (page.length > 0)
      yield (last === undefined ? '\n' : ',\n') + page.map((item) => JSON.stringify(view(item))).join(',\n');
    last = page.at(-1);
    if (page.length < size) break;
  }
  yield ']';
}

function settingsView(settings: ClientSettings): Record<string, unknown> {
  return {
    client_id: settings.clientId,
    client_name: settings.clientName,
    updated_at: settings.updatedAt.toISOString(),
    settings: settings.settings,
  };
}

const machines = ['command line', 'schedule', 'service', 'sql'];

/** An event without the identity, address and database role of another actor. */
function ownEvent(event: ViewedEvent, sub: string): Record<string, unknown> {
  const { at, type, outcome, actor, client_id, address, detail } = auditEventView(event);
  const facts = { ...(detail as ViewedEvent['detail']), database_role: undefined };
  if (actor === sub) return { at, type, outcome, actor, client_id, address, detail: facts };
  const named = event.actor === undefined || event.actor === event.clientId || machines.includes(event.actor);
  return { at, type, outcome, actor: named ? actor : 'another account', client_id, detail: facts };
}
