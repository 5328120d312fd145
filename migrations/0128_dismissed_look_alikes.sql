-- Pairs of clients whose names an administrator has found distinct enough. A row counts only while both clients have these names, and each pair has
-- a row in either direction.
CREATE TABLE dismissed_look_alikes (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  name text NOT NULL,
  other_client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  other_name text NOT NULL,
  dismissed_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (client_id, other_client_id),
  CHECK (client_id <> other_client_id)
);
CREATE INDEX dismissed_look_alikes_other ON dismissed_look_alikes (other_client_id);
