-- What follows from a change of users and their passkeys, whether the console, a route, the command line or plain SQL makes it.

-- Notes how many users joined and left each group, and creates a group when its first user joins.
CREATE FUNCTION note_group_changes(names text[], changes bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  joined text[];
BEGIN
  IF names IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(name ORDER BY name) INTO joined FROM unnest(names, changes) AS c (name, n) WHERE n > 0;
  IF joined IS NOT NULL THEN
    -- a transaction that deletes a group holds its row: this one waits for it, and then creates the group anew
    PERFORM FROM groups WHERE name = ANY (joined) ORDER BY name FOR KEY SHARE;
    INSERT INTO groups (name) SELECT unnest(joined) ON CONFLICT DO NOTHING;
  END IF;
  INSERT INTO group_changes (name, change) SELECT * FROM unnest(names, changes);
END $$;

CREATE FUNCTION users_are_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, count(DISTINCT sub) FROM after, unnest(groups) AS name GROUP BY name) AS c (name, n);
  RETURN NULL;
END $$;
CREATE TRIGGER users_inserted AFTER INSERT ON users REFERENCING NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_inserted();

CREATE FUNCTION users_are_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, -count(DISTINCT sub) FROM before, unnest(groups) AS name GROUP BY name) AS c (name, n);
  RETURN NULL;
END $$;
CREATE TRIGGER users_deleted AFTER DELETE ON users REFERENCING OLD TABLE AS before
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_deleted();

-- Ends what must end with a change: sessions of a user who is disabled, or becomes or ceases to be an administrator (security R52); known browsers
-- and counted failures with another password; mailed links, and mails in the outbox, that the change makes void.
CREATE FUNCTION users_are_updated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  -- the sign-in stores a stronger hash of the same password, which is not a change of the password
  is_rehash boolean := current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on';
  changed record;
BEGIN
  FOR changed IN
    SELECT a.sub, b.status = 'enabled' AND a.status = 'disabled' AS is_disabled, b.admin <> a.admin AS changes_power,
           b.password_hash IS DISTINCT FROM a.password_hash AND NOT is_rehash AS has_other_password,
           b.email IS DISTINCT FROM a.email OR b.email_verified > a.email_verified AS has_other_address
      FROM before b JOIN after a USING (sub)
     WHERE b.status <> a.status OR b.admin <> a.admin OR b.password_hash IS DISTINCT FROM a.password_hash
        OR b.email IS DISTINCT FROM a.email OR b.email_verified > a.email_verified
     ORDER BY a.sub
  LOOP
    IF changed.is_disabled OR changed.changes_power THEN
      DELETE FROM sessions WHERE sub = changed.sub;
    END IF;
    IF changed.is_disabled THEN
      DELETE FROM client_sessions WHERE sub = changed.sub;
    ELSIF changed.changes_power THEN
      -- no token for administrators outlives the change
      DELETE FROM client_sessions WHERE sub = changed.sub AND string_to_array(scope, ' ') && ARRAY['admin', 'metrics'];
    END IF;
    IF changed.has_other_password THEN
      DELETE FROM known_browsers WHERE sub = changed.sub;
      DELETE FROM sign_in_failures WHERE sub = changed.sub AND NOT second_factor;
    END IF;
    IF changed.is_disabled OR changed.has_other_password OR changed.has_other_address THEN
      UPDATE mailed_links SET used_at = now() WHERE sub = changed.sub AND used_at IS NULL;
      DELETE FROM outbox WHERE channel = 'mail' AND sub = changed.sub AND name IN ('verify-address', 'reset-password');
    END IF;
  END LOOP;
  PERFORM note_group_changes(array_agg(name), array_agg(n)) FROM (
    SELECT name, sum(change)::bigint FROM (
      SELECT DISTINCT a.sub, name, 1 FROM before b JOIN after a USING (sub), unnest(a.groups) AS name WHERE a.groups <> b.groups
      UNION ALL
      SELECT DISTINCT b.sub, name, -1 FROM before b JOIN after a USING (sub), unnest(b.groups) AS name WHERE a.groups <> b.groups
    ) AS c (sub, name, change) GROUP BY name HAVING sum(change) <> 0) AS c (name, n);
  RETURN NULL;
END $$;
CREATE TRIGGER users_updated AFTER UPDATE ON users REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION users_are_updated();

-- Records a change by plain SQL in the audit trail, as record_client_change_by_sql() does.
CREATE FUNCTION record_user_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  event_type text;
  detail jsonb := jsonb_build_object('database_role', session_user);
  -- derived from other members, and what a rehash changes
  ignored text[] := ARRAY['updated_at'];
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF current_setting('gatehouse.rehash', true) IS NOT DISTINCT FROM 'on' THEN
      ignored := ignored || 'password_hash'::text;
    END IF;
    IF to_jsonb(OLD) - ignored = to_jsonb(NEW) - ignored THEN
      RETURN NULL;
    END IF;
  END IF;
  IF EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid AND actor IS DISTINCT FROM 'sql') THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    event_type := 'user.deleted';
    detail := detail || jsonb_build_object('username', OLD.username, 'admin', OLD.admin);
  ELSIF TG_OP = 'INSERT' THEN
    event_type := 'user.created';
    detail := detail || jsonb_build_object('username', NEW.username, 'admin', NEW.admin);
  ELSE
    event_type := CASE
      WHEN NEW.status = 'disabled' AND OLD.status = 'enabled' THEN 'user.disabled'
      WHEN NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN 'user.password_changed'
      ELSE 'user.changed' END;
    detail := detail || coalesce(changed_members(to_jsonb(OLD), to_jsonb(NEW)), '{}');
    IF NEW.admin <> OLD.admin THEN
      detail := detail || jsonb_build_object('admin', NEW.admin);
    END IF;
    IF NEW.status <> OLD.status THEN
      detail := detail || jsonb_build_object('status', NEW.status);
    END IF;
  END IF;
  PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'sub', subject, 'detail', detail));
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER users_by_sql AFTER INSERT OR UPDATE OR DELETE ON users
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_user_change_by_sql();

-- Records a passkey that plain SQL adds or removes, unless it goes with its user.
CREATE FUNCTION record_passkey_change_by_sql() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  subject text := CASE TG_OP WHEN 'DELETE' THEN OLD.sub ELSE NEW.sub END;
  event_type text := CASE TG_OP WHEN 'DELETE' THEN 'user.second_factor_removed' ELSE 'user.second_factor_added' END;
BEGIN
  IF NOT EXISTS (
    SELECT FROM audit_events WHERE sub = subject AND at = now() AND xmin = pg_current_xact_id()::xid
       AND (actor IS DISTINCT FROM 'sql' OR type <> event_type)) THEN
    PERFORM record_event(jsonb_build_object('type', event_type, 'outcome', 'success', 'actor', 'sql', 'sub', subject,
      'detail', jsonb_build_object('database_role', session_user, 'kind', 'passkey')));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER passkeys_by_sql AFTER INSERT OR DELETE ON passkeys
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_passkey_change_by_sql();
