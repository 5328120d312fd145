-- Adds the kind of a client: the protocol by which it signs users in. Older instances create clients of OAuth only.
ALTER TABLE clients ADD COLUMN kind text NOT NULL DEFAULT 'oauth' CHECK (kind IN ('oauth', 'saml', 'proxy'));
