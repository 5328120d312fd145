// Reads and writes the table provisioned_groups: the groups that provisioning targets have, and which members each has yet to get or lose.
import { type Sql, statement } from '../../database/database.ts';

/** A group that this instance has leased. */
export interface TargetGroup {
  targetId: string;
  name: string;
  /** The name that was written last. */
  written: string | undefined;
  remoteId: string | undefined;
  isPosted: boolean;
  isMade: boolean;
  revision: number;
  claims: number;
  attempts: number;
  /** Whether the target still gets it. */
  isWanted: boolean;
  /** Whether it has accounts at the target that were sent as its members. */
  hasMembers: boolean;
}

export interface GroupMember {
  sub: string;
  remoteId: string;
}

interface Row {
  target_id: string;
  name: string;
  written: string | null;
  remote_id: string | null;
  posted: boolean | null;
  made: boolean;
  revision: number;
  claims: number;
  attempts: number;
  wanted: boolean | null;
  filled: boolean;
}

// those that the target gets, and those that it no longer gets
const markAll = statement(
  'provisioned_groups.mark_all',
  `WITH gone AS (
     UPDATE provisioned_groups g SET waiting = true, revision = revision + 1, attempts = 0, next_attempt_at = now()
       FROM provisioning_targets t WHERE t.id = $1 AND g.target_id = t.id AND g.name <> ALL (t.groups))
   INSERT INTO provisioned_groups AS g (target_id, name)
   SELECT id, name FROM provisioning_targets, unnest(groups) AS name WHERE id = $1 ORDER BY name
   ON CONFLICT (target_id, name) DO UPDATE SET waiting = true, revision = g.revision + 1, attempts = 0, next_attempt_at = now()`,
);
/** The groups of the target in which the user's account is and should not be, or should be and is not. */
const markOf = statement(
  'provisioned_groups.mark_of',
  `UPDATE provisioned_groups g SET waiting = true, revision = g.revision + 1, next_attempt_at = least(g.next_attempt_at, now())
     FROM provisioned_users p JOIN provisioning_targets t ON t.id = p.target_id LEFT JOIN users u ON u.sub = p.sub
    WHERE p.target_id = $1 AND p.sub = $2 AND g.target_id = p.target_id
      AND (g.name = ANY (p.in_groups)) <> (p.state = 'active' AND p.remote_id IS NOT NULL AND g.name = ANY (t.groups) AND g.name = ANY (coalesce(u.groups, '{}')))`,
);
// after the users of the target: members are named by the ids of their accounts
const claim = statement(
  'provisioned_groups.claim',
  `WITH ready AS MATERIALIZED (
     SELECT t.id, t.groups FROM provisioning_targets t JOIN provisioning_runs r ON r.target_id = t.id
      WHERE t.status = 'enabled' AND r.held IS NULL AND r.review IS DISTINCT FROM 'access' AND (r.retry_at IS NULL OR r.retry_at <= now()) AND t.id <> ALL ($1::text[])
        AND NOT EXISTS (SELECT FROM provisioned_users p WHERE p.target_id = t.id AND p.waiting AND p.next_attempt_at <= now())
      LIMIT $2)
   UPDATE provisioned_groups g SET claims = claims + 1, attempts = attempts + 1, leased_until = now() + make_interval(secs => $3)
     FROM ready CROSS JOIN LATERAL (
       SELECT d.target_id, d.name FROM provisioned_groups d
        WHERE d.target_id = ready.id AND d.waiting AND d.next_attempt_at <= now() AND (d.leased_until IS NULL OR d.leased_until <= now())
        ORDER BY d.next_attempt_at, d.name LIMIT 1 FOR UPDATE SKIP LOCKED) AS due
    WHERE g.target_id = due.target_id AND g.name = due.name
   RETURNING g.target_id, g.name, g.written, g.remote_id, g.posted_at IS NOT NULL AS posted, g.made, g.revision, g.claims, g.attempts,
             g.name = ANY (ready.groups) AS wanted,
             EXISTS (SELECT FROM provisioned_users p
                      WHERE p.target_id = g.target_id AND p.remote_id IS NOT NULL AND p.in_groups @> ARRAY[g.name] AND p.in_groups <> '{}') AS filled`,
);
const isMember = `p.state = 'active' AND $3 AND EXISTS (SELECT FROM users u WHERE u.sub = p.sub AND $2 = ANY (u.groups))`;
const missing = statement(
  'provisioned_groups.missing',
  `SELECT p.sub, p.remote_id FROM provisioned_users p
    WHERE p.target_id = $1 AND p.remote_id IS NOT NULL AND NOT $2 = ANY (p.in_groups) AND ${isMember} ORDER BY p.sub LIMIT $4`,
);
const surplus = statement(
  'provisioned_groups.surplus',
  `SELECT p.sub, p.remote_id FROM provisioned_users p
    WHERE p.target_id = $1 AND p.remote_id IS NOT NULL AND p.in_groups @> ARRAY[$2] AND p.in_groups <> '{}' AND NOT (${isMember}) ORDER BY p.sub LIMIT $4`,
);
const join = statement(
  'provisioned_groups.join',
  'UPDATE provisioned_users SET in_groups = array_append(in_groups, $2) WHERE target_id = $1 AND sub = ANY ($3) AND NOT $2 = ANY (in_groups)',
);
const leave = statement(
  'provisioned_groups.leave',
  'UPDATE provisioned_users SET in_groups = array_remove(in_groups, $2) WHERE target_id = $1 AND sub = ANY ($3)',
);
const empty = statement(
  'provisioned_groups.empty',
  `UPDATE provisioned_users SET in_groups = array_remove(in_groups, $2) WHERE target_id = $1 AND in_groups @> ARRAY[$2] AND in_groups <> '{}'`,
);
const post = statement(
  'provisioned_groups.post',
  'UPDATE provisioned_groups SET posted_at = now() WHERE target_id = $1 AND name = $2 AND claims = $3 RETURNING name',
);
const unpost = statement(
  'provisioned_groups.unpost',
  'UPDATE provisioned_groups SET posted_at = NULL WHERE target_id = $1 AND name = $2 AND claims = $3',
);
const keep = statement(
  'provisioned_groups.keep',
  'UPDATE provisioned_groups SET remote_id = $4, made = $5, written = $6 WHERE target_id = $1 AND name = $2 AND claims = $3 RETURNING name',
);
const finish = statement(
  'provisioned_groups.finish',
  `UPDATE provisioned_groups SET waiting = revision <> $4, leased_until = NULL, attempts = 0, next_attempt_at = now(), last_failure = NULL
    WHERE target_id = $1 AND name = $2 AND claims = $3 RETURNING name`,
);
const fail = statement(
  'provisioned_groups.fail',
  `UPDATE provisioned_groups SET last_failure = $4, leased_until = NULL, next_attempt_at = now() + make_interval(secs => $5)
    WHERE target_id = $1 AND name = $2 AND claims = $3 RETURNING name`,
);
const forget = statement(
  'provisioned_groups.forget',
  'DELETE FROM provisioned_groups WHERE target_id = $1 AND name = $2 AND claims = $3 AND revision = $4 RETURNING name',
);

