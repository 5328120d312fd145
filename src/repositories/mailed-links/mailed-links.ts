// Reads and writes the table mailed_links: single-use links that prove an address, set a password or invite a user, stored as digests.
import { type Sql, statement } from '../../database/database.ts';
import { repeatedWithin } from '../sessions/sessions.ts';

export type LinkPurpose = 'verify_address' | 'stop_change' | 'reset_password' | 'recovery' | 'sign_up' | 'invitation';

export interface MailedLink {
  purpose: LinkPurpose;
  sub: string | undefined;
  /** The address that it was sent to; undefined for a link that an administrator hands over. */
  email: string | undefined;
  /** The address of the account at that time. */
  replaces: string | undefined;
  /** The id of the sign-up link by which a new user asked for it. */
  signUpLink?: string | undefined;
}

/** An invitation that the user has not used. */
export interface Invitation {
  createdAt: Date;
  /** Undefined until the mail is sent. */
  expiresAt: Date | undefined;
  /** The address that it was mailed to; undefined if an administrator hands over the link. */
  email: string | undefined;
}

export interface NewLink extends MailedLink {
  tokenHash: Buffer;
  /** The session that requested a change of the address: the link is void when it ends. */
  sessionId?: string | undefined;
  /** In seconds. */
  lifetime: number;
}

interface Row {
  purpose: LinkPurpose;
  sub: string | null;
  email: string | null;
  replaces: string | null;
  sign_up_link: string | null;
}

interface InvitationRow {
  created_at: Date;
  expires_at: Date | null;
  email: string | null;
}

/** A change of the address ends with the session that requested it (security R118). */
const sessionLives = (sessionId: string) =>
  `(${sessionId} IS NULL OR EXISTS (SELECT FROM sessions s WHERE s.id = ${sessionId} AND s.idle_expires_at > now()))`;
const isGood = `used_at IS NULL AND expires_at > now() AND ${sessionLives('session_id')}`;

const insert = statement(
  'mailed_links.insert',
  `INSERT INTO mailed_links (token_hash, purpose, sub, email, replaces, expires_at, session_id, sign_up_link)
   SELECT $1, $2, $3, $4, $5, now() + make_interval(secs => $6), $7::bigint, $8::text
    WHERE ${sessionLives('$7::bigint')} AND ($8::text IS NULL OR EXISTS (SELECT FROM sign_up_links WHERE id = $8)) RETURNING expires_at`,
);
const find = statement(
  'mailed_links.find',
  `SELECT purpose, sub, email, replaces, sign_up_link FROM mailed_links
    WHERE token_hash = $1 AND purpose = ANY ($2::text[]) AND ${isGood}`,
);
const findUsed = statement(
  'mailed_links.find_used',
  `SELECT purpose, sub, email, replaces, sign_up_link FROM mailed_links
    WHERE token_hash = $1 AND purpose = ANY ($2::text[]) AND used_at > now() - make_interval(secs => ${repeatedWithin})`,
);
const use = statement(
  'mailed_links.use',
  `UPDATE mailed_links SET used_at = now()
    WHERE token_hash = $1 AND purpose = ANY ($2::text[]) AND ${isGood}
   RETURNING purpose, sub, email, replaces, sign_up_link`,
);

const cancelChanges = statement(
  'mailed_links.take_back_changes',
  `WITH cancelled AS (DELETE FROM outbox WHERE channel = 'mail' AND sub = $1 AND name = 'verify-address'
                      AND recipient IS DISTINCT FROM (SELECT email FROM users WHERE sub = $1))
   UPDATE mailed_links SET used_at = now()
    WHERE sub = $1 AND purpose = 'verify_address' AND used_at IS NULL AND email IS DISTINCT FROM replaces`,
);
const hasChanges = statement(
  'mailed_links.has_changes',
  `SELECT EXISTS (SELECT FROM mailed_links WHERE sub = $1 AND purpose = 'verify_address' AND email IS DISTINCT FROM replaces AND ${isGood})
       OR EXISTS (SELECT FROM outbox WHERE channel = 'mail' AND sub = $1 AND name = 'verify-address' AND ${sessionLives('session_id')}
                     AND recipient IS DISTINCT FROM (SELECT email FROM users WHERE sub = $1)) AS present`,
);
const endInvitations = statement(
  'mailed_links.end_invitations',
  `WITH cancelled AS (DELETE FROM outbox WHERE channel = 'mail' AND sub = $1 AND name = 'invitation' RETURNING id),
        ended AS (UPDATE mailed_links SET used_at = now() WHERE sub = $1 AND purpose = 'invitation' AND ${isGood} RETURNING sub)
   SELECT EXISTS (SELECT FROM cancelled) OR EXISTS (SELECT FROM ended) AS ended`,
);
const endSignInLinks = statement(
  'mailed_links.end_sign_in_links',
  `WITH cancelled AS (DELETE FROM outbox WHERE channel = 'mail' AND sub = $1 AND name IN ('invitation', 'reset-password'))
   UPDATE mailed_links SET used_at = now()
    WHERE sub = $1 AND purpose IN ('invitation', 'reset_password', 'recovery') AND used_at IS NULL`,
);
const hasRecovery = statement(
  'mailed_links.has_recovery',
  `SELECT FROM mailed_links WHERE sub = $1 AND purpose = 'recovery' AND ${isGood} LIMIT 1`,
);
const findInvitation = statement(
  'mailed_links.find_invitation',
  `SELECT created_at, expires_at, email FROM mailed_links WHERE sub = $1 AND purpose = 'invitation' AND ${isGood}
    UNION ALL SELECT created_at, NULL, recipient FROM outbox WHERE channel = 'mail' AND sub = $1 AND name = 'invitation'
    ORDER BY created_at DESC LIMIT 1`,
);

