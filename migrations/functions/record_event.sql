-- Records an event in the audit trail, and for each subscriber in the outbox: so a subscriber that fails, or that only a newer version has, keeps
-- its own row. TypeScript, stored functions and triggers call it, and nothing else writes to the trail. Its members are named: type, outcome,
-- actor, client_id, sub, address, detail, and languages, the Accept-Language of the request, which the trail does not store.
CREATE OR REPLACE FUNCTION record_event(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  event_id bigint;
BEGIN
  INSERT INTO audit_events (type, outcome, actor, client_id, sub, address, detail)
    VALUES (event ->> 'type', event ->> 'outcome', event ->> 'actor', event ->> 'client_id', event ->> 'sub', (event ->> 'address')::inet,
            coalesce(event -> 'detail', '{}'))
    RETURNING id INTO event_id;
  INSERT INTO outbox (channel, name, data)
    SELECT 'event', subscriber, event || jsonb_build_object('id', event_id, 'at', now())
      FROM event_subscriptions WHERE type = event ->> 'type';
END $$;
