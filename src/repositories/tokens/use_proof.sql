-- Uses a DPoP proof; false if it was used before (RFC 9449 11.1, security R135). Two requests with the same proof wait for each other, and one gets false.
--   proof: slot (the table of the ring), hash (in hex)
CREATE FUNCTION {{use_proof}}(proof jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO dpop_proofs (slot, proof_hash) VALUES ((proof -> 'slot')::smallint, decode(proof ->> 'hash', 'hex')) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;
