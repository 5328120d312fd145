-- Ends the links of a user that were made without a person, by the domain of the address or with the user, when plain SQL gives the user power: such a
-- link gives no access to an administrator or a guarded group. Routes, commands and console ask about them first, so that none is left (security R165).
-- The sessions that came by the connection end with the link, and what was issued to clients, as with a link that an administrator ends (security R159).
CREATE OR REPLACE FUNCTION end_unasked_links() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  IF TG_ARGV[0] = 'guarded-group' AND NOT EXISTS (
    SELECT FROM unnest(guarded_groups()) AS guarded (name) WHERE name = ANY (NEW.groups) AND name <> ALL (OLD.groups)
  ) THEN
    RETURN NULL;
  END IF;
  FOR ended IN DELETE FROM linked_identities WHERE sub = NEW.sub AND how IN ('domain', 'provisioned') RETURNING connection_id LOOP
    INSERT INTO removed_links (connection_id, sub) VALUES (ended.connection_id, NEW.sub) ON CONFLICT DO NOTHING;
    DELETE FROM sessions WHERE sub = NEW.sub AND connection_id = ended.connection_id;
    -- those with offline_access outlive the browser's session
    DELETE FROM client_sessions WHERE sub = NEW.sub AND connection_id = ended.connection_id;
    PERFORM record_event(jsonb_build_object('type', 'identity.unlinked', 'outcome', 'success', 'actor', 'sql', 'sub', NEW.sub,
      'detail', jsonb_build_object('connection', ended.connection_id, 'reason', coalesce(TG_ARGV[0], 'administrator'))));
  END LOOP;
  RETURN NULL;
END $$;
