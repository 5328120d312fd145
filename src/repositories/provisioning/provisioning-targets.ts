// Reads provisioning targets and how their provisioning goes, beside what every entity reads and writes.
import { type Sql, statement } from '../../database/database.ts';
import { type ProvisioningTarget, provisioningTargets } from '../../entities/provisioning-targets.ts';
import { entityRepository, entityTable } from '../entities.ts';

type Row = Record<string, unknown>;

/** What a request to a target needs of it. */
export type Target = Pick<
  ProvisioningTarget,
  | 'id'
  | 'client'
  | 'baseUrl'
  | 'bearerTokenEncrypted'
  | 'tokenEndpoint'
  | 'clientId'
  | 'clientSecretEncrypted'
  | 'attributes'
  | 'groups'
  | 'leave'
  | 'version'
>;

/** Why nothing is sent: the first run, or the loss of access of many users. */
export const holds = ['first', 'mass'] as const;
export type Hold = (typeof holds)[number];

export interface Run {
  held: Hold | undefined;
  reviewedAt: Date;
  failingSince: Date | undefined;
  retryAt: Date | undefined;
  lastFailure: string | undefined;
  /** Why a group was not brought up to date, by its name. */
  groupFailures: Readonly<Record<string, string>>;
}

const table = entityTable(provisioningTargets);
const usable = statement(
  'provisioning_targets.usable',
  `SELECT id, client, base_url, bearer_token_encrypted, token_endpoint, client_id, client_secret_encrypted, attributes, groups, leave, version
     FROM provisioning_targets WHERE id = $1 AND status = 'enabled'`,
);
const ofClient = statement(
  'provisioning_targets.of_client',
  `SELECT id FROM provisioning_targets WHERE client = $1 AND status = 'enabled'`,
);
const renameGroup = statement(
  'provisioning_targets.rename_group',
  `WITH kept AS (
     UPDATE provisioned_groups g SET name = $2, revision = revision + 1, waiting = true, next_attempt_at = now() WHERE name = $1
        AND NOT EXISTS (SELECT FROM provisioned_groups o WHERE o.target_id = g.target_id AND o.name = $2)),
   moved AS (
     UPDATE provisioned_users SET in_groups = CASE WHEN $2 = ANY (in_groups) THEN array_remove(in_groups, $1) ELSE array_replace(in_groups, $1, $2) END
      WHERE in_groups @> ARRAY[$1])
   UPDATE provisioning_targets SET groups = CASE WHEN $2 = ANY (groups) THEN array_remove(groups, $1) ELSE array_replace(groups, $1, $2) END
    WHERE groups @> ARRAY[$1]`,
);
const removeGroup = statement(
  'provisioning_targets.remove_group',
  `WITH gone AS (UPDATE provisioned_groups SET waiting = true, revision = revision + 1, next_attempt_at = now() WHERE name = $1)
   UPDATE provisioning_targets SET groups = array_remove(groups, $1) WHERE groups @> ARRAY[$1]`,
);

