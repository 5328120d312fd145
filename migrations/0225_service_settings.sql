-- What the service that started last told its commands: its settings without secrets, and its version. At most one row.
CREATE TABLE service_settings (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  -- by the names of the environment; BASE_URL is always among them
  settings jsonb NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);
