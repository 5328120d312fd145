-- Reads the id of the SECRET_KEY that encrypted a stored value, which begins with the byte 3 and the 8 bytes of that id. Null for a value that no
-- SECRET_KEY encrypted.
CREATE OR REPLACE FUNCTION sealed_key_id(sealed bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(sealed) > 9 AND substr(sealed, 1, 1) = '\x03' THEN encode(substr(sealed, 2, 8), 'hex') END
$$;
