-- The form by which a session got its cookie. For ten seconds the same form of the same browser gets another cookie of this session: the answer to a
-- double click's first request is lost, and what the form used up is gone.
ALTER TABLE sessions ADD COLUMN form_hash bytea, ADD COLUMN form_at timestamptz;
CREATE INDEX sessions_form ON sessions (form_hash) WHERE form_hash IS NOT NULL;
