-- Users whose value of a unique attribute became equal to that of another user, so that unique_attribute_values names the other. Each start lists
-- them while both values stay (security R153).
CREATE TABLE shared_attribute_values (
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL REFERENCES attributes ON DELETE CASCADE,
  digest bytea NOT NULL,
  PRIMARY KEY (sub, name)
);
INSERT INTO shared_attribute_values (sub, name, digest)
  SELECT u.sub, a.name, attribute_digest(u.claims -> a.name) FROM attributes a JOIN users u ON u.claims ? a.name
   WHERE a.is_unique AND attribute_digest(u.claims -> a.name) IS NOT NULL
     AND NOT EXISTS (SELECT FROM unique_attribute_values v WHERE v.name = a.name AND v.sub = u.sub);
