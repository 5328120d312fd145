-- Lets each instance say where it runs, and with which settings, so that administrators see which ones there are and which of them differs.
-- An instance of an older version leaves the columns empty.
ALTER TABLE instances
  ADD COLUMN host text,
  ADD COLUMN port integer,
  ADD COLUMN version text,
  -- as in service_settings: without secrets
  ADD COLUMN settings jsonb;
