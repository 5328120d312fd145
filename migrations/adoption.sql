-- Turns the schema of migration 0056_refresh_token_lines, the last one before the baseline, into that of the baseline. The tables of the baseline
-- are there already; src/database/adoption.ts then runs, in the same transaction, the files of the baseline with the new parts.

-- Dropping each of these also drops its triggers.
DROP FUNCTION client_collection, client_refusal_ends, client_approval, client_changes, client_ever_enabled, client_resources, client_effects,
  client_logout_deliveries, client_redirect_hosts, client_act_by_sql CASCADE;
DROP FUNCTION user_effects, user_password_effects, user_mailed_links, count_group_members, user_act_by_sql, passkey_act_by_sql CASCADE;
DROP FUNCTION session_ends, session_logout, session_address_changes, session_end_by_sql CASCADE;
DROP FUNCTION refuse_change, refuse_deletion, refuse_young_deletion, audit_event_mail CASCADE;
DROP FUNCTION mail_effects CASCADE;
DROP FUNCTION changed_members;

-- The functions that older versions call.
DROP FUNCTION sign_in_held_until, count_sign_in_failure, remember_browser, store_session, drop_sign_in_surplus, united, add_to_grant, decide_request,
  network_is_full, store_request, store_request_of_network, push_request, take_request, keep_newest_codes, drop_surplus_codes, issue_code,
  redeem_code, use_refresh_token;
DROP FUNCTION sign_in(
  bytea, text, text, text, text[], double precision, double precision, text, inet, timestamptz, bigint, integer, bytea, bytea, double precision,
  integer, text, text, jsonb, text, text, text, text, text, inet, jsonb);
DROP FUNCTION sign_in(
  bytea, text, text, text, text[], double precision, double precision, text, inet, timestamptz, bigint, integer, bytea, bytea, double precision,
  integer, text, text, jsonb, text, text, text, text, text, inet, jsonb, bytea);

-- src/database/data-key-carry-over.ts has re-encrypted the values that data keys had encrypted.
DROP TABLE data_key_wrappings, data_keys;
DROP FUNCTION signing_key_sealed, client_sealed, authenticator_sealed, data_key_effects, keep_used_data_key CASCADE;
DROP FUNCTION hold_data_key, data_key_version;

-- The list of authentication methods is in the code alone: a new method needs no change of the schema.
ALTER TABLE clients
  DROP CONSTRAINT clients_metadata_check,
  DROP CONSTRAINT clients_check1,
  ADD CONSTRAINT clients_metadata_check CHECK (
    jsonb_typeof(metadata) = 'object'
    AND jsonb_typeof(metadata -> 'redirect_uris') = 'array'
    AND jsonb_typeof(metadata -> 'grant_types') = 'array'
    AND jsonb_typeof(metadata -> 'response_types') = 'array'
    AND jsonb_typeof(metadata -> 'scope') = 'string'
    AND jsonb_typeof(metadata -> 'token_endpoint_auth_method') = 'string'
  ),
  ADD CONSTRAINT clients_secret CHECK (
    metadata ->> 'token_endpoint_auth_method' NOT LIKE 'client\_secret\_%' OR client_secret_hash IS NOT NULL
  );

-- The queue of mails becomes a channel of the outbox.
ALTER TABLE mails RENAME TO outbox;
ALTER SEQUENCE mails_id_seq RENAME TO outbox_id_seq;
ALTER TABLE outbox RENAME CONSTRAINT mails_pkey TO outbox_pkey;
ALTER TABLE outbox RENAME CONSTRAINT mails_sub_fkey TO outbox_sub_fkey;
ALTER TABLE outbox RENAME CONSTRAINT mails_recipient_check TO outbox_recipient_check;
ALTER TABLE outbox RENAME CONSTRAINT mails_attempts_check TO outbox_attempts_check;
ALTER TABLE outbox ADD COLUMN channel text NOT NULL DEFAULT 'mail';
ALTER TABLE outbox ALTER COLUMN channel DROP DEFAULT;
DROP INDEX mails_due, mails_age, mails_user, mails_registrations;
CREATE INDEX outbox_due ON outbox (channel, next_attempt_at);
CREATE INDEX outbox_age ON outbox (channel, created_at);
CREATE INDEX outbox_user ON outbox (sub);
CREATE UNIQUE INDEX outbox_registrations ON outbox (name) WHERE channel = 'mail' AND name = 'registrations';
-- What older versions order for the contacts of a client, the mail subscriber does about the event.
UPDATE outbox SET channel = 'event', name = 'mail', client_id = NULL, data = jsonb_build_object(
  'type', CASE WHEN data -> 'approved' = 'true' THEN 'client.approved' ELSE 'client.refused' END, 'outcome', 'success',
  'client_id', client_id, 'detail', data - 'approved', 'at', created_at)
  WHERE name = 'registration-decided';
