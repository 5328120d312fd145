-- Creates the tables of sign-up links: links that an administrator makes, by which several users create their own accounts.
CREATE TABLE sign_up_links (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  -- the groups of the new users; a renamed or deleted group is followed
  groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(groups, NULL) IS NULL),
  -- the domain of the addresses that can sign up; null for those of the settings
  domain text,
  uses integer NOT NULL CHECK (uses > 0),
  used integer NOT NULL DEFAULT 0 CHECK (used BETWEEN 0 AND 2147483646),
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX sign_up_links_newest ON sign_up_links (created_at DESC, id DESC);
CREATE INDEX sign_up_links_groups ON sign_up_links USING gin (groups);

-- The digest of each link, in a table that no list reads.
CREATE TABLE sign_up_link_tokens (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  link_id text NOT NULL UNIQUE REFERENCES sign_up_links ON DELETE CASCADE
);

-- The sign-up link by which a user asked for the mail. Null for any other mailed link.
ALTER TABLE mailed_links ADD COLUMN sign_up_link text REFERENCES sign_up_links ON DELETE CASCADE;
ALTER TABLE mailed_links ADD CHECK (sign_up_link IS NULL OR purpose = 'sign_up');
CREATE INDEX mailed_links_sign_up_link ON mailed_links (sign_up_link) WHERE sign_up_link IS NOT NULL;
