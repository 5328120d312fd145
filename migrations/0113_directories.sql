-- Creates the tables of the imports of directories: when one is due, which instance runs it, and what the last one did.
CREATE TABLE directory_imports (
  connection_id text PRIMARY KEY REFERENCES connections ON DELETE CASCADE,
  -- the instance that runs it now, until when, if it does not go on
  holder text,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  -- an administrator asked for a run
  requested_at timestamptz,
  -- the most users that the next run may disable, because an administrator looked at them
  approved integer CHECK (approved > 0),
  -- how far changes are read, in words of the kind of directory
  mark text,
  -- the last run that read everything
  full_at timestamptz,
  state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done', 'failed', 'held')),
  -- why it failed
  problem text,
  -- how many users it found, made, changed, disabled, enabled and left out; with the state held, how many it would disable
  counts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(counts) = 'object'),
  started_at timestamptz,
  finished_at timestamptz
);

-- What an import last saw of an entry.
CREATE TABLE directory_entries (
  connection_id text NOT NULL REFERENCES connections ON DELETE CASCADE,
  subject text COLLATE "C" NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
  -- of what was taken over; empty if no user took it
  digest bytea NOT NULL,
  present boolean NOT NULL,
  -- the import disabled the user, and may enable the user again
  disabled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (connection_id, subject)
);
