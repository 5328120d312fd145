-- Checks the rows of tokens, codes and client sessions by one function for each table. PostgreSQL reads the text of every CHECK anew for each statement
-- that writes, which was an eighth of a refresh; a function in PL/pgSQL stays compiled in its connection, and the text that calls it is short.
ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_check, DROP CONSTRAINT access_tokens_check1, DROP CONSTRAINT access_tokens_check2,
  ADD CONSTRAINT access_tokens_members CHECK (is_access_token(client_session_id, client_id, client_epoch, scope));
ALTER TABLE authorization_codes DROP CONSTRAINT authorization_codes_check, DROP CONSTRAINT authorization_codes_code_challenge_check,
  DROP CONSTRAINT authorization_codes_failures_check,
  ADD CONSTRAINT authorization_codes_members CHECK (is_authorization_code(code_challenge, failures, redemptions, redeemed_at));
ALTER TABLE client_sessions DROP CONSTRAINT client_sessions_check, DROP CONSTRAINT client_sessions_requested_check,
  DROP CONSTRAINT client_sessions_resources_check,
  ADD CONSTRAINT client_sessions_members CHECK (is_client_session(session_id, offline, requested, resources));
ALTER TABLE refresh_tokens DROP CONSTRAINT refresh_tokens_check, DROP CONSTRAINT refresh_tokens_generation_check,
  DROP CONSTRAINT refresh_tokens_uses_check,
  ADD CONSTRAINT refresh_tokens_members CHECK (is_refresh_token(generation, uses, spent_at));
