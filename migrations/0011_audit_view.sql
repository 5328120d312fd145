-- What administrators read about the past, newest first: the audit trail, and the issues of the tokens that are still stored.
CREATE INDEX audit_events_newest ON audit_events (at DESC, id DESC);
CREATE INDEX audit_events_newest_of_client ON audit_events (client_id, at DESC, id DESC) WHERE client_id IS NOT NULL;
CREATE INDEX audit_events_newest_of_subject ON audit_events (sub, at DESC, id DESC) WHERE sub IS NOT NULL;
CREATE INDEX audit_events_newest_of_type ON audit_events (type, at DESC, id DESC);
DROP INDEX audit_events_time;
DROP INDEX audit_events_client;
DROP INDEX audit_events_subject;

CREATE INDEX access_tokens_newest ON access_tokens (issued_at);
CREATE INDEX refresh_tokens_newest ON refresh_tokens (issued_at);
CREATE INDEX authorization_codes_newest ON authorization_codes (issued_at);
CREATE INDEX client_session_handles_newest ON client_session_handles (issued_at);
