// Reads and writes the table kept_forms: forms of the console that wait until their user has confirmed the sign-in.
import { type Sql, statement } from '../../database/database.ts';

/** How many forms of a session are kept; the oldest go first. */
const perSession = 5;
/** Seconds for which a form is kept. */
const lifetime = 15 * 60;

const insert = statement(
  'kept_forms.insert',
  `WITH surplus AS (
     DELETE FROM kept_forms WHERE id IN (
       SELECT id FROM kept_forms WHERE session_id = $2 ORDER BY created_at DESC OFFSET ${perSession - 1}))
   INSERT INTO kept_forms (id, session_id, sub, sealed_encrypted, expires_at)
     VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => ${lifetime}))`,
);
const ofSession = 'id = $1 AND session_id = $2 AND sub = $3 AND expires_at > clock_timestamp()';
const find = statement('kept_forms.find', `SELECT sealed_encrypted FROM kept_forms WHERE ${ofSession}`);
const remove = statement('kept_forms.delete', `DELETE FROM kept_forms WHERE ${ofSession}`);

export function keptFormsRepository(sql: Sql) {
  return {
    /** @param id the digest of its id, in hex @param session the id of the session */
    async insert(id: string, session: string, sub: string, sealed: Buffer): Promise<void> {
      await sql.query(insert, [id, session, sub, sealed]);
    },
    /** The form, if it is of this session and user and has not expired. */
    async find(id: string, session: string, sub: string): Promise<Buffer | undefined> {
      const [row] = await sql.query<{ sealed_encrypted: Buffer }>(find, [id, session, sub]);
      return row?.sealed_encrypted;
    },
    async delete(id: string, session: string, sub: string): Promise<void> {
      await sql.query(remove, [id, session, sub]);
    },
  };
}
