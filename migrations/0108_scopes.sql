-- Creates the table of the scopes that release claims, of an operator's own. Those of APIs are in the table resources.
CREATE TABLE scopes (
  name text PRIMARY KEY CHECK (name ~ '^[!#-\[\]-~]{1,100}$'),
  -- what users read on the consent page, by language
  text jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(text) = 'object'),
  claims text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
