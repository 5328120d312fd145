-- Says since when every delivery to a webhook has failed; null after a success.
CREATE OR REPLACE FUNCTION webhook_failing_since(webhook text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT failing_since FROM webhook_receivers WHERE webhook_id = webhook
$$;
