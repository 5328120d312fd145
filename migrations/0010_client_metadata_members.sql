-- A member that is missing makes a comparison null, and a check that is null holds: the members must be there by name.
ALTER TABLE clients ADD CONSTRAINT clients_metadata_members CHECK (
  metadata ?& ARRAY['redirect_uris', 'grant_types', 'response_types', 'scope', 'token_endpoint_auth_method']
);
