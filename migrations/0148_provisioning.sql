-- Creates the tables of provisioning targets (RFC 7643, RFC 7644, federation 8): the applications that get accounts for their users, and what each of them has of each user.
CREATE TABLE provisioning_targets (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  -- the application: an account is there for each user who may use it
  client text NOT NULL UNIQUE REFERENCES clients ON DELETE CASCADE,
  base_url text NOT NULL CHECK (char_length(base_url) BETWEEN 1 AND 2000),
  bearer_token_encrypted bytea,
  bearer_token_since timestamptz,
  token_endpoint text CHECK (char_length(token_endpoint) BETWEEN 1 AND 2000),
  client_id text CHECK (char_length(client_id) BETWEEN 1 AND 512),
  client_secret_encrypted bytea,
  client_secret_since timestamptz,
  attributes text[] NOT NULL DEFAULT '{name,displayName,emails}',
  groups text[] NOT NULL DEFAULT '{}' CHECK (array_position(groups, NULL) IS NULL),
  -- what happens to the account of a user who may no longer use the application
  leave text NOT NULL DEFAULT 'disable' CHECK (leave IN ('disable', 'delete', 'nothing')),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX provisioning_targets_bearer_token_key_id ON provisioning_targets (sealed_key_id(bearer_token_encrypted));
CREATE INDEX provisioning_targets_client_secret_key_id ON provisioning_targets (sealed_key_id(client_secret_encrypted));

-- How the provisioning of a target goes.
CREATE TABLE provisioning_runs (
  target_id text PRIMARY KEY REFERENCES provisioning_targets ON DELETE CASCADE,
  -- nothing is sent until an administrator approves: the first run, or the loss of access of many users
  held text DEFAULT 'first' CHECK (held IN ('first', 'mass')),
  approved_at timestamptz,
  -- all users are reviewed once: those whose access changed, or every account
  review text DEFAULT 'access' CHECK (review IN ('access', 'all')),
  -- the review waits for transactions that began before it was wanted: they may not have seen the target
  review_after xid8,
  reviewed_at timestamptz NOT NULL DEFAULT now(),
  -- a pause applies to all requests to one target
  failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
  failing_since timestamptz,
  retry_at timestamptz,
  last_failure text
);

-- What a target has of each user. The user may be deleted already: the account has yet to follow.
CREATE TABLE provisioned_users (
  target_id text NOT NULL REFERENCES provisioning_targets ON DELETE CASCADE,
  sub text NOT NULL,
  -- the subject of the user for the client, and the id that the target gave
  external_id text,
  remote_id text,
  -- what was written last: a target may store and show other values
  written jsonb CHECK (jsonb_typeof(written) = 'object'),
  state text NOT NULL DEFAULT 'none' CHECK (state IN ('none', 'active', 'left')),
  -- a request that creates the account was sent
  posted_at timestamptz,
  -- the account exists by our request: no other is deleted
  made boolean NOT NULL DEFAULT false,
  -- the user may use the application
  wanted boolean NOT NULL,
  -- an administrator has approved that the account ends
  approved boolean NOT NULL DEFAULT false,
  -- the account is read at the target before it counts as unchanged
  to_check boolean NOT NULL DEFAULT false,
  -- groups of the target in which the account was put
  in_groups text[] NOT NULL DEFAULT '{}',
  -- why no further request is sent until the user or the account changes
  problem text CHECK (problem IN ('taken', 'ambiguous', 'unnamed')),
  waiting boolean NOT NULL DEFAULT true,
  -- increases with each change of the user, so that one that comes during a request is sent after it
  revision integer NOT NULL DEFAULT 1,
  -- increases with each attempt: the record of an older attempt is refused
  claims integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- of the instance that sends now: if it dies, another one sends then
  leased_until timestamptz,
  last_act text CHECK (last_act IN ('created', 'adopted', 'changed', 'disabled', 'deleted', 'unchanged')),
  answer_status integer,
  answered_at timestamptz,
  last_failure text,
  left_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (target_id, sub)
);
CREATE INDEX provisioned_users_due ON provisioned_users (target_id, next_attempt_at, sub) WHERE waiting;
CREATE INDEX provisioned_users_leaving ON provisioned_users (target_id) WHERE waiting AND NOT wanted AND state = 'active';
CREATE INDEX provisioned_users_left ON provisioned_users (target_id, left_at) WHERE state = 'left';
CREATE INDEX provisioned_users_user ON provisioned_users (sub);
CREATE INDEX provisioned_users_groups ON provisioned_users USING gin (in_groups) WHERE in_groups <> '{}';

-- The groups that a target has. A group that the target no longer gets stays here until it is gone there.
CREATE TABLE provisioned_groups (
  target_id text NOT NULL REFERENCES provisioning_targets ON DELETE CASCADE,
  name text NOT NULL,
  -- the name that was written last
  written text,
  remote_id text,
  posted_at timestamptz,
  made boolean NOT NULL DEFAULT false,
  waiting boolean NOT NULL DEFAULT true,
  revision integer NOT NULL DEFAULT 1,
  claims integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  leased_until timestamptz,
  last_failure text,
  PRIMARY KEY (target_id, name)
);
