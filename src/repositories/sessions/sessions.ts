// Reads and writes the table sessions: the single sign-on sessions of browsers.
import { type Sql, statement } from '../../database/database.ts';
import { storedFunction } from '../../database/stored-functions.ts';
import type { SignInRefusal } from '../../rules/access/sign-in-decision.ts';
import type { Page } from '../clients/client-listing.ts';
import { batchedSelect } from '../batched-select.ts';
import { endSparing } from './device-cookies.ts';
import { remaining } from '../second-factors/second-factors.ts';
import { toUser, type User, userColumns, type UserRow } from '../users/users.ts';

export interface Session {
  id: string;
  /** The name of the session for clients. */
  sid: string;
  authTime: Date;
  amr: string[];
  /** The database's time when the session was read, from which ages are calculated. */
  now: Date;
  /** Whether the idle end should be extended. */
  stale: boolean;
  user: User;
  /** Whether its user now has a second factor, shown in this session or not. */
  enrolled: boolean;
  /** When it ends, if the user chose to stay signed in. */
  rememberedUntil: Date | undefined;
  /** Whether the browser spared its user the second factor. */
  spared: boolean;
  /** The session at the connection by which the user signed in. */
  upstream: UpstreamSession | undefined;
}

/** A session to store; lifetimes in seconds. A remembered one has no idle lifetime of its own: both are equal. */
export interface NewSession {
  tokenHash: Buffer;
  /** The digest of the form that signs in; undefined without one. */
  formHash?: Buffer | undefined;
  sid: string;
  sub: string;
  /** The hash of the password that the user showed; undefined without a password. */
  passwordHash: string | undefined;
  amr: string[];
  /** The browser that may spare the second factor, and the groups whose members are never spared one. */
  sparing?: { browser: Buffer; guarded: readonly string[] } | undefined;
  /** The time of authentication, if not now: an earlier one does not extend an existing session. */
  authTime?: Date | undefined;
  idleLifetime: number;
  lifetime: number;
  remembered?: boolean | undefined;
  userAgent: string | undefined;
  address: string | undefined;
  /** The connection by which the user signed in; null for a sign-in here, and undefined to keep that of a renewed session. */
  upstream?: UpstreamSession | null | undefined;
}

/** The session of a user at a connection, as its answer named it. */
export interface UpstreamSession {
  connectionId: string;
  issuer: string;
  subject: string;
  /** The session's name there. */
  sid?: string | undefined;
  /** Whether the user was asked to sign in there again. */
  anew?: boolean | undefined;
  /** When the browser came back from there, by the database's clock; undefined if an older version stored the session. */
  at?: Date | undefined;
}

export interface SessionSummary {
  sid: string;
  sub: string;
  username: string;
  createdAt: Date;
  /** When its user last authenticated there. */
  authTime: Date;
  amr: string[];
  usedAt: Date;
  expiresAt: Date;
  /** Whether its user chose to stay signed in. */
  remembered: boolean;
  address: string | undefined;
  userAgent: string | undefined;
  /** The name that its user gave the browser. */
  browserName: string | undefined;
  /** The clients that take part in it. */
  clients: { clientId: string; clientName: string }[];
  id: string;
}

export interface SessionRow extends UserRow {
  session_id: string | null;
  sid: string;
  auth_time: Date;
  amr: string[];
  now: Date;
  stale: boolean;
  enrolled: boolean;
  remembered_until: Date | null;
  spared: boolean;
  connection_id: string | null;
  upstream: (Omit<UpstreamSession, 'connectionId' | 'at'> & { at?: string }) | null;
}

/** Seconds in which the same form counts as sent twice by a double click. */
export const repeatedWithin = 10;

/** Selects the live session of a token, with its user. @param idleLifetime in seconds */
export const foundSession = (tokenHash: string, idleLifetime: string) => `
   SELECT ${userColumns}, s.id AS session_id, s.sid, s.auth_time, s.amr, s.connection_id, s.upstream, clock_timestamp() AS now,
          CASE WHEN s.remembered THEN s.expires_at END AS remembered_until,
          s.second_factor_spared AS spared,
          s.used_at < now() - make_interval(secs => ${idleLifetime}::float8 / 20) AS stale,
          EXISTS (${remaining}) AS enrolled
     FROM sessions s JOIN users u ON u.sub = s.sub AND u.status = 'enabled'
    WHERE s.token_hash = ${tokenHash} AND s.idle_expires_at > now()`;
