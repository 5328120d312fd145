-- Records a passkey that plain SQL adds or removes, unless it goes with its user.
CREATE OR REPLACE FUNCTION record_passkey_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  event_type text := CASE TG_OP WHEN 'DELETE' THEN 'user.second_factor_removed' ELSE 'user.second_factor_added' END;
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> event_type)) THEN
    PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'sub', subject,
      'detail', jsonb_build_object('database_role', session_user, 'kind', 'passkey')));
  END IF;
  RETURN NULL;
END $$;
