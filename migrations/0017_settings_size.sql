-- The size of settings is that of the compact JSON which clients send and get. The text of jsonb also has a space after each
-- comma and colon between values, which at most doubles it; those are not counted, and the spaces within strings are.
CREATE OR REPLACE FUNCTION settings_are_within_limits(settings jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_typeof(settings) = 'object'
     AND CASE WHEN octet_length(settings::text) <= 65536 THEN true
              WHEN octet_length(settings::text) > 131072 THEN false
              ELSE octet_length(settings::text)
                 - length(regexp_replace(regexp_replace(settings::text, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^ ]', '', 'g'))
                   <= 65536 END
     AND (SELECT count(*) FROM jsonb_object_keys(settings)) <= 256
$$;
