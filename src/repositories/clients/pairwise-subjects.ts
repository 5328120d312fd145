// The table pairwise_subjects: by which name the clients of a sector know a user (OpenID Connect Core 8).
import { type Sql, statement } from '../../database/database.ts';
import type { ClientMetadata } from '../../oauth/client-metadata.ts';
import { sectorIdentifier } from '../../oauth/subject-type.ts';
import { toUser, type User, type UserRow } from '../users/users.ts';

// of two first times at once one makes the row, and the other reads it when it asks again
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
    /**
     * The subject of a user for a client, made up at the first time; undefined where the client knows the user's own `sub`.
     */
    async obtain(metadata: ClientMetadata, sub: string): Promise<string | undefined> {
      const sector = sectorIdentifier(metadata);
      if (sector === undefined) return undefined;
      for (;;) {
        const [row] = await sql.query<{ subject: string }>(obtain, [sub, sector]);
        if (row) return row.subject;
      }
    },
    /** By which a client knows a user; undefined when it was told of none yet. */
    async find(metadata: ClientMetadata, sub: string): Promise<string | undefined> {
      const sector = sectorIdentifier(metadata);
      if (sector === undefined) return sub;
      const [row] = await sql.query<{ subject: string }>(find, [sub, sector]);
      return row?.subject;
    },
    /** Whom a client means by a subject: only one that it was told, where its subjects are pairwise. */
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
