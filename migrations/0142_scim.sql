-- Creates the tables of SCIM sources (RFC 7643, RFC 7644): directories that write users and groups here, their tokens, and what belongs to each.
CREATE TABLE scim_sources (
  id text PRIMARY KEY CHECK (id ~ '^[a-z][a-z0-9-]{1,39}$'),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  -- by which its users sign in, and whose domains it vouches for
  connection_id text REFERENCES connections,
  adopt text NOT NULL DEFAULT 'none' CHECK (adopt IN ('none', 'domain')),
  on_delete text NOT NULL DEFAULT 'disable' CHECK (on_delete IN ('disable', 'delete')),
  group_prefix text NOT NULL DEFAULT '' CHECK (char_length(group_prefix) <= 100),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX scim_sources_connection ON scim_sources (connection_id);

CREATE TABLE scim_tokens (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  source_id text NOT NULL REFERENCES scim_sources ON DELETE CASCADE,
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  last_used_at timestamptz
);
CREATE INDEX scim_tokens_source ON scim_tokens (source_id);

-- The users that a source made or adopted, as the source wrote them. A user belongs to one source at most.
CREATE TABLE scim_users (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  source_id text NOT NULL REFERENCES scim_sources ON DELETE CASCADE,
  -- the order of lists
  place bigint GENERATED ALWAYS AS IDENTITY,
  external_id text COLLATE "C",
  -- the name that the source gave, which an adopted user need not have
  user_name text NOT NULL,
  -- all other attributes, in the form of RFC 7643
  resource jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(resource) = 'object'),
  adopted boolean NOT NULL DEFAULT false,
  -- the source disabled the user, and may enable the user again; any other change of the status takes this back
  disabled boolean NOT NULL DEFAULT false,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- the source deleted the user, whose account stays disabled for a while
  deleted_at timestamptz
);
CREATE UNIQUE INDEX scim_users_external_id ON scim_users (source_id, external_id);
CREATE UNIQUE INDEX scim_users_user_name ON scim_users (source_id, lower(user_name)) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX scim_users_place ON scim_users (source_id, place) WHERE deleted_at IS NULL;
CREATE INDEX scim_users_deleted ON scim_users (deleted_at) WHERE deleted_at IS NOT NULL;

-- The groups that a source made. Their memberships are in group_memberships with the source scim:ID.
CREATE TABLE scim_groups (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  source_id text NOT NULL REFERENCES scim_sources ON DELETE CASCADE,
  place bigint GENERATED ALWAYS AS IDENTITY,
  -- the group here, with the prefix of the source
  name text NOT NULL UNIQUE REFERENCES groups ON UPDATE CASCADE ON DELETE CASCADE,
  -- the name that the source gave
  display_name text NOT NULL,
  external_id text COLLATE "C",
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE UNIQUE INDEX scim_groups_external_id ON scim_groups (source_id, external_id);
CREATE UNIQUE INDEX scim_groups_place ON scim_groups (source_id, place);
-- the members of a group of a source
CREATE INDEX group_memberships_of_source ON group_memberships (group_name, source, sub) WHERE source <> 'manual';
