-- Creates the tables of failed sign-ins of an account, and the browsers in which a user signed in before: failures elsewhere do not lock a user out of these.
CREATE TABLE sign_in_failures (
  -- SHA-256 of the sub, or of the typed name where no account has it: both are counted, so that both take as long
  account bytea PRIMARY KEY,
  sub text REFERENCES users ON DELETE CASCADE,
  -- wrong codes are counted apart from wrong passwords: a correct password must not reset the count of wrong codes
  second_factor boolean NOT NULL DEFAULT false,
  -- consecutive failures; an attempt counts before its password is checked
  failures integer NOT NULL,
  held_until timestamptz NOT NULL,
  -- infinity for an account (NIST SP 800-63B-4 3.2.2 counts consecutive failures, not those within a time); soon for a name without an account
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_user ON sign_in_failures (sub);
CREATE INDEX sign_in_failures_expiry ON sign_in_failures (expires_at);

CREATE TABLE known_browsers (
  -- of the device cookie
  token_hash bytea NOT NULL,
  -- several users may share a browser
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  failures integer NOT NULL DEFAULT 0,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  -- differs between sign-ins of one transaction, which tells the browsers used last from the others
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (token_hash, sub)
);
CREATE INDEX known_browsers_user ON known_browsers (sub, used_at);
CREATE INDEX known_browsers_expiry ON known_browsers (expires_at);
