-- Whether a client was ever enabled, by an administrator, a token, automatic approval or SQL. approved_by does not say it: a client can be
-- inserted as enabled without it, and one that an administrator created as disabled has it.

-- it follows from the status, as version and epoch do: no member of its own in the audit trail
CREATE OR REPLACE FUNCTION changed_members(before jsonb, after jsonb) RETURNS jsonb LANGUAGE sql AS $$
  WITH flat AS (
    SELECT before - 'metadata' - 'claims' || coalesce(before -> 'metadata', before -> 'claims') AS before,
           after - 'metadata' - 'claims' || coalesce(after -> 'metadata', after -> 'claims') AS after)
  SELECT jsonb_build_object('members', jsonb_agg(name ORDER BY name COLLATE "C")) FROM (
    SELECT DISTINCT CASE key WHEN 'pending_metadata' THEN 'pending_changes' ELSE regexp_replace(key, '_(hash|encrypted)$', '') END
      FROM flat, jsonb_object_keys(flat.before || flat.after) AS key
     WHERE flat.before -> key IS DISTINCT FROM flat.after -> key
       -- what follows of itself, and what the event's type says
       AND key <> ALL (ARRAY['version', 'epoch', 'updated_at', 'approved_by', 'refused_at', 'refusal_reason', 'uncollected', 'ever_enabled',
                             'client_secret_encrypted', 'username_key', 'email_key'])
       AND (key <> 'status' OR flat.after ? 'sub')) AS changed (name)
  HAVING count(*) > 0
$$;

-- A trigger sets it, so that it is right whoever writes: also plain SQL, and an instance of the version before.
CREATE FUNCTION client_ever_enabled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.ever_enabled := NEW.ever_enabled OR NEW.status = 'enabled' OR (TG_OP = 'UPDATE' AND OLD.ever_enabled);
  RETURN NEW;
END $$;

-- last, since this alone makes readers wait
ALTER TABLE clients ADD COLUMN ever_enabled boolean NOT NULL DEFAULT false;
-- by its name after clients_0_collection, which keeps an uncollected client disabled
CREATE TRIGGER clients_3_ever_enabled BEFORE INSERT OR UPDATE OF status, ever_enabled ON clients
  FOR EACH ROW EXECUTE FUNCTION client_ever_enabled();
-- One that is disabled now and was approved counts as enabled before: the audit trail may be too short to tell. The setting keeps the version.
SELECT set_config('gatehouse.reencrypt', 'on', true);
UPDATE clients SET ever_enabled = true WHERE status = 'enabled' OR (approved_by IS NOT NULL AND NOT uncollected);
SELECT set_config('gatehouse.reencrypt', 'off', true);
