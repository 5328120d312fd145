-- Folds text for a search: without case, accents and vowel points, as far as PostgreSQL knows them by itself. It names its collation, so that it does
-- the same on every database, as every function of an index does.
CREATE OR REPLACE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(translate(
    lower(regexp_replace(normalize(value, NFKD), '[\u0300-\u036f\u064b-\u0655\u05b0-\u05c7]', '', 'g') COLLATE "und-x-icu"),
    'łøđðħıŧþς', 'loddhittσ'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
