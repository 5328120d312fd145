-- Records the end of a session by plain SQL in the audit trail. A session that ends with its user, or because of another event, is no event of
-- its own.
CREATE OR REPLACE FUNCTION record_session_end_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = OLD.sub AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> 'session.ended')) THEN
    PERFORM record_event(jsonb_build_object('type', 'session.ended', 'outcome', 'success', 'actor', 'sql', 'sub', OLD.sub,
      'detail', jsonb_build_object('database_role', session_user, 'session', OLD.sid)));
  END IF;
  RETURN NULL;
END $$;
