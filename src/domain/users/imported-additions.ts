// Reads what a row of an import adds to a new user: compares it with the connections and roles that exist, and seals its secrets.
import { makesCodes, readCodeSecret } from '../../crypto/one-time-codes.ts';
import { randomId } from '../../crypto/secrets.ts';
import type { SecretBox } from '../../crypto/secret-box.ts';
import { withNewDeadline } from '../../database/deadline.ts';
import type { Connection } from '../../entities/connections.ts';
import { associatedDataOf } from '../../repositories/keys/sealed-values.ts';
import type { Store } from '../../repositories/store.ts';
import type { UserAdditions } from '../../repositories/users/user-batches.ts';
import type { RecordProblem, UserRecord } from '../../rules/users/user-record.ts';
import { type ConnectionKinds, issuerOfIdentity } from '../connections/kinds.ts';

export interface AdditionParts {
  store: Store;
  secretBox: SecretBox;
  connectionKinds: ConnectionKinds;
}

/** @returns a function that reads one row; undefined if the row adds nothing */
export function createAdditionsReader({ store, secretBox, connectionKinds }: AdditionParts) {
  let connections: Map<string, Connection> | undefined;
  const roles = new Map<string, Set<string>>();

  async function readLinks({ links = [] }: UserRecord): Promise<UserAdditions['links'] | RecordProblem> {
    const read: UserAdditions['links'] = [];
    for (const [index, { connection: id, subject, issuer: named }] of links.entries()) {
      connections ??= new Map((await withNewDeadline(() => store.connections.list())).map((one) => [one.id, one]));
      const connection = connections.get(id);
      if (!connection) return { column: `links.${index}.connection`, reason: 'connection' };
      const issuer = issuerOfIdentity(connectionKinds, connection, named);
      if (issuer === undefined || (named ?? issuer) !== issuer)
        return { column: `links.${index}.issuer`, reason: 'issuer' };
      read.push({ connectionId: id, issuer, subject });
    }
    return read;
  }

  async function readRoles({ roles: given = {} }: UserRecord): Promise<UserAdditions['roles'] | RecordProblem> {
    for (const [clientId, names] of Object.entries(given)) {
      if (!roles.has(clientId)) {
        const listed = await withNewDeadline(() => store.clientRoles.list(undefined, clientId));
        roles.set(clientId, new Set(listed.map(({ name }) => name)));
      }
      if (names.some((name) => !roles.get(clientId)!.has(name))) return { column: 'roles', reason: 'role' };
    }
    return Object.entries(given).flatMap(([clientId, names]) => names.map((role) => ({ clientId, role })));
  }

  return async (record: UserRecord): Promise<UserAdditions | RecordProblem | undefined> => {
    if (!record.totp && !record.links && !record.roles) return undefined;
    const links = await readLinks(record);
    if ('reason' in links) return links;
    const ofClients = await readRoles(record);
    if ('reason' in ofClients) return ofClients;
    const authenticators: UserAdditions['authenticators'] = [];
    for (const [index, { secret, name = '', algorithm, digits, period }] of (record.totp ?? []).entries()) {
      if (!makesCodes(algorithm, digits, period)) return { column: `totp.${index}`, reason: 'code-kind' };
      const bytes = readCodeSecret(secret);
      if (!bytes) return { column: `totp.${index}.secret`, reason: 'code-secret' };
      const id = randomId();
      const secretEncrypted = secretBox.seal(bytes, associatedDataOf('authenticators.secret_encrypted', id));
      authenticators.push({ id, name, secretEncrypted });
    }
    return { authenticators, links, roles: ofClients };
  };
}
