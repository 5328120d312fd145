-- Creates the tables of grants: what a user has allowed a client, which the consent page remembers.
CREATE TABLE grants (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- `scope`, single `claims` beside those of the scopes (OpenID Connect Core 5.5), and the scope values of each resource by its id in `resources` (RFC 8707)
  granted jsonb NOT NULL,
  redirect_uris text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sub, client_id),
  CONSTRAINT grants_granted CHECK (
    (jsonb_typeof(granted -> 'scope') = 'array' AND jsonb_typeof(granted -> 'claims') = 'array' AND jsonb_typeof(granted -> 'resources') = 'object') IS TRUE)
);
CREATE INDEX grants_client ON grants (client_id);
CREATE TRIGGER grants_effects AFTER DELETE ON grants FOR EACH ROW EXECUTE FUNCTION grant_effects();

-- Pairwise subjects (OpenID Connect Core 8): the name of a user for the clients of one sector, which no client of another sector receives.
CREATE TABLE pairwise_subjects (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  -- a host
  sector_identifier text NOT NULL CHECK (sector_identifier ~ '^[!-~]{1,255}$'),
  subject text NOT NULL DEFAULT gen_random_uuid()::text CHECK (subject ~ '^[!-~]{1,255}$'),
  PRIMARY KEY (sub, sector_identifier),
  UNIQUE (sector_identifier, subject)
);
