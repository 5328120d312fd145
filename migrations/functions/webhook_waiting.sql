-- Counts the messages that wait for a webhook, up to `most`.
CREATE OR REPLACE FUNCTION webhook_waiting(webhook text, most integer) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer FROM (SELECT FROM webhook_deliveries WHERE webhook_id = webhook AND status = 'waiting' LIMIT most) AS counted
$$;
