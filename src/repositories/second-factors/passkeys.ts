// Reads and writes the tables passkeys, passkey_users and used_challenges (Web Authentication).
import { digest } from '../../crypto/secrets.ts';
import { type Sql, statement } from '../../database/database.ts';

export interface Passkey {
  id: string;
  sub: string;
  credentialId: Buffer;
  /** A COSE_Key (RFC 9052 7). */
  publicKey: Buffer;
  signCount: number;
  transports: string[];
  /** The model of its authenticator; all zeros if that is not disclosed. */
  aaguid: string;
  /** Whether several devices may share it; this never changes. */
  backupEligible: boolean;
  /** Whether several devices share it, by the authenticator's last answer. */
  backedUp: boolean;
  /** The user's name for it; may be empty. */
  name: string;
  createdAt: Date;
  usedAt: Date | undefined;
}

export type NewPasskey = Omit<Passkey, 'createdAt' | 'usedAt'>;

/** A passkey with facts about its user. */
export interface OwnedPasskey extends Passkey {
  userHandle: Buffer;
  enabled: boolean;
}

interface Row {
  id: string;
  sub: string;
  credential_id: Buffer;
  public_key: Buffer;
  sign_count: string;
  transports: string[];
  aaguid: string;
  backup_eligible: boolean;
  backed_up: boolean;
  name: string;
  created_at: Date;
  used_at: Date | null;
}

const findHandle = statement('passkeys.find_handle', 'SELECT user_handle FROM passkey_users WHERE sub = $1');
const makeHandle = statement(
  'passkeys.make_handle',
  `INSERT INTO passkey_users (sub, user_handle) VALUES ($1, $2) ON CONFLICT (sub) DO UPDATE SET sub = excluded.sub
   RETURNING user_handle`,
);
const find = statement(
  'passkeys.find',
  `SELECT p.*, h.user_handle, u.status = 'enabled' AS enabled
     FROM passkeys p JOIN passkey_users h USING (sub) JOIN users u USING (sub) WHERE p.credential_id = $1`,
);
const list = statement('passkeys.list', 'SELECT * FROM passkeys WHERE sub = $1 ORDER BY created_at DESC, id DESC');
// locks the user's row, so that concurrent insertions are counted one after the other
const insert = statement(
  'passkeys.insert',
  `INSERT INTO passkeys (id, credential_id, sub, public_key, sign_count, transports, aaguid, backup_eligible, backed_up, name)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 WHERE (SELECT count(*) FROM passkeys WHERE sub = $3) < $11
   ON CONFLICT (credential_id) DO NOTHING RETURNING 1 AS inserted`,
);
const rename = statement('passkeys.rename', 'UPDATE passkeys SET name = $3 WHERE sub = $1 AND id = $2 RETURNING id');
// Web Authentication 7.2 step 22: a count that does not grow means a copy, unless the authenticator does not count
const use = statement(
  'passkeys.use',
  `UPDATE passkeys SET sign_count = $2, backed_up = $3, used_at = now()
    WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0)) RETURNING id`,
);
const claim = statement(
  'used_challenges.claim',
  `INSERT INTO used_challenges (challenge_hash, expires_at) VALUES ($1, now() + make_interval(secs => $2))
   ON CONFLICT DO NOTHING RETURNING 1 AS claimed`,
);

export function passkeysRepository(sql: Sql) {
  return {
    /** The user handle. @param fresh becomes the handle if the user has none */
    async userHandle(sub: string, fresh: Buffer): Promise<Buffer> {
      const [present] = await sql.query<{ user_handle: Buffer }>(findHandle, [sub]);
      const [row] = present ? [present] : await sql.query<{ user_handle: Buffer }>(makeHandle, [sub, fresh]);
      return row!.user_handle;
    },
    async find(credentialId: Buffer): Promise<OwnedPasskey | undefined> {
      const [row] = await sql.query<Row & { user_handle: Buffer; enabled: boolean }>(find, [credentialId]);
      return row && { ...toPasskey(row), userHandle: row.user_handle, enabled: row.enabled };
    },
    /** All passkeys of a user, the newest first. */
    async list(sub: string): Promise<Passkey[]> {
      return (await sql.query<Row>(list, [sub])).map(toPasskey);
    },
    /** In a transaction that holds the user's row; false if the credential is known, or the user has `max` passkeys. */
    async insert(passkey: NewPasskey, max: number): Promise<boolean> {
      const { id, credentialId, sub, publicKey, signCount, transports, aaguid, backupEligible, backedUp, name } =
        passkey;
      const key = [id, credentialId, sub, publicKey, signCount, transports, aaguid];
      return (await sql.query(insert, [...key, backupEligible, backedUp, name, max])).length > 0;
    },
    async rename(sub: string, id: string, name: string): Promise<boolean> {
      return (await sql.query(rename, [sub, id, name])).length > 0;
    },
    /** Records a use; false if its count does not follow the last one, or the passkey is gone. */
    async use(id: string, { signCount, backedUp }: { signCount: number; backedUp: boolean }): Promise<boolean> {
      return (await sql.query(use, [id, signCount, backedUp])).length > 0;
    },
    /** False if the challenge was answered before, on any instance. @param memory seconds for which it is stored */
    async claimChallenge(challenge: string, memory: number): Promise<boolean> {
      return (await sql.query(claim, [digest('passkey_challenge', challenge), memory])).length > 0;
    },
  };
}

function toPasskey(row: Row): Passkey {
  return {
    id: row.id,
    sub: row.sub,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    signCount: Number(row.sign_count),
    transports: row.transports,
    aaguid: row.aaguid,
    backupEligible: row.backup_eligible,
    backedUp: row.backed_up,
    name: row.name,
    createdAt: row.created_at,
    usedAt: row.used_at ?? undefined,
  };
}
