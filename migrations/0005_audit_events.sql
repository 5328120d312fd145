-- The audit trail: append-only.
CREATE TABLE audit_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL CHECK (type ~ '^[a-z_.]{1,64}$'),
  outcome text NOT NULL CHECK (outcome IN ('success', 'failure')),
  actor text,
  client_id text,
  sub text,
  address inet,
  detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object')
);
CREATE INDEX audit_events_client ON audit_events (client_id, id DESC) WHERE client_id IS NOT NULL;
CREATE INDEX audit_events_subject ON audit_events (sub, id DESC) WHERE sub IS NOT NULL;
CREATE INDEX audit_events_time ON audit_events (at);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
