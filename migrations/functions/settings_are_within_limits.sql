-- Measures the settings of a user for a client. The size is that of the compact JSON which clients send and receive. The text of jsonb also has a space
-- after each comma and colon between values, which at most doubles it; these spaces do not count, spaces within strings do.
CREATE OR REPLACE FUNCTION settings_are_within_limits(settings jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
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
