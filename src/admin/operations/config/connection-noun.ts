// Says how connections stand in configuration files: their members with the settings of their kind, without a request to the provider in a transaction.
import { checkedSettings, rulesOf } from '../../../domain/administration/connections.ts';
import { hasMoved, secretAfterMove } from '../../../domain/connections/moved-address.ts';
import type { ConnectionKind } from '../../../domain/connections/kind.ts';
import { type Connection, connections } from '../../../entities/connections.ts';
import { defaultsOf } from '../../../entities/file.ts';
import type { Input } from '../../../entities/entity.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import {
  changeConnection,
  createConnection,
  deleteConnection,
  listConnections,
  showConnection,
} from '../connections.ts';
import { showImport } from '../directories.ts';
import type { OperationContext } from '../operation.ts';
import { confirmationsByWord } from '../pages/connections.ts';
import { entityNoun, type FileNoun, type Prepared, reader } from './noun.ts';

type Kept = Pick<Connection, 'kind' | 'preset' | 'settings'>;
// the declaration of connections has checked the members, and the compiler cannot follow it
const kept = (members: Input) => members as unknown as Kept;
/** The rules of the kind that an entry names. @throws OAuthError invalid_request */
const variantOf = ({ connectionKinds }: OperationContext, members: Input) => rulesOf(connectionKinds, kept(members));

/** What the provider publishes, read once: within the transaction no request is sent. */
async function prepare(
  context: OperationContext,
  { key, values }: Parameters<NonNullable<FileNoun['prepare']>>[1],
): Promise<Prepared> {
  const { kind, preset, settings } = kept(values);
  const before = await context.store.connections.find(key);
  const known = before && JSON.stringify(before.settings) === JSON.stringify(settings);
  const asker = context.connectionKinds.get(kind);
  const isThis = (given: object) => JSON.stringify(given) === JSON.stringify(settings);
  const insideWith =
    (replaced: (found: ConnectionKind) => Partial<ConnectionKind>) =>
    (within: OperationContext): OperationContext => ({
      ...within,
      connectionKinds: {
        get(name) {
          const found = within.connectionKinds.get(name);
          return found && name === kind ? { ...found, ...replaced(found) } : found;
        },
      },
    });
  if (asker?.complete) {
    // without what it fills in, the connection could not be used: a provider that cannot be read refuses the file
    const completed = known ? settings : await asker.complete(settings, { before, accepted: false });
    return {
      inside: insideWith(({ complete }) => ({
        complete: async (given, of) => (isThis(given) ? completed : complete!(given, of)),
      })),
    };
  }
  let [discovery, warning]: [Record<string, unknown> | undefined, string | undefined] = [undefined, undefined];
  try {
    if (!known) discovery = await asker?.discover({ preset, settings });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    warning = `the connection ${key} is stored without what its provider publishes: ${error.description}`;
  }
  const inside = insideWith(({ discover }) => ({
    discover: async (one) => (isThis(one.settings) ? discovery : discover(one)),
  }));
  return { ...(warning !== undefined && { warning }), inside };
}

export const connectionNoun = entityNoun(
  connections,
  {
    list: (context) => listConnections.handler(context, { params: {}, input: {}, actor: reader }),
    find: ({ store }, id) => store.connections.find(id),
    create: createConnection,
    change: changeConnection,
    remove: deleteConnection,
    shows: [showConnection, showImport, confirmationsByWord],
  },
  {
    param: 'id',
    defaults(context, members) {
      const { starts = {} } = variantOf(context, members);
      return { ...defaultsOf(connections), ...starts };
    },
    complete: (context, values) => ({
      ...values,
      settings: checkedSettings(variantOf(context, values), values['settings'] as Input),
    }),
    merged: ['settings'],
    moves: (context, { shown }, { values }) => hasMoved(variantOf(context, values), kept(shown), kept(values)),
    check(context, { values }, secrets, found) {
      const variant = variantOf(context, values);
      const isKept = found?.secrets['secret']?.set === true && secrets['secret'] === undefined;
      if (isKept && hasMoved(variant, kept(found.shown), kept(values))) secretAfterMove(variant, kept(values));
    },
    prepare,
    async effects({ store }, { key }, change): Promise<Record<string, number>> {
      if (change) return {};
      const ended = await store.planEffects.ofConnection(key);
      return { users_without_another_way_in: await store.connections.withoutOtherWay(key), ...ended };
    },
  },
);
