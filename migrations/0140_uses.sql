-- Creates the tables of when each connection and each resource was last used, to the hour, as client_uses has it of clients (pages, lists).
CREATE TABLE connection_uses (
  connection_id text PRIMARY KEY REFERENCES connections ON DELETE CASCADE,
  used_at timestamptz NOT NULL
);
CREATE TABLE resource_uses (
  resource_id text PRIMARY KEY REFERENCES resources ON DELETE CASCADE,
  used_at timestamptz NOT NULL
);
