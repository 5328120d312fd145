-- Creates the tables by which instances and versions know each other, and commands know the service.

-- The running instances, each with the id of the key that it encrypts with. An instance without a recent heartbeat is gone.
CREATE TABLE instances (
  id uuid PRIMARY KEY,
  secret_key_id text NOT NULL CHECK (secret_key_id ~ '^[0-9a-f]{16}$'),
  started_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  seen_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- What the service that started last told its commands: its settings without secrets, and its version. At most one row.
CREATE TABLE service_settings (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  -- by the names of the environment; BASE_URL is always among them
  settings jsonb NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);

-- The stored functions that repositories call. Each has a name with a hash of its text, so that two versions of it can be installed
-- (src/database/stored-functions.ts).
CREATE TABLE stored_functions (
  name text PRIMARY KEY,
  -- when an instance last declared that it calls the function: without a declaration for a week the function is dropped
  named_at timestamptz NOT NULL DEFAULT now()
);

-- The functions of migrations/functions/, as they were last written, and the version that wrote them: an older one leaves them as they are
-- (src/database/schema-functions.ts).
CREATE TABLE schema_functions (
  name text PRIMARY KEY,
  -- of the file
  digest text NOT NULL,
  version text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now()
);
