-- Says whether `cnf` is as introspection shows it: exactly one thumbprint, of a DPoP key or of a certificate (RFC 8705 3.1, RFC 9449 6.1).
CREATE OR REPLACE FUNCTION is_confirmation(cnf jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (cnf ->> 'jkt' ~ '^[A-Za-z0-9_-]{43}$' AND cnf - 'jkt' = '{}'
     OR cnf ->> 'x5t#S256' ~ '^[A-Za-z0-9_-]{43}$' AND cnf - 'x5t#S256' = '{}') IS TRUE;
