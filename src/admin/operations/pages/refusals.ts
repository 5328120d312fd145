// Declares what the console reads to explain a refusal by the reference that its page showed.
import { pageOperation } from '../operation.ts';
import { refusalNamed } from '../refusals.ts';
import { namesIn } from './names.ts';

/** The refusal with the names of its user, client and connection; undefined if none is stored under the reference. */
export const findRefusal = pageOperation('audit', 'read', async ({ store }, reference: string) => {
  const kept = await refusalNamed(store, reference);
  if (!kept) return undefined;
  const { sub, client_id: clientId, connection } = kept.facts;
  const of = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined);
  const [names, found] = await Promise.all([
    namesIn(store, [{ sub: of(sub), clientId: of(clientId) }]),
    typeof connection === 'string' ? store.connections.find(connection) : undefined,
  ]);
  return { kept, names, connectionName: found?.displayName };
});
