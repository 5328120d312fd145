// Says how connections stand in configuration files: their members with the settings of their kind, without a request to the provider in a transaction.
import { checkedSettings, rulesOf } from '../../../domain/administration/connections.ts';
import { type Connection, connections } from '../../../entities/connections.ts';
import { defaultsOf } from '../../../entities/file.ts';
import type { Input } from '../../../entities/entity.ts';
import { OAuthError } from '../../../oauth/errors.ts';
import { changeConnection, createConnection, deleteConnection, listConnections } from '../connections.ts';
import type { OperationContext } from '../operation.ts';
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
  let [discovery, warning]: [Record<string, unknown> | undefined, string | undefined] = [undefined, undefined];
  try {
    if (!known) discovery = await context.connectionKinds.get(kind)?.discover({ preset, settings });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    warning = `the connection ${key} is stored without what its provider publishes: ${error.description}`;
  }
  const inside = (within: OperationContext): OperationContext => ({
    ...within,
    connectionKinds: {
      get(name) {
        const found = within.connectionKinds.get(name);
        if (!found || name !== kind) return found;
        return {
          ...found,
          discover: async (one) =>
            JSON.stringify(one.settings) === JSON.stringify(settings) ? discovery : found.discover(one),
        };
      },
    },
  });
  return { ...(warning !== undefined && { warning }), inside };
}

export const connectionNoun = entityNoun(
  connections,
  {
    list: (context) => listConnections.handler(context, { params: {}, input: {}, actor: reader }),
    create: createConnection,
    change: changeConnection,
    remove: deleteConnection,
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
    // a change of settings merges them, and null removes one
    changeOf: ({ settings: old = {} }, { settings, ...change }) => ({
      ...change,
      ...(settings !== undefined && {
        settings: {
          ...Object.fromEntries(Object.keys(old as object).map((name) => [name, null])),
          ...(settings as object),
        },
      }),
    }),
    prepare,
    async effects({ store }, { key }, change): Promise<Record<string, number>> {
      if (change) return {};
      return { users_without_another_way_in: await store.connections.withoutOtherWay(key) };
    },
  },
);
