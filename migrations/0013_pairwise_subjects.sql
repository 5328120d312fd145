-- Pairwise subjects (OpenID Connect Core 8): what the clients of one sector call a user, and no other client does.
CREATE TABLE pairwise_subjects (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  -- a host
  sector_identifier text NOT NULL CHECK (sector_identifier ~ '^[!-~]{1,255}$'),
  subject text NOT NULL DEFAULT gen_random_uuid()::text CHECK (subject ~ '^[!-~]{1,255}$'),
  PRIMARY KEY (sub, sector_identifier),
  UNIQUE (sector_identifier, subject)
);

-- by which the client knows the user; null is the user's own sub
ALTER TABLE client_sessions ADD COLUMN subject text;
ALTER TABLE session_clients ADD COLUMN subject text;
