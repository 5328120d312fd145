-- Imports of users from the console: how far each is, and which rows it refused. What was imported does not stand here, nor any value
-- of it: a file may hold password hashes, and whoever reads a report needs only the line, the column and the reason.
CREATE TABLE user_imports (
  -- made with the form: one that is sent twice begins one import
  id uuid PRIMARY KEY,
  started_by text NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'stopped')),
  -- how many lines there are, and up to which all is stored or refused
  lines integer NOT NULL CHECK (lines >= 0),
  line integer NOT NULL DEFAULT 0 CHECK (line >= 0),
  created integer NOT NULL DEFAULT 0,
  updated integer NOT NULL DEFAULT 0,
  unchanged integer NOT NULL DEFAULT 0,
  refused integer NOT NULL DEFAULT 0,
  -- the first of them, each with line, column and reason
  refusals jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(refusals) = 'array'),
  started_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  -- the last sign of life of who imports
  seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '7 days'
);
CREATE INDEX user_imports_expires_at ON user_imports (expires_at);