const find = batchedSelect('sessions.find', ['bytea', 'double precision'], foundSession);
const touch = statement(
  'sessions.touch',
  `UPDATE sessions SET used_at = now(),
         idle_expires_at = CASE WHEN remembered THEN expires_at ELSE least(expires_at, now() + make_interval(secs => $2)) END
    WHERE id = $1 AND idle_expires_at > now()`,
);
export const storeSession = storedFunction(new URL('store_session.sql', import.meta.url));
const renew = statement('sessions.renew', `SELECT refusal FROM ${storeSession.name}($1, $2)`);
const repeat = statement(
  'sessions.repeat',
  `UPDATE sessions SET token_hash = $2
    WHERE form_hash = $1 AND form_at > clock_timestamp() - make_interval(secs => ${repeatedWithin}) AND idle_expires_at > now()
   RETURNING CASE WHEN remembered THEN extract(epoch FROM expires_at - clock_timestamp())::float8 END AS remaining`,
);
// the dependent rows are deleted with it; a trigger keeps those with offline_access
const end = statement('sessions.end', 'DELETE FROM sessions WHERE id = $1 RETURNING id');
const owner = statement('sessions.owner', 'SELECT sub FROM sessions WHERE sid = $1 AND ($2::text IS NULL OR sub = $2)');
const endBySid = statement(
  'sessions.end_by_sid',
  'DELETE FROM sessions WHERE sid = $1 AND ($2::text IS NULL OR sub = $2) RETURNING sub',
);
const nameBrowser = statement(
  'sessions.name_browser',
  `WITH named AS (UPDATE sessions SET browser_name = $3 WHERE sid = $1 AND sub = $2 RETURNING id),
        known AS (UPDATE known_browsers k SET name = $3 FROM named WHERE k.sub = $2 AND k.session_id = named.id)
   SELECT 1 AS done FROM named`,
);
// a separate, later statement: it sees what was issued while the first one waited for the session's row
// The session's browser is unknown here, so no browser of the user spares a second factor any more.
const endFamilies = statement(
  'sessions.end_families',
  `WITH spared AS (${endSparing}) DELETE FROM client_sessions WHERE sub = $1 AND sid = $2`,
);
// Clients whose consent was withdrawn are not listed, although they are notified of the session's end. Each filter is a separate statement, so
// that it is planned with its own index.
const list = (name: string, condition: string) =>
  statement(
    `sessions.list${name}`,
    `SELECT s.id, s.sid, s.sub, u.username, s.created_at, greatest(s.auth_time, s.created_at) AS auth_time, s.amr, s.used_at, s.expires_at, s.remembered,
          host(s.address) AS address, s.user_agent, s.browser_name,
          ARRAY(SELECT jsonb_build_object('clientId', c.client_id,
                         'clientName', coalesce(c.metadata ->> 'client_name', c.client_id))
                  FROM session_clients sc JOIN clients c ON c.client_id = sc.client_id
                 WHERE sc.session_id = s.id AND (c.first_party OR EXISTS (
                         SELECT FROM grants g WHERE g.sub = s.sub AND g.client_id = c.client_id))
                 ORDER BY c.client_id) AS clients
     FROM sessions s JOIN users u ON u.sub = s.sub
    WHERE s.idle_expires_at > now() AND ${condition}
      AND (s.created_at, s.id) < (coalesce($1::timestamptz, 'infinity'), coalesce($2::bigint, 0))
    ORDER BY s.created_at DESC, s.id DESC LIMIT $3`,
  );
const listAll = list('', 'true');
const listOfUser = list('_of_user', 's.sub = $4');
const listAtAddress = list('_at_address', 's.address = $4::inet');
const listOfUserAtAddress = list('_of_user_at_address', 's.sub = $4 AND s.address = $5::inet');

