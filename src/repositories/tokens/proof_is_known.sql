-- Whether a proof is in one of the tables of the ring. Each table has its own statement: one on dpop_proofs as a whole would lock all of them.
CREATE FUNCTION {{proof_is_known}}(in_slot integer, known_hash bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  CASE in_slot
    WHEN 0 THEN PERFORM FROM dpop_proofs_0 WHERE proof_hash = known_hash;
    WHEN 1 THEN PERFORM FROM dpop_proofs_1 WHERE proof_hash = known_hash;
    WHEN 2 THEN PERFORM FROM dpop_proofs_2 WHERE proof_hash = known_hash;
    WHEN 3 THEN PERFORM FROM dpop_proofs_3 WHERE proof_hash = known_hash;
    WHEN 4 THEN PERFORM FROM dpop_proofs_4 WHERE proof_hash = known_hash;
    WHEN 5 THEN PERFORM FROM dpop_proofs_5 WHERE proof_hash = known_hash;
    WHEN 6 THEN PERFORM FROM dpop_proofs_6 WHERE proof_hash = known_hash;
    WHEN 7 THEN PERFORM FROM dpop_proofs_7 WHERE proof_hash = known_hash;
    WHEN 8 THEN PERFORM FROM dpop_proofs_8 WHERE proof_hash = known_hash;
    WHEN 9 THEN PERFORM FROM dpop_proofs_9 WHERE proof_hash = known_hash;
    WHEN 10 THEN PERFORM FROM dpop_proofs_10 WHERE proof_hash = known_hash;
    WHEN 11 THEN PERFORM FROM dpop_proofs_11 WHERE proof_hash = known_hash;
    WHEN 12 THEN PERFORM FROM dpop_proofs_12 WHERE proof_hash = known_hash;
    WHEN 13 THEN PERFORM FROM dpop_proofs_13 WHERE proof_hash = known_hash;
    WHEN 14 THEN PERFORM FROM dpop_proofs_14 WHERE proof_hash = known_hash;
    WHEN 15 THEN PERFORM FROM dpop_proofs_15 WHERE proof_hash = known_hash;
  END CASE;
  RETURN FOUND;
END $$;
