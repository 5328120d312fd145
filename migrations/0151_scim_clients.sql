-- Lets an administrator name the SCIM source that a client opens by access tokens of its own with the scope scim (federation 8).
ALTER TABLE clients ADD COLUMN scim_source text CHECK (scim_source ~ '^[a-z][a-z0-9-]{1,39}$');
