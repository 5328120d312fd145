// Reads and writes the table provisioned_users: what provisioning targets have of each user, and which of it waits to be sent.
import { type Sql, statement } from '../../database/database.ts';
import type { Page } from '../clients/client-listing.ts';

export const provisioningProblems = ['taken', 'ambiguous', 'unnamed'] as const;
export type ProvisioningProblem = (typeof provisioningProblems)[number];
export const provisioningActs = ['created', 'adopted', 'changed', 'disabled', 'deleted', 'unchanged'] as const;
export type ProvisioningAct = (typeof provisioningActs)[number];
export const accountStates = ['none', 'active', 'left'] as const;
export type AccountState = (typeof accountStates)[number];

/** An account that this instance has leased. */
export interface Account {
  targetId: string;
  sub: string;
  externalId: string | undefined;
  remoteId: string | undefined;
  written: Record<string, unknown> | undefined;
  state: AccountState;
  isPosted: boolean;
  isMade: boolean;
  /** Whether the user could use the application when the change was noted. */
  isWanted: boolean;
  isApproved: boolean;
  isToCheck: boolean;
  problem: ProvisioningProblem | undefined;
  revision: number;
  claims: number;
  attempts: number;
}

/** What a target has of a user after an attempt. */
export interface AccountOutcome {
  act: ProvisioningAct;
  state: AccountState;
  externalId: string | undefined;
  remoteId: string | undefined;
  written: Record<string, unknown> | undefined;
  isMade: boolean;
  problem?: ProvisioningProblem | undefined;
  /** Of the last answer; undefined without a request. */
  status: number | undefined;
}

/** What a target last heard of a user. */
export interface AccountSummary {
  sub: string;
  /** Undefined for a deleted user. */
  username: string | undefined;
  remoteId: string | undefined;
  state: AccountState;
  isWaiting: boolean;
  problem: ProvisioningProblem | undefined;
  act: ProvisioningAct | undefined;
  status: number | undefined;
  answeredAt: Date | undefined;
  lastFailure: string | undefined;
  nextAttemptAt: Date | undefined;
  createdAt: Date;
}

interface Row {
  target_id: string;
  sub: string;
  external_id: string | null;
  remote_id: string | null;
  written: Record<string, unknown> | null;
  state: AccountState;
  posted: boolean | null;
  made: boolean;
  wanted: boolean;
  approved: boolean;
  to_check: boolean;
  problem: ProvisioningProblem | null;
  revision: number;
  claims: number;
  attempts: number;
}

interface SummaryRow {
  sub: string;
  username: string | null;
  remote_id: string | null;
  state: AccountState;
  waiting: boolean;
  problem: ProvisioningProblem | null;
  last_act: ProvisioningAct | null;
  answer_status: number | null;
  answered_at: Date | null;
  last_failure: string | null;
  next_attempt_at: Date | null;
  created_at: Date;
}

const again = `wanted = excluded.wanted, waiting = true, revision = p.revision + 1, attempts = 0, next_attempt_at = now(),
            approved = p.approved AND NOT excluded.wanted, problem = CASE WHEN p.problem = 'unnamed' THEN p.problem END`;
const wake = `SELECT count(*)::int AS marked, pg_notify('gatehouse', 'provisioned') FROM marked HAVING count(*) > 0`;
const maySee = `c.status = 'enabled' AND u.status = 'enabled' AND has_access(u.groups, c.access, c.access_groups)`;

