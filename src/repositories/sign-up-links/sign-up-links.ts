// Finds and counts what sign-up links do, beside what every entity reads and writes (pages, sign-up links).
import { type Sql, statement } from '../../database/database.ts';
import { type SignUpLink, signUpLinks } from '../../entities/sign-up-links.ts';
import { entityRepository, entityTable } from '../entities.ts';

const table = entityTable(signUpLinks);
type Row = Record<string, unknown>;

/** Whether a link works: it is asked when a user opens it, and again by the statement that counts its use. $2 has the guarded groups. */
const isOpen = `status = 'enabled' AND used < uses AND expires_at > now() AND NOT groups && $2::text[] AND NOT carries_role(groups)`;
const columns = `sign_up_links.*, 'open' AS state, NULL AS uri`;

const keepToken = statement(
  'sign_up_links.keep_token',
  'INSERT INTO sign_up_link_tokens (token_hash, link_id) VALUES ($1, $2) ON CONFLICT (link_id) DO NOTHING RETURNING link_id',
);
const findByToken = statement(
  'sign_up_links.find_by_token',
  `SELECT ${columns} FROM sign_up_links JOIN sign_up_link_tokens ON link_id = id WHERE token_hash = $1 AND ${isOpen}`,
);
const findOpen = statement(
  'sign_up_links.find_open',
  `SELECT ${columns} FROM sign_up_links WHERE id = $1 AND ${isOpen}`,
);
const use = statement(
  'sign_up_links.use',
  `UPDATE sign_up_links SET used = used + 1 WHERE id = $1 AND ${isOpen} RETURNING ${columns}`,
);
// as every change of groups: groups are locked in the order of their names, before what names them
const keepGroups = statement(
  'sign_up_links.keep_groups',
  `SELECT name FROM groups WHERE name IN (SELECT unnest(groups) FROM sign_up_links WHERE id = $1) ORDER BY name FOR KEY SHARE`,
);
const withRoles = statement(
  'sign_up_links.with_roles',
  'SELECT name FROM groups WHERE name = ANY ($1) AND carries_role(ARRAY[name]) ORDER BY name LIMIT 1',
);
const renameGroup = statement(
  'sign_up_links.rename_group',
  `UPDATE sign_up_links SET groups = CASE WHEN $2 = ANY (groups) THEN array_remove(groups, $1) ELSE array_replace(groups, $1, $2) END
    WHERE groups @> ARRAY[$1]`,
);
const removeGroup = statement(
  'sign_up_links.remove_group',
  'UPDATE sign_up_links SET groups = array_remove(groups, $1) WHERE groups @> ARRAY[$1]',
);

export function signUpLinksRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<SignUpLink | undefined> => {
    const [row] = await rows;
    return row && table.toOne(row);
  };
  return {
    ...entityRepository(table, sql),
    /** Gives a link its token; false for a link that has one. */
    keepToken: async (tokenHash: Buffer, id: string): Promise<boolean> =>
      (await sql.query(keepToken, [tokenHash, id])).length > 0,
    /** Finds a link that works. @param guarded the groups that only administrators give */
    findByToken: (tokenHash: Buffer, guarded: readonly string[]): Promise<SignUpLink | undefined> =>
      one(sql.query<Row>(findByToken, [tokenHash, guarded])),
    /** Finds a link that works, by its id. */
    findOpen: (id: string, guarded: readonly string[]): Promise<SignUpLink | undefined> =>
      one(sql.query<Row>(findOpen, [id, guarded])),
    /** In the transaction that creates the account: counts a use. Undefined if the link does not work any more; of concurrent calls the last use is one's. */
    async use(id: string, guarded: readonly string[]): Promise<SignUpLink | undefined> {
      await sql.query(keepGroups, [id]);
      return one(sql.query<Row>(use, [id, guarded]));
    },
    /** The first of these groups that carries the role of a client. */
    groupWithRole: async (groups: readonly string[]): Promise<string | undefined> =>
      (await sql.query<{ name: string }>(withRoles, [groups]))[0]?.name,
    /** Gives one group in the place of another. */
    async renameGroup(name: string, to: string): Promise<void> {
      await sql.query(renameGroup, [name, to]);
    },
    /** A later group of this name is another one. */
    async removeGroup(name: string): Promise<void> {
      await sql.query(removeGroup, [name]);
    },
  };
}
