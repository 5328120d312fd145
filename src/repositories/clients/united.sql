-- Returns both values of JSON together: of arrays the first one with the elements of the second one that it lacks, of objects each member so.
CREATE FUNCTION {{united}}(present jsonb, added jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  answer jsonb := present;
  key text;
  element jsonb;
BEGIN
  IF jsonb_typeof(added) = 'object' THEN
    FOR key IN SELECT jsonb_object_keys(added) LOOP
      answer := answer || jsonb_build_object(key, CASE WHEN answer ? key THEN {{united}}(answer -> key, added -> key) ELSE added -> key END);
    END LOOP;
  ELSE
    FOR element IN SELECT value FROM jsonb_array_elements(added) LOOP
      IF NOT EXISTS (SELECT FROM jsonb_array_elements(answer) AS held WHERE held.value = element) THEN
        answer := answer || jsonb_build_array(element);
      END IF;
    END LOOP;
  END IF;
  RETURN answer;
END $$;
