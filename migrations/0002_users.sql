-- End-Users. The keys by which they sign in are folded here, so that no spelling of one name makes a second account.
CREATE TABLE users (
  sub text PRIMARY KEY DEFAULT gen_random_uuid()::text CHECK (sub ~ '^[!-~]{1,255}$'),
  username text NOT NULL CHECK (char_length(username) BETWEEN 1 AND 255),
  username_key text NOT NULL GENERATED ALWAYS AS (lower(normalize(btrim(username), NFKC))) STORED UNIQUE,
  email text CHECK (char_length(email) BETWEEN 3 AND 320),
  email_key text GENERATED ALWAYS AS (lower(normalize(btrim(email), NFKC))) STORED UNIQUE,
  email_verified boolean NOT NULL DEFAULT false,
  password_hash text,
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('disabled', 'enabled')),
  admin boolean NOT NULL DEFAULT false,
  groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(groups, NULL) IS NULL),
  -- standard claims under their names (OpenID Connect Core 5.1), but for those that have a column
  claims jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(claims) = 'object'),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX users_newest ON users (created_at DESC, sub DESC);
