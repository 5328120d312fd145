-- Settings of a user for one client, in one row, so that the limits apply to their sum.

-- The size is that of the compact JSON which clients send and receive. The text of jsonb also has a space after each comma and colon between
-- values, which at most doubles it; these spaces do not count, spaces within strings do.
CREATE FUNCTION settings_are_within_limits(settings jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  document text;
  size integer;
BEGIN
  IF jsonb_typeof(settings) <> 'object' THEN
    RETURN false;
  END IF;
  document := settings::text;
  size := octet_length(document);
  IF size > 65536 THEN
    IF size > 131072 THEN
      RETURN false;
    END IF;
    -- the spaces of jsonb's own text, which are not the client's
    IF size - length(regexp_replace(regexp_replace(document, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^ ]', '', 'g')) > 65536 THEN
      RETURN false;
    END IF;
  END IF;
  -- a key and its value take at least six bytes
  IF size < 6 * 256 THEN
    RETURN true;
  END IF;
  RETURN (SELECT count(*) FROM jsonb_object_keys(settings)) <= 256;
END $$;

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
