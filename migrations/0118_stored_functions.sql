-- The stored functions that repositories call. Each has a name with a hash of its text, so that two versions of it are installed side by side
-- (src/database/stored-functions.ts).
CREATE TABLE stored_functions (
  name text PRIMARY KEY,
  -- when an instance that calls the function last said so: a function that no instance names for a week is dropped
  named_at timestamptz NOT NULL DEFAULT now()
);
