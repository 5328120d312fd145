-- Empties the tables of dpop_proofs whose minute is over for good. Proofs of five minutes around now can be accepted, and some seconds may pass until they
-- are stored: at any time 13 of the 16 tables can be in use, and the next three are free (security R151).
CREATE FUNCTION {{empty_old_proofs}}() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  minute bigint := floor(extract(epoch FROM clock_timestamp()) / 60);
  slot integer;
  is_used boolean;
  emptied integer := 0;
BEGIN
  -- a free table has no other user, unless an administrator reads it: then the next round empties it
  PERFORM set_config('lock_timeout', '500ms', true);
  FOR ahead IN 7 .. 9 LOOP
    slot := (minute + ahead) % 16;
    EXECUTE format('SELECT EXISTS (SELECT FROM dpop_proofs_%s)', slot) INTO is_used;
    IF is_used THEN
      EXECUTE format('TRUNCATE dpop_proofs_%s', slot);
      emptied := emptied + 1;
    END IF;
  END LOOP;
  RETURN emptied;
END $$;
