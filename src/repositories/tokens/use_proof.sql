-- Uses a DPoP proof; false if it was used before (RFC 9449 11.1, security R135). Two requests with the same proof wait for each other, and one gets false.
-- The tables of the minutes beside its own are searched, too: the client may have signed its `jti` with another time.
--   proof: slot (the table of the ring), hash (in hex)
CREATE FUNCTION {{use_proof}}(proof jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  own_slot integer := (proof -> 'slot')::integer;
  own_hash bytea := decode(proof ->> 'hash', 'hex');
BEGIN
  INSERT INTO dpop_proofs (slot, proof_hash) VALUES (own_slot, own_hash) ON CONFLICT DO NOTHING;
  RETURN FOUND
     AND NOT {{proof_is_known}}((own_slot + 1) % 16, own_hash) AND NOT {{proof_is_known}}((own_slot + 15) % 16, own_hash)
     AND NOT {{proof_is_known}}((own_slot + 2) % 16, own_hash) AND NOT {{proof_is_known}}((own_slot + 14) % 16, own_hash);
END $$;
