// Reads and writes the table group_memberships: which source says that a user is in a group (federation 3, FR38).
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';

/** The source of what an administrator, an import or plain SQL adds. */
export const manualSource = 'manual';

export interface MembershipsSet {
  /** Groups that the user was not in, by any source. */
  joined: string[];
  /** Groups that no source gives the user any more. */
  departed: string[];
  /** Guarded groups, which the source may not change. */
  skipped: string[];
}

const setMemberships = storedFunction(new URL('set_memberships.sql', import.meta.url));
const set = statement(
  'memberships.set',
  `SELECT coalesce(joined, '{}') AS joined, coalesce(departed, '{}') AS departed, coalesce(skipped, '{}') AS skipped
     FROM ${setMemberships.name}($1, $2, $3, $4)`,
);
const ofUser = statement(
  'memberships.of_user',
  `SELECT group_name AS name, source FROM group_memberships WHERE sub = $1 ORDER BY group_name, source = 'manual' DESC, source`,
);
const ofGroup = statement(
  'memberships.of_group',
  `SELECT sub AS name, source FROM group_memberships WHERE group_name = $1 AND sub = ANY ($2) ORDER BY sub, source = 'manual' DESC, source`,
);
const usersOf = statement(
  'memberships.users_of',
  'SELECT DISTINCT sub FROM group_memberships WHERE source = $1 ORDER BY sub LIMIT $2',
);

export function membershipsRepository(sql: Sql) {
  const grouped = async (rows: Promise<{ name: string; source: string }[]>): Promise<Map<string, string[]>> => {
    const sources = new Map<string, string[]>();
    for (const { name, source } of await rows) sources.set(name, [...(sources.get(name) ?? []), source]);
    return sources;
  };
  return {
    /**
     * In a transaction: sets the groups that a source says a user is in. Other sources keep theirs (federation 3).
     * @param guarded the groups that only an administrator changes, unless they name the source
     */
    async set(
      sub: string,
      source: string,
      names: readonly string[],
      guarded: readonly string[],
    ): Promise<MembershipsSet> {
      const [row] = await sql.query<MembershipsSet>(set, [sub, source, names, guarded]);
      return row!;
    },
    /** The sources of each group of a user. */
    ofUser: (sub: string): Promise<Map<string, string[]>> => grouped(sql.query(ofUser, [sub])),
    /** The sources of a group's membership of each of these users. */
    ofGroup: (name: string, subs: readonly string[]): Promise<Map<string, string[]>> =>
      grouped(sql.query(ofGroup, [name, subs])),
    /** Some users with memberships of a source. */
    usersOf: async (source: string, limit: number): Promise<string[]> =>
      (await sql.query<{ sub: string }>(usersOf, [source, limit])).map(({ sub }) => sub),
  };
}
