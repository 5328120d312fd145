-- A user who joins a guarded group by plain SQL loses the links that were made without a person, as a user who becomes an administrator does
-- (security R165). The settings that the service stored at its start name the groups, separated by commas (config/setting-types.ts).
CREATE FUNCTION guarded_groups() RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY(SELECT btrim(name, E' \t\r\n')
                 FROM service_settings, regexp_split_to_table(settings ->> 'REQUIRE_SECOND_FACTOR_GROUPS', ',') AS name);
$$;

-- for the trigger of migration 0208, too, which has no argument
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
    PERFORM record_event(jsonb_build_object('type', 'identity.unlinked', 'outcome', 'success', 'actor', 'sql', 'sub', NEW.sub,
      'detail', jsonb_build_object('connection', ended.connection_id, 'reason', coalesce(TG_ARGV[0], 'administrator'))));
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER users_end_links_of_guarded AFTER UPDATE OF groups ON users
  FOR EACH ROW WHEN (NEW.groups IS DISTINCT FROM OLD.groups) EXECUTE FUNCTION end_unasked_links('guarded-group');
