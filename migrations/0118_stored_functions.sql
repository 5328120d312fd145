-- The stored functions that repositories call. Each has a name with a hash of its text, so that two versions of it can be installed
-- (src/database/stored-functions.ts).
CREATE TABLE stored_functions (
  name text PRIMARY KEY,
  -- when an instance last declared that it calls the function: without a declaration for a week the function is dropped
  named_at timestamptz NOT NULL DEFAULT now()
);
