-- Creates the table of the certificates with which clients authenticated lately: an administrator sees when one ends.
CREATE TABLE client_certificates (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- its SHA-256 in base64url, as a bound token names it (RFC 8705 3.1)
  x5t text NOT NULL CHECK (x5t ~ '^[A-Za-z0-9_-]{43}$'),
  subject text CHECK (char_length(subject) <= 1000),
  expires_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, x5t)
);
CREATE INDEX client_certificates_expiry ON client_certificates (expires_at);
