-- When a client got its secret. It is null for those from before.
ALTER TABLE clients ADD COLUMN secret_since timestamptz;