/** All users are reviewed once the transactions that write now have ended. */
const wake = `SELECT pg_notify('gatehouse', 'provisioned')`;
const begin = statement(
  'provisioning_runs.begin',
  `WITH begun AS (INSERT INTO provisioning_runs (target_id) VALUES ($1)) ${wake}`,
);
const wantReview = statement(
  'provisioning_runs.want_review',
  `WITH wanted AS (UPDATE provisioning_runs SET review = CASE WHEN review = 'all' THEN 'all' ELSE $2 END, review_after = NULL WHERE target_id = $1)
   ${wake}`,
);
// a pause of the other server does not apply to this one, and no account there is known
const restart = statement(
  'provisioning_runs.restart',
  `WITH forgotten AS (DELETE FROM provisioned_users WHERE target_id = $1),
   lost AS (DELETE FROM provisioned_groups WHERE target_id = $1),
   held AS (
     UPDATE provisioning_runs SET held = 'first', approved_at = NULL, review = 'access', review_after = NULL, failures = 0, failing_since = NULL,
            told_at = NULL, retry_at = NULL, last_failure = NULL
      WHERE target_id = $1)
   ${wake}`,
);
const forgive = statement(
  'provisioning_runs.forgive',
  `WITH forgiven AS (
     UPDATE provisioning_runs SET failures = 0, failing_since = NULL, told_at = NULL, retry_at = NULL, last_failure = NULL WHERE target_id = $1),
   again AS (
     UPDATE provisioned_users SET next_attempt_at = now(), attempts = 0 WHERE target_id = $1 AND waiting)
   ${wake}`,
);
const find = statement(
  'provisioning_runs.find',
  `SELECT held, reviewed_at, failing_since, retry_at, last_failure,
          (SELECT jsonb_object_agg(g.name, g.last_failure) FROM provisioned_groups g WHERE g.target_id = $1 AND g.last_failure IS NOT NULL) AS of_groups
     FROM provisioning_runs WHERE target_id = $1`,
);
const lock = statement('provisioning_runs.lock', 'SELECT held FROM provisioning_runs WHERE target_id = $1 FOR UPDATE');
const leaving = `SELECT FROM provisioned_users p WHERE p.target_id = t.id AND p.waiting AND NOT p.wanted AND p.state = 'active' AND NOT p.approved`;
const countLeaving = statement(
  'provisioning_runs.count_leaving',
  `SELECT (SELECT count(*) FROM (${leaving}) AS l)::int AS leaving FROM provisioning_targets t WHERE t.id = $1`,
);
const approve = statement(
  'provisioning_runs.approve',
  `WITH run AS (UPDATE provisioning_runs SET held = NULL, approved_at = now() WHERE target_id = $1),
   accounts AS (UPDATE provisioned_users SET approved = true WHERE target_id = $1 AND waiting AND NOT wanted)
   ${wake}`,
);
const fail = statement(
  'provisioning_runs.fail',
  `UPDATE provisioning_runs SET failures = failures + 1, failing_since = coalesce(failing_since, now()), last_failure = $2,
          told_at = CASE WHEN failing_since <= now() - make_interval(secs => $6) THEN coalesce(told_at, now()) END,
          retry_at = now() + make_interval(secs => coalesce($3::float8, least($5, $4 * 2 ^ least(failures, 20))))
    WHERE target_id = $1 AND (retry_at IS NULL OR retry_at <= now() OR $3::float8 IS NOT NULL)
   RETURNING told_at = now() AS tells`,
);
const succeed = statement(
  'provisioning_runs.succeed',
  `UPDATE provisioning_runs SET failures = 0, failing_since = NULL, told_at = NULL, retry_at = NULL, last_failure = NULL WHERE target_id = $1 AND failures > 0`,
);

// the first look after a review is wanted notes the transactions that write then, and a later one finds that they have ended
const noteReviews = statement(
  'provisioning_runs.note_reviews',
  `UPDATE provisioning_runs r SET review = coalesce(review, 'all'), review_after = pg_snapshot_xmax(pg_current_snapshot())
     FROM provisioning_targets t
    WHERE t.id = r.target_id AND t.status = 'enabled' AND r.review_after IS NULL
      AND (r.review IS NOT NULL OR (r.held IS NULL AND r.reviewed_at < date_trunc('day', now() - interval '2 hours', 'UTC') + interval '2 hours'))
   RETURNING r.target_id`,
);
const dueReviews = statement(
  'provisioning_runs.due_reviews',
  `SELECT r.target_id, r.review = 'all' AS everyone FROM provisioning_runs r JOIN provisioning_targets t ON t.id = r.target_id AND t.status = 'enabled'
    WHERE r.review IS NOT NULL AND r.review_after <= pg_snapshot_xmin(pg_current_snapshot()) LIMIT 1 FOR UPDATE OF r SKIP LOCKED`,
);
const reviewed = statement(
  'provisioning_runs.reviewed',
  'UPDATE provisioning_runs SET review = NULL, review_after = NULL, reviewed_at = now() WHERE target_id = $1',
);
/** Of targets where too many users would leave at once, within a day or since the last approval. @param $1 how many may, $2 which part of all */
const holdMass = statement(
  'provisioning_runs.hold_mass',
  `WITH counted AS MATERIALIZED (
     SELECT t.id, (SELECT count(*) FROM (${leaving}) AS l) AS next,
            (SELECT count(*) FROM provisioned_users p
              WHERE p.target_id = t.id AND p.state = 'left' AND NOT p.approved
                AND p.left_at > greatest(now() - interval '1 day', q.approved_at)) AS gone
       FROM provisioning_targets t JOIN provisioning_runs q ON q.target_id = t.id
      WHERE t.status = 'enabled' AND t.leave <> 'nothing' AND q.held IS NULL AND EXISTS (${leaving}))
   UPDATE provisioning_runs r SET held = 'mass' FROM counted c
    WHERE r.target_id = c.id AND r.held IS NULL AND c.next + c.gone > $1
      AND c.next + c.gone > $2::float8 * (c.gone + (SELECT count(*) FROM provisioned_users p WHERE p.target_id = c.id AND p.state = 'active'))
   RETURNING r.target_id, c.next::int AS leaving`,
);

