-- Creates the table of what configuration files keep: an object remembers the set of files that made it, and only they change or delete it (federation 10).
-- The key is the name of the object in a file, which has no rows of its own here: what is deleted by plain SQL is made again by its files.
CREATE TABLE kept_objects (
  section text NOT NULL CHECK (section ~ '^[a-z_]{1,63}$'),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 2000),
  file_set text NOT NULL CHECK (file_set ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  PRIMARY KEY (section, key)
);
