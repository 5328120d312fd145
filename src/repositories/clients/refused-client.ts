// Turns the database's refusal of a client into the error that the caller reads.
import { isTakenKey, refusalOfTrigger } from '../../database/database.ts';
import { conflict } from '../../oauth/errors.ts';
import { refusal } from '../../oauth/refusals.ts';

/** @throws OAuthError conflict, or the error itself if it is no refusal of a client */
export function refusedClient(error: unknown): never {
  if (isTakenKey(error))
    throw conflict('the client_id is a user name, an address or a sub of a user: choose another one');
  if (isTakenKey(error, 'site_hosts_pkey')) throw conflict(refusal('host-held', 'hosts'));
  const sentence = refusalOfTrigger(error, 'clients_resource_uris');
  throw sentence === undefined ? error : conflict(refusal('resource-held', 'resource_uris', { sentence }));
}
