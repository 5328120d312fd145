-- Returns the union of two arrays: the first one unchanged if it contains the second.
CREATE FUNCTION {{united}}(present text[], added text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF present @> added THEN
    RETURN present;
  END IF;
  RETURN ARRAY(SELECT DISTINCT unnest(present || added));
END $$;
