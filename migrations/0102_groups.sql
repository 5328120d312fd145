-- Creates the tables of groups. A group exists from the moment when an administrator creates it or adds a user to it, until it is deleted.
-- users.groups holds the members of each group.
CREATE TABLE groups (
  name text PRIMARY KEY,
  description text NOT NULL DEFAULT '' CHECK (char_length(description) <= 1000),
  -- without the rows of group_changes, which are not added yet
  members bigint NOT NULL DEFAULT 0,
  -- the sources that an administrator lets into a guarded group; others are skipped (federation FR7, FR40)
  guarded_sources text[] NOT NULL DEFAULT '{}' CHECK (array_position(guarded_sources, NULL) IS NULL),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX groups_words ON groups USING gin (group_words(name, description)) WITH (gin_pending_list_limit = 512);

-- How many members each statement added or removed: no transaction waits for the count of another. The clean-up adds them to groups.members.
CREATE TABLE group_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  change bigint NOT NULL
);
CREATE INDEX group_changes_name ON group_changes (name);

-- Why a user is in a group: which source says so.
CREATE TABLE group_memberships (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  group_name text NOT NULL,
  -- 'manual' for an administrator, an import or plain SQL; else the connection that says so
  source text NOT NULL CHECK (source <> ''),
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (sub, group_name, source)
);
-- the few memberships that end with their source
CREATE INDEX group_memberships_source ON group_memberships (source, sub) WHERE source <> 'manual';
