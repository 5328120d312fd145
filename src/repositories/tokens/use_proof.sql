-- Uses a DPoP proof; false if it was used before (RFC 9449 11.1, security R135). Two requests with the same proof wait for each other, and one gets false.
-- The client may have signed its `jti` with another time or with the other nonce that is good: then the row is in a table of the minutes beside its own, or
-- with a nonce in the table of a slot beside its own, which is five minutes away.
-- A proof of more than five minutes before or after the database's time is refused, whatever the clock of the instance said: its table may be emptied.
--   proof: slot (the table of the ring), hash (in hex), iat (in seconds; with a nonce the end of the nonce's slot), has_nonce
CREATE FUNCTION {{use_proof}}(proof jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  own_slot integer := (proof -> 'slot')::integer;
  own_hash bytea := decode(proof ->> 'hash', 'hex');
BEGIN
  -- the instance compared `iat` with its own notion of this time some moments ago
  IF abs(extract(epoch FROM clock_timestamp()) - (proof -> 'iat')::bigint) > 310 THEN
    RETURN false;
  END IF;
  INSERT INTO dpop_proofs (slot, proof_hash) VALUES (own_slot, own_hash) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  ELSIF (proof -> 'has_nonce')::boolean THEN
    RETURN NOT {{proof_is_known}}((own_slot + 5) % 16, own_hash) AND NOT {{proof_is_known}}((own_slot + 11) % 16, own_hash);
  END IF;
  RETURN NOT {{proof_is_known}}((own_slot + 1) % 16, own_hash) AND NOT {{proof_is_known}}((own_slot + 15) % 16, own_hash)
     AND NOT {{proof_is_known}}((own_slot + 2) % 16, own_hash) AND NOT {{proof_is_known}}((own_slot + 14) % 16, own_hash);
END $$;
