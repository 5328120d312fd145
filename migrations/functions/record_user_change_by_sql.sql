-- Records a change by plain SQL in the audit trail, as record_client_change_by_sql() does.
CREATE OR REPLACE FUNCTION record_user_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  event_type text;
  detail jsonb := jsonb_build_object('database_role', session_user);
  -- derived from other members, and what a rehash changes
  ignored text[] := ARRAY['updated_at'];
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on' THEN
      ignored := ignored || 'password_hash'::text;
    END IF;
    IF to_jsonb(OLD) - ignored = to_jsonb(NEW) - ignored THEN
      RETURN NULL;
    END IF;
  END IF;
  IF EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    event_type := 'user.deleted';
    detail := detail || jsonb_build_object('admin', OLD.admin);
  ELSIF TG_OP = 'INSERT' THEN
    event_type := 'user.created';
    detail := detail || jsonb_build_object('admin', NEW.admin);
  ELSE
    event_type := CASE
      WHEN NEW.status = 'disabled' AND OLD.status = 'enabled' THEN 'user.disabled'
      WHEN NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN 'user.password_changed'
      ELSE 'user.changed' END;
    detail := detail || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.admin <> OLD.admin THEN
      detail := detail || jsonb_build_object('admin', NEW.admin);
    END IF;
    IF NEW.status <> OLD.status THEN
      detail := detail || jsonb_build_object('status', NEW.status);
    END IF;
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'sub', subject, 'detail', detail));
  RETURN NULL;
END $$;