export function mailedLinksRepository(sql: Sql) {
  return {
    /** Returns the end of its lifetime; undefined when its session has ended, or its sign-up link was deleted. */
    async insert(link: NewLink): Promise<Date | undefined> {
      const { tokenHash, purpose, sub, email, replaces, lifetime, sessionId, signUpLink } = link;
      const values = [tokenHash, purpose, sub, email, replaces, lifetime, sessionId, signUpLink];
      const [row] = await sql.query<{ expires_at: Date }>(insert, values);
      return row?.expires_at;
    },
    /** Finds a link that is still valid. This does not use it up, since programs open the links in mails before users do. */
    async find(tokenHash: Buffer, purposes: LinkPurpose[]): Promise<MailedLink | undefined> {
      const [row] = await sql.query<Row>(find, [tokenHash, purposes]);
      return row && toLink(row);
    },
    /** Finds a link that was used up in the last seconds. */
    async findUsed(tokenHash: Buffer, purposes: LinkPurpose[]): Promise<MailedLink | undefined> {
      const [row] = await sql.query<Row>(findUsed, [tokenHash, purposes]);
      return row && toLink(row);
    },
    /** In a transaction that holds the user's row: cancels all requested changes of the address. */
    async cancelChanges(sub: string): Promise<void> {
      await sql.query(cancelChanges, [sub]);
    },
    /** Whether a change of the address waits for its confirmation. */
    async hasChanges(sub: string): Promise<boolean> {
      const [row] = await sql.query<{ present: boolean }>(hasChanges, [sub]);
      return row!.present;
    },
    /** Whether an administrator made a recovery link that is still valid. */
    hasRecovery: async (sub: string): Promise<boolean> => (await sql.query(hasRecovery, [sub])).length > 0,
    /** In a transaction that holds the user's row: ends the invitations of a user, also one whose mail waits; false if there are none. */
    async endInvitations(sub: string): Promise<boolean> {
      const [row] = await sql.query<{ ended: boolean }>(endInvitations, [sub]);
      return row!.ended;
    },
    /** In a transaction that holds the user's row: ends all links by which the user could choose how to sign in, also those whose mail waits. */
    async endSignInLinks(sub: string): Promise<void> {
      await sql.query(endSignInLinks, [sub]);
    },
    /** The newest invitation of a user that still works, or whose mail waits. */
    async findInvitation(sub: string): Promise<Invitation | undefined> {
      const [row] = await sql.query<InvitationRow>(findInvitation, [sub]);
      return (
        row && { createdAt: row.created_at, expiresAt: row.expires_at ?? undefined, email: row.email ?? undefined }
      );
    },
    /** Uses a link up; only one of several concurrent calls succeeds. The caller has locked the user's row. */
    async use(tokenHash: Buffer, purposes: LinkPurpose[]): Promise<MailedLink | undefined> {
      const [row] = await sql.query<Row>(use, [tokenHash, purposes]);
      return row && toLink(row);
    },
  };
}

function toLink(row: Row): MailedLink {
  return {
    purpose: row.purpose,
    sub: row.sub ?? undefined,
    email: row.email ?? undefined,
    replaces: row.replaces ?? undefined,
    signUpLink: row.sign_up_link ?? undefined,
  };
}
