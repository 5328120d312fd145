// Finds the applications that a user may use and that say where users begin (federation 7).
import { type AccessSituation, mayUse } from '../rules/access/access.ts';
import { displayName } from '../oauth/client-metadata.ts';
import type { FaceView } from '../pages/views/parts.ts';
import { logoOf } from '../rules/images/address.ts';
import { startAddress } from '../rules/clients/start-address.ts';
import type { Store } from '../repositories/store.ts';
import type { User } from '../repositories/users/users.ts';

/** The most applications that are read. */
const most = 500;

export interface Tile extends FaceView {
  startUri: string;
  host: string;
}

export async function tilesOf(
  store: Pick<Store, 'clients'>,
  issuer: string,
  user: User,
  from: NonNullable<AccessSituation['from']>,
): Promise<Tile[]> {
  return (await store.clients.listStarts(most)).flatMap((client) => {
    const startUri = startAddress(client, issuer);
    if (startUri === undefined || mayUse(user, client, { from }) !== 'yes') return [];
    const name = displayName(client.clientId, client.metadata);
    return [{ id: client.clientId, name, image: logoOf(client), startUri, host: new URL(startUri).host }];
  });
}
