// Reads and writes the table pairwise_subjects: the subject of a user for the clients of one sector (OpenID Connect Core 8).
import { type Sql, statement } from '../../database/database.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { sectorIdentifier } from '../../oauth/subject-type.ts';
import { toUser, type User, type UserRow } from '../users/users.ts';

// of two concurrent first requests one inserts the row, and the other reads it in a second attempt
const obtain = statement(
  'pairwise_subjects.obtain',
  `WITH known AS (SELECT subject FROM pairwise_subjects WHERE sub = $1 AND sector_identifier = $2),
   made AS (
     INSERT INTO pairwise_subjects (sub, sector_identifier)
     SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM known)
     ON CONFLICT (sub, sector_identifier) DO NOTHING RETURNING subject)
   SELECT subject FROM known UNION ALL SELECT subject FROM made`,
);
const find = statement(
  'pairwise_subjects.find',
  'SELECT subject FROM pairwise_subjects WHERE sub = $1 AND sector_identifier = $2',
);
const findPairwise = statement(
  'pairwise_subjects.find_user',
  'SELECT u.* FROM pairwise_subjects p JOIN users u ON u.sub = p.sub WHERE p.sector_identifier = $1 AND p.subject = $2',
);
const findPublic = statement('pairwise_subjects.find_public_user', 'SELECT * FROM users WHERE sub = $1');

export function pairwiseSubjectsRepository(sql: Sql) {
  return {
    /** Returns the subject of a user for a client, and makes it if needed; undefined where the client gets the user's own `sub`. */
    async obtain(
      metadata: Pick<ClientMetadata, 'subject_type' | 'sector_identifier_uri' | 'redirect_uris'>,
      sub: string,
    ): Promise<string | undefined> {
      const sector = sectorIdentifier(metadata);
      return sector === undefined ? undefined : this.ofSector(sector, sub);
    },
    /** The subject of a user for one sector; it is made if needed. */
    async ofSector(sector: string, sub: string): Promise<string> {
      for (;;) {
        const [row] = await sql.query<{ subject: string }>(obtain, [sub, sector]);
        if (row) return row.subject;
      }
    },
    /** The subject of a user for a client; undefined when the client has received none yet. */
    async find(metadata: ClientMetadata, sub: string): Promise<string | undefined> {
      const sector = sectorIdentifier(metadata);
      if (sector === undefined) return sub;
      const [row] = await sql.query<{ subject: string }>(find, [sub, sector]);
      return row?.subject;
    },
    /** The user whom a client names by a subject. Where subjects are pairwise, only one that its sector has received. */
    async findUser(metadata: ClientMetadata, subject: string): Promise<User | undefined> {
      const sector = sectorIdentifier(metadata);
      const [row] =
        sector === undefined
          ? await sql.query<UserRow>(findPublic, [subject])
          : await sql.query<UserRow>(findPairwise, [sector, subject]);
      return row && toUser(row);
    },
  };
}
