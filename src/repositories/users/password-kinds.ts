// Lists the kinds of password hashes that this service does not make itself (the index users_other_hashes).
import { type Sql, statement } from '../../database/database.ts';

export interface PasswordKind {
  /** One hash of the kind. */
  sample: string;
  /** The share of all passwords, from 0 to 1. */
  share: number;
}

// a sample of this size suffices: the rows of an import of a million users are not read again and again
const maxSample = 20_000;
const other = `password_hash IS NOT NULL AND password_hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'`;

// crypto/dummy-hashes.ts knows the same kinds
const list = statement(
  'users.password_kinds',
  `WITH others AS MATERIALIZED (SELECT password_hash FROM users WHERE ${other} LIMIT ${maxSample}),
        known AS (SELECT reltuples FROM pg_class WHERE oid = 'users'::regclass),
        counted AS (SELECT (SELECT count(*) FROM users WHERE ${other}) AS others,
                           CASE WHEN (SELECT reltuples FROM known) < ${maxSample} THEN (SELECT count(*) FROM users WHERE password_hash IS NOT NULL)
                                ELSE (SELECT reltuples FROM known) END AS every)
   SELECT max(password_hash) AS sample,
          least(1, count(*)::float8 / (SELECT count(*) FROM others) * (SELECT others / greatest(every, others) FROM counted))::float8 AS share
     FROM others
    GROUP BY substring(password_hash FROM '^(?:(?:bcrypt_sha256[$])?[$]2[aby][$][0-9][0-9][$]|pbkdf2_[a-z0-9]+[$][0-9]+[$]|[$][a-z0-9-]+[$](?:v=[0-9]+[$])?[^$]+[$])')
    ORDER BY 1`,
);

export function passwordKindsRepository(sql: Sql) {
  return {
    list: (): Promise<PasswordKind[]> => sql.query<PasswordKind>(list),
  };
}
