-- Records a change by plain SQL in the audit trail, with the actor "sql", if the transaction ends without an event of the service about the
-- client. The service records an event in the transaction of the change.
CREATE OR REPLACE FUNCTION record_client_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  client text := CASE TG_OP WHEN 'DELETE' THEN OLD.client_id ELSE NEW.client_id END;
  event_type text;
  detail jsonb := jsonb_build_object('database_role', session_user);
  was_approved boolean;
  is_approved boolean;
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.version = NEW.version OR EXISTS (
    SELECT FROM audit_events WHERE client_id = client AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    event_type := 'client.deleted';
  ELSIF TG_OP = 'INSERT' THEN
    event_type := 'client.created';
    detail := detail || jsonb_strip_nulls(jsonb_build_object(
      'name', NEW.metadata -> 'client_name', 'scope', NEW.metadata -> 'scope', 'status', NEW.status));
  ELSE
    -- an approved client stays disabled until the registrant collects its credentials
    was_approved := OLD.status = 'enabled' OR (OLD.uncollected AND OLD.approved_by IS NOT NULL);
    is_approved := NEW.status = 'enabled' OR (NEW.uncollected AND NEW.approved_by IS NOT NULL);
    event_type := CASE
      WHEN is_approved AND (NOT was_approved OR (NEW.pending_metadata IS NULL AND NEW.metadata = OLD.pending_metadata)) THEN 'client.approved'
      WHEN was_approved AND NOT is_approved THEN 'client.disabled'
      WHEN NEW.refused_at IS DISTINCT FROM OLD.refused_at AND NEW.refused_at IS NOT NULL THEN 'client.refused'
      ELSE 'client.updated' END;
    detail := detail || jsonb_build_object('version', NEW.version) || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.metadata -> 'scope' <> OLD.metadata -> 'scope' THEN
      detail := detail || jsonb_build_object('scope_before', OLD.metadata -> 'scope', 'scope', NEW.metadata -> 'scope');
    END IF;
    IF event_type = 'client.refused' THEN
      detail := detail || jsonb_build_object('reason', NEW.refusal_reason);
    END IF;
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'client_id', client, 'detail', detail));
  RETURN NULL;
END $$;