/** Members that one request adds or removes: more of them some targets refuse (federation 8). */
export const portion = 100;

type Key = Pick<TargetGroup, 'targetId' | 'name' | 'claims'>;

export function provisionedGroupsRepository(sql: Sql) {
  const key = ({ targetId, name, claims }: Key) => [targetId, name, claims];
  const any = async (rows: Promise<unknown[]>): Promise<boolean> => (await rows).length > 0;
  const members = async (rows: Promise<{ sub: string; remote_id: string | null }[]>): Promise<GroupMember[]> =>
    (await rows).map(({ sub, remote_id: remoteId }) => ({ sub, remoteId: remoteId! }));
  return {
    /** Compares all groups of a target with what it has. */
    async markAll(targetId: string): Promise<void> {
      await sql.query(markAll, [targetId]);
    },
    /** The same for those groups whose members differ by one account. */
    async markOf(targetId: string, sub: string): Promise<void> {
      await sql.query(markOf, [targetId, sub]);
    },
    /** Leases one due group of each of at most `targets` targets, whose users are all sent. */
    async claim(options: { busy: string[]; targets: number; lease: number }): Promise<TargetGroup[]> {
      const { busy, targets, lease } = options;
      return (await sql.query<Row>(claim, [busy, targets, lease])).map(toGroup);
    },
    /** Some accounts that the group has yet to get. */
    missing: ({ targetId, name, isWanted }: TargetGroup): Promise<GroupMember[]> =>
      members(sql.query(missing, [targetId, name, isWanted, portion])),
    /** Some accounts that the group has yet to lose. */
    surplus: ({ targetId, name, isWanted }: TargetGroup): Promise<GroupMember[]> =>
      members(sql.query(surplus, [targetId, name, isWanted, portion])),
    async join({ targetId, name }: Key, subs: readonly string[]): Promise<void> {
      await sql.query(join, [targetId, name, subs]);
    },
    async leave({ targetId, name }: Key, subs: readonly string[]): Promise<void> {
      await sql.query(leave, [targetId, name, subs]);
    },
    /** The group is gone at the target, and has no members there. */
    async empty({ targetId, name }: Key): Promise<void> {
      await sql.query(empty, [targetId, name]);
    },
    /** Notes, before the request, that the group is created; false if another instance has taken over. */
    post: (group: Key): Promise<boolean> => any(sql.query(post, key(group))),
    /** Notes that no request of this service made what the target has. */
    async unpost(group: Key): Promise<void> {
      await sql.query(unpost, key(group));
    },
    /** Records the id and the name of the group at the target; false if another instance has taken over. */
    keep: (group: Key, remoteId: string | undefined, isMade: boolean, written: string | undefined): Promise<boolean> =>
      any(sql.query(keep, [...key(group), remoteId, isMade, written])),
    finish: (group: TargetGroup): Promise<boolean> => any(sql.query(finish, [...key(group), group.revision])),
    /** @param pause in seconds */
    fail: (group: TargetGroup, reason: string, pause: number): Promise<boolean> =>
      any(sql.query(fail, [...key(group), reason, pause])),
    /** The target has nothing of the group any more. */
    forget: (group: TargetGroup): Promise<boolean> => any(sql.query(forget, [...key(group), group.revision])),
  };
}

const toGroup = (row: Row): TargetGroup => ({
  targetId: row.target_id,
  name: row.name,
  written: row.written ?? undefined,
  remoteId: row.remote_id ?? undefined,
  isPosted: row.posted === true,
  isMade: row.made,
  revision: row.revision,
  claims: row.claims,
  attempts: row.attempts,
  isWanted: row.wanted === true,
  hasMembers: row.filled,
});
