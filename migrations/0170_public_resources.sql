-- Resources that the metadata of the service name, and the claims of users that the JWT access tokens of a resource contain (RFC 9728 4, RFC 9068 2.2).
ALTER TABLE resources
  -- an administrator allows everyone to see that the resource exists
  ADD COLUMN public boolean NOT NULL DEFAULT false,
  -- names of claims; a token has those that its scope releases
  ADD COLUMN token_claims text[] NOT NULL DEFAULT '{}' CHECK (array_length(token_claims, 1) <= 50);
CREATE INDEX resources_public ON resources (created_at, id) WHERE public;
