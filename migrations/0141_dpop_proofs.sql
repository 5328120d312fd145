-- The DPoP proofs of the last minutes, each of which counts once for all instances (RFC 9449 11.1). They form a ring of 16 tables: a proof is in the table
-- of the minute of its `iat`, and the service empties a table when no proof of its minute is accepted any more. The tables are unlogged: after a crash of
-- the database they are empty, and a proof may be used again until it is too old.
CREATE TABLE dpop_proofs (
  slot smallint NOT NULL,
  -- of the key and `jti`
  proof_hash bytea NOT NULL,
  PRIMARY KEY (slot, proof_hash)
) PARTITION BY LIST (slot);

DO $$
BEGIN
  FOR slot IN 0 .. 15 LOOP
    EXECUTE format('CREATE UNLOGGED TABLE dpop_proofs_%s PARTITION OF dpop_proofs FOR VALUES IN (%s) WITH (autovacuum_enabled = off)', slot, slot);
  END LOOP;
END $$;
