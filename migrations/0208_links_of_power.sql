-- A link that was made without a person, by the domain of the address or with the user, gives no access to an administrator: a user who becomes one by plain SQL
-- loses such links. Routes, commands and console ask about them first, so that none is left (security R165).
CREATE FUNCTION end_unasked_links() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN DELETE FROM linked_identities WHERE sub = NEW.sub AND how IN ('domain', 'provisioned') RETURNING connection_id LOOP
    INSERT INTO removed_links (connection_id, sub) VALUES (ended.connection_id, NEW.sub) ON CONFLICT DO NOTHING;
    PERFORM record_event(jsonb_build_object('type', 'identity.unlinked', 'outcome', 'success', 'actor', 'sql', 'sub', NEW.sub,
      'detail', jsonb_build_object('connection', ended.connection_id, 'reason', 'administrator')));
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER users_end_unasked_links AFTER UPDATE OF admin ON users
  FOR EACH ROW WHEN (NEW.admin AND NOT OLD.admin) EXECUTE FUNCTION end_unasked_links();
