-- Counts the accounts of a provisioning target: those that are active, that are created next, whose users left, that have a problem, and all that wait.
CREATE OR REPLACE FUNCTION provisioning_counts(target text) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
           'active', count(*) FILTER (WHERE state = 'active'),
           'creating', count(*) FILTER (WHERE waiting AND wanted AND state <> 'active'),
           'leaving', count(*) FILTER (WHERE waiting AND NOT wanted AND state = 'active'),
           'waiting', count(*) FILTER (WHERE waiting),
           'failing', count(*) FILTER (WHERE last_failure IS NOT NULL))
    FROM provisioned_users WHERE target_id = target
$$;
