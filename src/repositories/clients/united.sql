-- Returns the union of two arrays: the first one unchanged if it contains the second.
CREATE FUNCTION {{united}}(had text[], more text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF had @> more THEN
    RETURN had;
  END IF;
  RETURN ARRAY(SELECT DISTINCT unnest(had || more));
END $$;
