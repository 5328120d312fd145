-- A browser in which a user has shown a second factor can spare the next one for some days (pages, known browsers).
ALTER TABLE known_browsers
  ADD COLUMN second_factor_until timestamptz,
  -- the second factors that the user had then: with others the browser spares none
  ADD COLUMN second_factors text[];
-- whether the sign-in was spared a second factor
ALTER TABLE sessions ADD COLUMN second_factor_spared boolean NOT NULL DEFAULT false;
