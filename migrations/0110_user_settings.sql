-- Creates the table of the settings of users for clients: those of a user for one client are one row, so that the limits apply to their sum.
CREATE TABLE user_settings (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  settings jsonb NOT NULL CONSTRAINT user_settings_limits CHECK (settings_are_within_limits(settings)),
  -- increases with every write: the entity tag
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sub, client_id)
) WITH (fillfactor = 85);
CREATE INDEX user_settings_client ON user_settings (client_id);
