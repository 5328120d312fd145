-- Creates the tables of attributes: what an operator stores about users beside the standard claims. The values are members of users.claims, under the
-- names of their attributes.
CREATE TABLE attributes (
  name text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,49}$'),
  type text NOT NULL CHECK (type IN ('string', 'number', 'boolean', 'date', 'string_list')),
  -- by language
  label jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(label) = 'object'),
  -- the only values that are allowed; null for any
  choices jsonb CHECK (jsonb_typeof(choices) = 'array'),
  -- characters of a text, entries of a list, or the largest number; null for the limits of the service
  max integer CHECK (max > 0),
  -- what the user may do with the value on the account pages
  person text NOT NULL DEFAULT 'none' CHECK (person IN ('none', 'read', 'write')),
  is_unique boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- The values of unique attributes, as digests of the form in which they are compared.
CREATE TABLE unique_attribute_values (
  name text NOT NULL REFERENCES attributes ON DELETE CASCADE,
  digest bytea NOT NULL,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  PRIMARY KEY (name, digest)
);
CREATE INDEX unique_attribute_values_sub ON unique_attribute_values (sub);

-- Users whose value of a unique attribute became equal to that of another user, so that unique_attribute_values names the other. Each start lists
-- them while both values stay (security R153).
CREATE TABLE shared_attribute_values (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL REFERENCES attributes ON DELETE CASCADE,
  digest bytea NOT NULL,
  PRIMARY KEY (sub, name)
);
