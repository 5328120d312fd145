-- Names the groups that REQUIRE_SECOND_FACTOR_GROUPS guards, separated by commas (config/setting-types.ts): the settings that the service stored at its
-- start (security R165).
CREATE OR REPLACE FUNCTION guarded_groups() RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY(SELECT btrim(name, E' \t\r\n')
                 FROM service_settings, regexp_split_to_table(settings ->> 'REQUIRE_SECOND_FACTOR_GROUPS', ',') AS name);
$$;
