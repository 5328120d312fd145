-- Records an event in the audit trail. TypeScript, stored functions and triggers call it, and nothing else writes to the trail. Its members are
-- named: type, outcome, actor, client_id, sub, address, detail, and languages, the Accept-Language of the request, which the trail does not store.
CREATE FUNCTION record_event(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF event ? 'languages' THEN
    PERFORM set_config('gatehouse.languages', event ->> 'languages', true);
  END IF;
  INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail)
    VALUES (event ->> 'type', event ->> 'outcome', event ->> 'actor', event ->> 'client_id', event ->> 'sub', (event ->> 'address')::inet,
            coalesce(event -> 'detail', '{}'));
END $$;
