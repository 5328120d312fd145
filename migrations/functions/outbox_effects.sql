-- Wakes the instances that work on a channel of the outbox. It runs for each row, since a statement that inserts none must not notify: a transaction
-- that notifies waits at its commit for all others that do. PostgreSQL sends the same notification of one transaction once.
CREATE OR REPLACE FUNCTION outbox_effects() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('gatehouse', NEW.channel);
  RETURN NULL;
END $$;
