-- Makes the digest of a value of a unique attribute: texts are compared as user names are.
CREATE OR REPLACE FUNCTION attribute_digest(value jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN sha256(convert_to(login_key(value #>> '{}'), 'UTF8'));
