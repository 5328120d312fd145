-- Back-channel logout: what relying parties have yet to be told, stored by whatever ends a session.
CREATE TABLE logout_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- without references: a deleted user's applications are told too, and no logout waits for a lock on a client's row
  client_id text NOT NULL,
  sub text NOT NULL,
  -- the name by which the client knows the user; null is the user's own sub
  subject text,
  sid text NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'delivered', 'refused', 'given_up')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- an instance that tries moves it ahead: if that dies, another tries then
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  last_failure text,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  finished_at timestamptz,
  -- what is finished is kept for a while, for administrators
  expires_at timestamptz,
  CHECK ((status = 'waiting') = (finished_at IS NULL) AND (finished_at IS NULL) = (expires_at IS NULL))
);
CREATE INDEX logout_deliveries_waiting ON logout_deliveries (client_id, attempts, id) WHERE status = 'waiting';
CREATE INDEX logout_deliveries_age ON logout_deliveries (created_at) WHERE status = 'waiting';
CREATE INDEX logout_deliveries_newest ON logout_deliveries (created_at DESC, id DESC);
CREATE INDEX logout_deliveries_expiry ON logout_deliveries (expires_at);

-- Receivers that failed last time: the pause is the receiver's, however much waits for it.
CREATE TABLE logout_receivers (
  client_id text PRIMARY KEY,
  failures integer NOT NULL CHECK (failures >= 1),
  retry_at timestamptz NOT NULL
);
CREATE INDEX logout_receivers_expiry ON logout_receivers (retry_at);

-- Whoever ends a live session, by SQL too, leaves word for the clients in it; one that merely expired was not ended.
CREATE FUNCTION session_logout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.idle_expires_at <= now() THEN
    RETURN OLD;
  END IF;
  INSERT INTO logout_deliveries (client_id, sub, subject, sid)
  SELECT c.client_id, OLD.sub, sc.subject, OLD.sid
    FROM session_clients sc JOIN clients c ON c.client_id = sc.client_id AND c.status = 'enabled'
   WHERE sc.session_id = OLD.id AND c.metadata ? 'backchannel_logout_uri';
  IF FOUND THEN
    PERFORM pg_notify('gatehouse', 'logout');
  END IF;
  RETURN OLD;
END $$;
-- before, since the clients of the session go with it
CREATE TRIGGER sessions_logout BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION session_logout();

-- A client that is disabled or deleted is told nothing more.
CREATE FUNCTION client_logout_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR (NEW.status = 'disabled' AND OLD.status = 'enabled') THEN
    DELETE FROM logout_deliveries WHERE client_id = OLD.client_id AND status = 'waiting';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER clients_logout_deliveries AFTER UPDATE OR DELETE ON clients
  FOR EACH ROW EXECUTE FUNCTION client_logout_deliveries();