/** Seconds: the pause of a target after its first failure, and the longest one. */
const firstPause = 5;
const maxPause = 900;
/** Seconds after which administrators are told that a target fails. */
const longFailure = 3600;
/** How many accounts may end without an approval, and which part of all accounts. */
export const mostLeaving = 5;
export const mostLeavingPart = 0.1;

export function provisioningTargetsRepository(sql: Sql) {
  return {
    ...entityRepository(table, sql),
    /** Undefined if it is disabled or deleted. */
    async usable(id: string): Promise<Target | undefined> {
      const [row] = await sql.query<Row>(usable, [id]);
      return row && table.toOne(row);
    },
    /** The enabled target of a client. */
    ofClient: async (clientId: string): Promise<string | undefined> =>
      (await sql.query<{ id: string }>(ofClient, [clientId]))[0]?.id,
    /** Follows the new name of a group. */
    async renameGroup(name: string, to: string): Promise<void> {
      await sql.query(renameGroup, [name, to]);
    },
    /** Removes a group from the targets that get it. */
    async removeGroup(name: string): Promise<void> {
      await sql.query(removeGroup, [name]);
    },
    /** Begins the provisioning of a new target: it is held until an administrator approves. */
    async begin(id: string): Promise<void> {
      await sql.query(begin, [id]);
    },
    /** Reviews all users soon. @param which those whose access changed, or every account, which is then also read at the target */
    async wantReview(id: string, which: 'access' | 'all'): Promise<void> {
      await sql.query(wantReview, [id, which]);
    },
    /** Forgets what another server had: the first run is held anew. */
    async restart(id: string): Promise<void> {
      await sql.query(restart, [id]);
    },
    /** Ends the pause of a target, which an administrator has corrected. */
    async forgive(id: string): Promise<void> {
      await sql.query(forgive, [id]);
    },
    async run(id: string): Promise<Run | undefined> {
      const [row] = await sql.query<{
        held: Hold | null;
        reviewed_at: Date;
        failing_since: Date | null;
        retry_at: Date | null;
        last_failure: string | null;
        of_groups: Record<string, string> | null;
      }>(find, [id]);
      return (
        row && {
          held: row.held ?? undefined,
          reviewedAt: row.reviewed_at,
          failingSince: row.failing_since ?? undefined,
          retryAt: row.retry_at ?? undefined,
          lastFailure: row.last_failure ?? undefined,
          groupFailures: row.of_groups ?? {},
        }
      );
    },
    /** In a transaction: why the target is held. No other transaction holds or approves it until this one ends. */
    async lockHold(id: string): Promise<Hold | undefined> {
      return (await sql.query<{ held: Hold | null }>(lock, [id]))[0]?.held ?? undefined;
    },
    /** How many accounts end next that no administrator has approved. */
    async countLeaving(id: string): Promise<number> {
      return (await sql.query<{ leaving: number }>(countLeaving, [id]))[0]?.leaving ?? 0;
    },
    /** Sends what waits, and ends the accounts that end now. */
    async approve(id: string): Promise<void> {
      await sql.query(approve, [id]);
    },
    /**
     * Records a failure of the target itself. @param pause the seconds for which it asked
     * @returns whether administrators are to be told now, since it fails for long
     */
    async fail(id: string, reason: string, pause?: number): Promise<boolean> {
      const [row] = await sql.query<{ tells: boolean | null }>(fail, [
        id,
        reason,
        pause,
        firstPause,
        maxPause,
        longFailure,
      ]);
      return row?.tells === true;
    },
    /** Records a good answer after failures. */
    async succeed(id: string): Promise<void> {
      await sql.query(succeed, [id]);
    },
    /** Notes which targets all users are reviewed for, by a change or once a night. */
    async noteReviews(): Promise<boolean> {
      return (await sql.query(noteReviews)).length > 0;
    },
    /** In a transaction: locks a target whose review can begin. */
    async dueReview(): Promise<{ targetId: string; everyone: boolean } | undefined> {
      const [row] = await sql.query<{ target_id: string; everyone: boolean }>(dueReviews);
      return row && { targetId: row.target_id, everyone: row.everyone };
    },
    async reviewed(id: string): Promise<void> {
      await sql.query(reviewed, [id]);
    },
    /** Holds each target at which too many accounts would end. */
    async holdMass(): Promise<{ targetId: string; leaving: number }[]> {
      const rows = await sql.query<{ target_id: string; leaving: number }>(holdMass, [mostLeaving, mostLeavingPart]);
      return rows.map(({ target_id: targetId, leaving: count }) => ({ targetId, leaving: count }));
    },
  };
}
