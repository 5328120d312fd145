-- Creates the table of what configuration files keep: an object remembers the set of files that made it, and only they change or delete it (federation 10).
-- The key is the name of the object in a file. An object that was deleted without its files, and made anew by hand, is nobody's: it has another time.
CREATE TABLE kept_objects (
  section text NOT NULL CHECK (section ~ '^[a-z_]{1,63}$'),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
  file_set text NOT NULL CHECK (file_set ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- when the object was created, in ISO 8601; empty for what always exists
  made_at text NOT NULL CHECK (made_at ~ '^(\d{4}-\d\d-\d\dT[0-9:.]{8,12}Z)?$'),
  PRIMARY KEY (section, key)
);