export function sessionsRepository(sql: Sql) {
  return {
    /** The live session of an enabled user. @param idleLifetime in seconds */
    async find(tokenHash: Buffer, idleLifetime: number): Promise<Session | undefined> {
      const [row] = await sql.query<SessionRow>(find, [tokenHash, idleLifetime]);
      return row && toSession(row);
    },
    /** Extends the idle end. @param idleLifetime in seconds */
    async touch(id: string, idleLifetime: number): Promise<void> {
      await sql.query(touch, [id, idleLifetime]);
    },
    /** Gives a session a new cookie after another authentication; false when decideSignIn() refuses. */
    async renew(id: string, session: NewSession): Promise<boolean> {
      const { expected, issue } = sessionMembers(session, id);
      const [row] = await sql.query<{ refusal: SignInRefusal | null }>(renew, [expected, issue]);
      return row!.refusal === null;
    },
    /**
     * Gives the session that a form signed in within the last seconds another cookie; undefined if there is none. `remaining` has the seconds until it
     * ends, if its user stays signed in.
     */
    async repeat(formHash: Buffer, tokenHash: Buffer): Promise<{ remaining: number | undefined } | undefined> {
      const [row] = await sql.query<{ remaining: number | null }>(repeat, [formHash, tokenHash]);
      return row && { remaining: row.remaining ?? undefined };
    },
    /** Ends a session and everything that depends on it, except refresh tokens with offline_access. */
    async end(id: string): Promise<boolean> {
      return (await sql.query(end, [id])).length > 0;
    },
    /**
     * Names the browser of a session, also for later sessions in it; false if the user has no such session.
     * @param name undefined removes the name
     */
    async nameBrowser(sid: string, sub: string, name: string | undefined): Promise<boolean> {
      return (await sql.query(nameBrowser, [sid, sub, name])).length > 0;
    },
    /** The user of the session with this sid; undefined without one. @param of only if the session is this user's */
    async owner(sid: string, of?: string): Promise<string | undefined> {
      const [row] = await sql.query<{ sub: string }>(owner, [sid, of]);
      return row?.sub;
    },
    /**
     * In a transaction: ends a session by its sid, with everything that was ever issued in it, including refresh tokens with
     * offline_access (security R54); returns its user.
     * @param owner ends the session only if it is this user's
     */
    async endBySid(sid: string, owner?: string): Promise<string | undefined> {
      const [row] = await sql.query<{ sub: string }>(endBySid, [sid, owner]);
      if (row) await sql.query(endFamilies, [row.sub, sid]);
      return row?.sub;
    },
    /** Live sessions, the newest first. @param filter.address a complete IP address */
    async list(
      { sub, address }: { sub?: string | undefined; address?: string | undefined },
      page: Page,
    ): Promise<SessionSummary[]> {
      const select =
        sub === undefined
          ? address === undefined
            ? listAll
            : listAtAddress
          : address === undefined
            ? listOfUser
            : listOfUserAtAddress;
      const values = [
        page.after?.at,
        page.after?.id,
        page.limit,
        ...[sub, address].filter((value) => value !== undefined),
      ];
      const rows = await sql.query<{
        id: string;
        sid: string;
        sub: string;
        username: string;
        created_at: Date;
        auth_time: Date;
        amr: string[];
        used_at: Date;
        expires_at: Date;
        remembered: boolean;
        address: string | null;
        user_agent: string | null;
        browser_name: string | null;
        clients: SessionSummary['clients'];
      }>(select, values);
      return rows.map((row) => ({
        id: row.id,
        sid: row.sid,
        sub: row.sub,
        username: row.username,
        createdAt: row.created_at,
        authTime: row.auth_time,
        amr: row.amr,
        usedAt: row.used_at,
        expiresAt: row.expires_at,
        remembered: row.remembered,
        address: row.address ?? undefined,
        userAgent: row.user_agent ?? undefined,
        browserName: row.browser_name ?? undefined,
        clients: row.clients,
      }));
    },
  };
}

/** The parameters of store_session(). @param renews the id of the session to renew */
export function sessionMembers(session: NewSession, renews: string | undefined) {
  return {
    expected: {
      sub: session.sub,
      password_hash: session.passwordHash,
      session: renews,
      connection: session.upstream?.connectionId,
      ...(session.sparing && {
        spared_by: session.sparing.browser.toString('hex'),
        guarded: session.sparing.guarded,
      }),
    },
    issue: {
      token_hash: session.tokenHash.toString('hex'),
      form_hash: session.formHash?.toString('hex'),
      sid: session.sid,
      amr: session.amr,
      auth_time: session.authTime,
      idle_seconds: session.idleLifetime,
      lifetime_seconds: session.lifetime,
      remembered: session.remembered,
      user_agent: session.userAgent,
      address: session.address,
      ...upstreamMembers(session.upstream),
    },
  };
}

function upstreamMembers(upstream: NewSession['upstream']) {
  if (upstream === undefined) return {};
  if (upstream === null) return { connection: null };
  const { connectionId, ...at } = upstream;
  return { connection: connectionId, upstream: at };
}

export function toSession(row: SessionRow): Session {
  return {
    id: row.session_id!,
    sid: row.sid,
    authTime: row.auth_time,
    amr: row.amr,
    now: row.now,
    stale: row.stale,
    enrolled: row.enrolled,
    rememberedUntil: row.remembered_until ?? undefined,
    spared: row.spared,
    upstream: row.connection_id === null ? undefined : toUpstream(row.connection_id, row.upstream!),
    user: toUser(row),
  };
}

const toUpstream = (connectionId: string, { at, ...named }: NonNullable<SessionRow['upstream']>): UpstreamSession => ({
  connectionId,
  ...named,
  ...(at !== undefined && { at: new Date(at) }),
});
