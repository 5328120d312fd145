-- Turns the tables of migration 0234_sessions_of_unasked_links, the last one before the baseline, into those of the baseline. The functions follow:
-- src/database/schema-functions.ts writes all of them anew.

-- The former keys of names, by which older versions found users; their indexes go with them.
ALTER TABLE users DROP COLUMN username_key, DROP COLUMN email_key;

-- Rows from before these columns are null.
ALTER TABLE access_tokens VALIDATE CONSTRAINT access_tokens_cnf;
ALTER TABLE authorization_codes VALIDATE CONSTRAINT authorization_codes_cnf;
ALTER TABLE client_session_handles VALIDATE CONSTRAINT client_session_handles_cnf;
ALTER TABLE client_sessions VALIDATE CONSTRAINT client_sessions_cnf;
ALTER TABLE device_authorizations VALIDATE CONSTRAINT device_authorizations_cnf;

CREATE TABLE schema_functions (
  name text PRIMARY KEY,
  digest text NOT NULL,
  version text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now()
);
