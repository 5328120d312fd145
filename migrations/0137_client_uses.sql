-- Creates the table of when each client was last used, to the hour. It is not a column of clients: each use would change the version of the row, and
-- tell all instances to read the client again.
CREATE TABLE client_uses (
  client_id text PRIMARY KEY REFERENCES clients ON DELETE CASCADE,
  used_at timestamptz NOT NULL
);
