-- Says how a provisioning target is: disabled, held until an administrator approves, failing, or active.
CREATE OR REPLACE FUNCTION provisioning_state(target text, status text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN status = 'disabled' THEN 'disabled'
              WHEN r.held IS NOT NULL OR r.target_id IS NULL THEN 'held'
              WHEN r.failing_since IS NOT NULL THEN 'failing'
              ELSE 'active' END
    FROM (SELECT) AS one LEFT JOIN provisioning_runs r ON r.target_id = target
$$;
