// Ends the sessions for which a provider reports a logout: by the provider's session, or by the identity (OpenID Connect Back-Channel Logout 2.7).
import { type Sql, statement } from '../../database/database.ts';

/** The sessions that have ended at the provider. At least one of `sid` and `subject` is defined. */
export interface EndedUpstream {
  connectionId: string;
  issuer: string;
  sid: string | undefined;
  subject: string | undefined;
}

const use = statement(
  'upstream_logouts.use',
  `INSERT INTO used_logout_tokens (connection_id, jti_hash, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))
   ON CONFLICT DO NOTHING RETURNING connection_id`,
);
const ofIssuer = `connection_id = $1 AND upstream ->> 'issuer' = $2`;
const belongsToOther = statement(
  'upstream_logouts.belongs_to_other',
  `SELECT FROM sessions WHERE ${ofIssuer} AND upstream ->> 'sid' = $3 AND upstream ->> 'subject' <> $4 LIMIT 1`,
);
const ending = (name: string, condition: string) =>
  statement(
    `upstream_logouts.by_${name}`,
    `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ${ofIssuer} AND ${condition} ORDER BY id FOR UPDATE) RETURNING sub`,
  );
const endSession = ending('session', `upstream ->> 'sid' = $3`);
// the subquery lets the index of the user's sessions be used
const endIdentity = ending(
  'identity',
  `upstream ->> 'subject' = $3 AND sub IN (SELECT sub FROM linked_identities WHERE connection_id = $1 AND issuer = $2 AND subject = $3)`,
);

export function upstreamLogoutsRepository(sql: Sql) {
  return {
    /** In a transaction: notes the use of a token. False if it was used before. @param lifetime seconds for which a second use is detected */
    async use(connectionId: string, jtiHash: Buffer, lifetime: number): Promise<boolean> {
      return (await sql.query(use, [connectionId, jtiHash, lifetime])).length > 0;
    },
    /** Whether the provider's session belongs to another identity than the named one. */
    async isMismatch({ connectionId, issuer, sid, subject }: EndedUpstream): Promise<boolean> {
      if (sid === undefined || subject === undefined) return false;
      return (await sql.query(belongsToOther, [connectionId, issuer, sid, subject])).length > 0;
    },
    /**
     * In a transaction: ends the sessions with everything that depends on them, as a sign-out here does. Refresh tokens with offline_access stay
     * (Back-Channel Logout 2.7). The deleted rows cause the logout notices to clients.
     */
    end: ({ connectionId, issuer, sid, subject }: EndedUpstream): Promise<{ sub: string }[]> =>
      sid === undefined
        ? sql.query<{ sub: string }>(endIdentity, [connectionId, issuer, subject])
        : sql.query<{ sub: string }>(endSession, [connectionId, issuer, sid]),
  };
}
