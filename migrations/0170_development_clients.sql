-- Clients of development, whose redirect URIs may be http in private networks (delivery 3)
ALTER TABLE clients ADD COLUMN development boolean NOT NULL DEFAULT false;
CREATE INDEX clients_weakened_idx ON clients (client_id) WHERE development OR weak_secret;
