-- Enabling a client approves nothing that waits: a change that came while it was disabled goes on waiting, whoever enables it (security R116).
-- The approval of a change is the statement on a client that is enabled; for one that never was, it is the registration as it stands.
CREATE OR REPLACE FUNCTION client_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status = 'enabled' AND OLD.status = 'enabled' AND NEW.pending_metadata IS NOT NULL THEN
    NEW.metadata := NEW.pending_metadata;
    NEW.pending_metadata := NULL;
  END IF;
  RETURN NEW;
END $$;

-- Of two clients that claim one resource only one is its server. A registration may claim what it likes; what lets it in, by SQL too, is
-- refused while another client holds the resource: one that is enabled, or approved and about to collect its credentials.
CREATE FUNCTION client_resources() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  claimed jsonb := coalesce(NEW.metadata -> 'resource_uris', '[]');
  is_let_in boolean := NEW.status = 'enabled' OR (NEW.uncollected AND NEW.approved_by IS NOT NULL);
  held record;
BEGIN
  IF NOT is_let_in OR claimed = '[]' THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    -- a registration that needs no approval is never refused; the earlier client stays the server of the resource
    IF NEW.self_registered THEN
      RETURN NEW;
    END IF;
  ELSIF OLD.status = 'enabled' OR (OLD.uncollected AND OLD.approved_by IS NOT NULL) THEN
    -- what it holds already, it keeps
    claimed := coalesce((SELECT jsonb_agg(uri) FROM jsonb_array_elements_text(claimed) AS uri
                          WHERE NOT coalesce(OLD.metadata -> 'resource_uris' ? uri, false)), '[]');
    IF claimed = '[]' THEN
      RETURN NEW;
    END IF;
  END IF;
  -- two that are let in at once see one another; any constant
  PERFORM pg_advisory_xact_lock(7106345);
  SELECT uri, c.client_id INTO held
    FROM jsonb_array_elements_text(claimed) AS uri, clients c
   WHERE c.metadata -> 'resource_uris' ? uri AND c.client_id <> NEW.client_id
     AND (c.status = 'enabled' OR (c.uncollected AND c.approved_by IS NOT NULL))
   ORDER BY c.created_at, c.client_id LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'clients_resource_uris',
      MESSAGE = format('resource_uris: the client %s holds %s: disable that client first, or refuse this claim', held.client_id, held.uri);
  END IF;
  RETURN NEW;
END $$;
-- by its name after clients_0_collection and clients_1_approval, which say what is let in
CREATE TRIGGER clients_4_resources BEFORE INSERT OR UPDATE OF status, metadata ON clients FOR EACH ROW EXECUTE FUNCTION client_resources();
