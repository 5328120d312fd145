-- Creates the table by which `gatehouse doctor` learns how a request arrives at an instance. Each row is a request that a doctor is about to send:
-- the digest of its single-use id, and then what the instance saw of it. A row counts for a minute.
CREATE TABLE doctor_probes (
  id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
  -- scheme, host, peer and size of the headers; null until the request arrives
  seen jsonb,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX doctor_probes_age ON doctor_probes (created_at);
