-- Turns the tables of migration 0234_sessions_of_unasked_links, the last one before the baseline, into those of the baseline. The functions follow:
-- src/database/schema-functions.ts writes all of them anew.

-- The former keys of names, by which older versions found users; their indexes go with them.
ALTER TABLE users DROP COLUMN username_key, DROP COLUMN email_key;

-- The checks of digests and keys become those of domains. A column takes a domain without a check in place; the check then reads the rows once.
CREATE DOMAIN digest AS bytea;
CREATE DOMAIN confirmation AS jsonb;
ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_token_hash_check, ALTER COLUMN token_hash TYPE digest,
  DROP CONSTRAINT access_tokens_cnf, ALTER COLUMN cnf TYPE confirmation;
ALTER TABLE authorization_codes DROP CONSTRAINT authorization_codes_code_hash_check, ALTER COLUMN code_hash TYPE digest,
  DROP CONSTRAINT authorization_codes_cnf, ALTER COLUMN cnf TYPE confirmation;
ALTER TABLE client_session_handles DROP CONSTRAINT client_session_handles_handle_hash_check, ALTER COLUMN handle_hash TYPE digest,
  DROP CONSTRAINT client_session_handles_cnf, ALTER COLUMN cnf TYPE confirmation;
ALTER TABLE refresh_tokens DROP CONSTRAINT refresh_tokens_token_hash_check, ALTER COLUMN token_hash TYPE digest;
ALTER TABLE client_sessions DROP CONSTRAINT client_sessions_cnf, ALTER COLUMN cnf TYPE confirmation;
ALTER TABLE device_authorizations DROP CONSTRAINT device_authorizations_cnf, ALTER COLUMN cnf TYPE confirmation;
ALTER DOMAIN digest ADD CONSTRAINT digest_length CHECK (octet_length(VALUE) = 32);
ALTER DOMAIN confirmation ADD CONSTRAINT confirmation_key CHECK (VALUE IS NULL OR is_confirmation(VALUE));

-- What a user granted to a client becomes one value.
ALTER TABLE grants ADD COLUMN granted jsonb;
UPDATE grants SET granted = jsonb_build_object('scope', scope, 'claims', claims, 'resources', resources);
ALTER TABLE grants ALTER COLUMN granted SET NOT NULL, DROP COLUMN scope, DROP COLUMN claims, DROP COLUMN resources, ADD CONSTRAINT grants_granted CHECK (
  (jsonb_typeof(granted -> 'scope') = 'array' AND jsonb_typeof(granted -> 'claims') = 'array' AND jsonb_typeof(granted -> 'resources') = 'object') IS TRUE);

CREATE TABLE schema_functions (
  name text PRIMARY KEY,
  digest text NOT NULL,
  version text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now()
);
