-- Makes the form in which user names and addresses are compared, the same on every database: its own locale plays no part. NFKC is repeated, since
-- lower case can undo it, and a final sigma is a sigma. loginKey() in src/rules/users/login-key.ts is the same rule.
CREATE OR REPLACE FUNCTION login_key(typed text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN translate(
  normalize(lower(btrim(normalize(typed, NFKC), U&' \0009\000a\000b\000c\000d\1680\2028\2029\feff') COLLATE "und-x-icu"), NFKC),
  'ς', 'σ');