// in the order of the key, so that two of them cannot deadlock
const mark = statement(
  'provisioned_users.mark',
  `WITH now_wanted AS (
     SELECT t.id AS target_id, s.sub, coalesce(${maySee}, false) AS wanted
       FROM provisioning_targets t JOIN clients c ON c.client_id = t.client
      CROSS JOIN (SELECT DISTINCT unnest($1::text[]) AS sub) AS s LEFT JOIN users u ON u.sub = s.sub
      WHERE t.status = 'enabled'),
   marked AS (
     INSERT INTO provisioned_users AS p (target_id, sub, wanted)
     SELECT target_id, sub, wanted FROM now_wanted w
      WHERE wanted OR EXISTS (SELECT FROM provisioned_users e WHERE e.target_id = w.target_id AND e.sub = w.sub)
      ORDER BY target_id, sub
     ON CONFLICT (target_id, sub) DO UPDATE SET ${again} RETURNING 1)
   ${wake}`,
);
/** All users of a target: those whose access changed, or with $2 everyone who has or had an account. */
const review = statement(
  'provisioned_users.review',
  `WITH now_wanted AS MATERIALIZED (
     SELECT u.sub FROM provisioning_targets t JOIN clients c ON c.client_id = t.client CROSS JOIN users u WHERE t.id = $1 AND ${maySee}),
   found AS (
     SELECT coalesce(w.sub, p.sub) AS sub, w.sub IS NOT NULL AS wanted
       FROM now_wanted w FULL JOIN (SELECT sub, wanted, state FROM provisioned_users WHERE target_id = $1) AS p ON p.sub = w.sub
      WHERE p.sub IS NULL OR p.wanted <> (w.sub IS NOT NULL) OR ($2 AND (p.wanted OR p.state <> 'left'))),
   marked AS (
     INSERT INTO provisioned_users AS p (target_id, sub, wanted) SELECT $1, sub, wanted FROM found ORDER BY sub
     ON CONFLICT (target_id, sub) DO UPDATE SET ${again}, to_check = p.to_check OR ($2 AND p.state = 'active') RETURNING 1)
   ${wake}`,
);
// users before groups; a target that failed gets one request at a time
const claim = statement(
  'provisioned_users.claim',
  `WITH ready AS MATERIALIZED (
     SELECT t.id, CASE WHEN r.failures > 0 THEN 1 ELSE $3::int END AS parallel
       FROM provisioning_targets t JOIN provisioning_runs r ON r.target_id = t.id
      WHERE t.status = 'enabled' AND r.held IS NULL AND r.review IS DISTINCT FROM 'access' AND (r.retry_at IS NULL OR r.retry_at <= now()) AND t.id <> ALL ($1::text[])
      ORDER BY random() LIMIT $2)
   UPDATE provisioned_users p SET claims = claims + 1, attempts = attempts + 1, leased_until = now() + make_interval(secs => $4)
     FROM ready CROSS JOIN LATERAL (
       SELECT d.target_id, d.sub FROM provisioned_users d
        WHERE d.target_id = ready.id AND d.waiting AND d.next_attempt_at <= now() AND (d.leased_until IS NULL OR d.leased_until <= now())
        ORDER BY d.next_attempt_at, d.sub LIMIT ready.parallel FOR UPDATE SKIP LOCKED) AS due
    WHERE p.target_id = due.target_id AND p.sub = due.sub
   RETURNING p.target_id, p.sub, p.external_id, p.remote_id, p.written, p.state, p.posted_at IS NOT NULL AS posted, p.made, p.wanted, p.approved,
             p.to_check, p.problem, p.revision, p.claims, p.attempts`,
);
const post = statement(
  'provisioned_users.post',
  'UPDATE provisioned_users SET posted_at = now(), external_id = $4 WHERE target_id = $1 AND sub = $2 AND claims = $3 RETURNING sub',
);
// a change that came meanwhile waits on; what was written about a user who is deleted meanwhile is forgotten
const finish = statement(
  'provisioned_users.finish',
  `UPDATE provisioned_users SET state = $4, external_id = $5, remote_id = $6,
          written = CASE WHEN EXISTS (SELECT FROM users u WHERE u.sub = $2) THEN $7::jsonb END, made = $8, problem = $9,
          last_act = CASE WHEN $10 = 'unchanged' THEN coalesce(last_act, $10) ELSE $10 END,
          answer_status = coalesce($11, answer_status), answered_at = CASE WHEN $11::int IS NULL THEN answered_at ELSE now() END, last_failure = $12,
          waiting = revision <> $13, leased_until = NULL, attempts = 0, next_attempt_at = now(), to_check = to_check AND revision <> $13,
          posted_at = CASE WHEN $4 = 'left' AND $6::text IS NULL THEN NULL ELSE posted_at END,
          in_groups = CASE WHEN $4 = 'left' AND $6::text IS NULL THEN '{}' ELSE in_groups END,
          left_at = CASE WHEN $4 <> 'left' THEN NULL ELSE coalesce(left_at, now()) END
    WHERE target_id = $1 AND sub = $2 AND claims = $3 RETURNING waiting`,
);
const fail = statement(
  'provisioned_users.fail',
  `UPDATE provisioned_users SET last_failure = $4, answer_status = coalesce($5, answer_status),
          answered_at = CASE WHEN $5::int IS NULL THEN answered_at ELSE now() END, leased_until = NULL, remote_id = $7,
          next_attempt_at = CASE WHEN revision = $8 THEN now() + make_interval(secs => $6) ELSE now() END
    WHERE target_id = $1 AND sub = $2 AND claims = $3 RETURNING sub`,
);
/** The user's access is another one than noted: the change is counted before it is sent. */
const recount = statement(
  'provisioned_users.recount',
  `UPDATE provisioned_users SET wanted = $4, approved = approved AND NOT $4, revision = revision + 1, waiting = true, leased_until = NULL,
          attempts = 0, next_attempt_at = now()
    WHERE target_id = $1 AND sub = $2 AND claims = $3 RETURNING sub`,
);
const forget = statement(
  'provisioned_users.forget',
  'DELETE FROM provisioned_users WHERE target_id = $1 AND sub = $2 AND claims = $3 AND revision = $4 RETURNING sub',
);
// a user who is gone leaves nothing: the row counts among those who left within a day
const forgetGone = statement(
  'provisioned_users.forget_gone',
  `DELETE FROM provisioned_users p WHERE (p.target_id, p.sub) IN (
     SELECT d.target_id, d.sub FROM provisioned_users d
      WHERE d.state = 'left' AND NOT d.waiting AND d.left_at < now() - interval '1 day' AND NOT EXISTS (SELECT FROM users u WHERE u.sub = d.sub)
      LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
);
const nextPause = statement(
  'provisioned_users.next_pause',
  `SELECT extract(epoch FROM least(
            (SELECT min(greatest(p.next_attempt_at, p.leased_until)) FROM provisioning_targets t CROSS JOIN LATERAL (
               SELECT d.next_attempt_at, d.leased_until FROM provisioned_users d WHERE d.target_id = t.id AND d.waiting AND d.next_attempt_at > now()
                ORDER BY d.next_attempt_at LIMIT 1) AS p WHERE t.status = 'enabled'),
            (SELECT min(retry_at) FROM provisioning_runs WHERE retry_at > now()),
            (SELECT now() + interval '0.1 seconds' FROM provisioning_runs r JOIN provisioning_targets t ON t.id = r.target_id AND t.status = 'enabled'
              WHERE r.review IS NOT NULL LIMIT 1)) - now())::float8 AS pause`,
);
const summary = `p.sub, u.username, p.remote_id, p.state, p.waiting, p.problem, p.last_act, p.answer_status, p.answered_at, p.last_failure,
            CASE WHEN p.waiting THEN p.next_attempt_at END AS next_attempt_at, p.created_at
       FROM provisioned_users p LEFT JOIN users u ON u.sub = p.sub`;
/** The accounts of a target after a place in the list, the newest first. */
const listed = `p.target_id = $1 AND (p.created_at, p.sub) < (coalesce($2::timestamptz, 'infinity'), coalesce($3, ''))`;
const list = statement(
  'provisioned_users.list',
  `SELECT ${summary} WHERE ${listed} ORDER BY p.created_at DESC, p.sub DESC LIMIT $4`,
);
const listFailing = statement(
  'provisioned_users.list_failing',
  `SELECT ${summary} WHERE ${listed} AND p.last_failure IS NOT NULL ORDER BY p.created_at DESC, p.sub DESC LIMIT $4`,
);

export function provisionedUsersRepository(sql: Sql) {
  const key = ({ targetId, sub, claims }: Pick<Account, 'targetId' | 'sub' | 'claims'>) => [targetId, sub, claims];
  const any = async (rows: Promise<unknown[]>): Promise<boolean> => (await rows).length > 0;
  return {
    /** Notes that these users are to be compared with what each target has of them. */
    async mark(subs: readonly string[]): Promise<void> {
      await sql.query(mark, [subs]);
    },
    /** The same for all users of a target. @param everyone also those whose access did not change */
    async review(targetId: string, everyone: boolean): Promise<void> {
      await sql.query(review, [targetId, everyone]);
    },
    /** Leases due accounts for `lease` seconds, of at most `targets` targets that are not in `busy`. */
    async claim(options: { busy: string[]; targets: number; parallel: number; lease: number }): Promise<Account[]> {
      const { busy, targets, parallel, lease } = options;
      return (await sql.query<Row>(claim, [busy, targets, parallel, lease])).map(toAccount);
    },
    /** Notes, before the request, that an account is created; false if another instance has taken over. */
    post: (account: Account, externalId: string): Promise<boolean> =>
      any(sql.query(post, [...key(account), externalId])),
    /** Records an attempt; false if another instance has taken over. @param failure why nothing more is sent, if it has a problem */
    finish: (account: Account, outcome: AccountOutcome, failure?: string): Promise<boolean> => {
      const { state, externalId, remoteId, written, isMade, problem, act, status } = outcome;
      const said = written && JSON.stringify(written);
      const values = [state, externalId, remoteId, said, isMade, problem, act, status, failure, account.revision];
      return any(sql.query(finish, [...key(account), ...values]));
    },
    /** Records a failed attempt. @param pause in seconds */
    fail: (account: Account, reason: string, status: number | undefined, pause: number): Promise<boolean> =>
      any(sql.query(fail, [...key(account), reason, status, pause, account.remoteId, account.revision])),
    /** Counts the user among those who get or lose an account, which is sent later. */
    recount: (account: Account, isWanted: boolean): Promise<boolean> =>
      any(sql.query(recount, [...key(account), isWanted])),
    /** Forgets a user of whom the target has nothing. */
    forget: (account: Account): Promise<boolean> => any(sql.query(forget, [...key(account), account.revision])),
    async forgetGone(): Promise<void> {
      await sql.query(forgetGone);
    },
    /** Seconds until something is due; undefined when nothing waits. */
    async nextPause(): Promise<number | undefined> {
      return (await sql.query<{ pause: number | null }>(nextPause))[0]?.pause ?? undefined;
    },
    /** Newest first. @param failing only those whose last request failed */
    async list(targetId: string, { limit, after }: Page, failing = false): Promise<AccountSummary[]> {
      const values = [targetId, after?.at, after?.id, limit];
      const rows = await (failing ? sql.query<SummaryRow>(listFailing, values) : sql.query<SummaryRow>(list, values));
      return rows.map(toSummary);
    },
  };
}

const toAccount = (row: Row): Account => ({
  targetId: row.target_id,
  sub: row.sub,
  externalId: row.external_id ?? undefined,
  remoteId: row.remote_id ?? undefined,
  written: row.written ?? undefined,
  state: row.state,
  isPosted: row.posted === true,
  isMade: row.made,
  isWanted: row.wanted,
  isApproved: row.approved,
  isToCheck: row.to_check,
  problem: row.problem ?? undefined,
  revision: row.revision,
  claims: row.claims,
  attempts: row.attempts,
});

const toSummary = (row: SummaryRow): AccountSummary => ({
  sub: row.sub,
  username: row.username ?? undefined,
  remoteId: row.remote_id ?? undefined,
  state: row.state,
  isWaiting: row.waiting,
  problem: row.problem ?? undefined,
  act: row.last_act ?? undefined,
  status: row.answer_status ?? undefined,
  answeredAt: row.answered_at ?? undefined,
  lastFailure: row.last_failure ?? undefined,
  nextAttemptAt: row.next_attempt_at ?? undefined,
  createdAt: row.created_at,
});
