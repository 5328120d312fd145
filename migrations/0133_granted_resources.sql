-- What users grant for resources, and the resources for which a client session has tokens (RFC 8707).

-- The granted scope values of each resource, by its id
ALTER TABLE grants ADD COLUMN resources jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(resources) = 'object');

-- The resources of an authorization, of which each token request names one: for each its `id` (none for a resource of this service), its `audience`
-- and the granted `scope`. Null if the authorization is for none, or for one of this service.
ALTER TABLE client_sessions ADD COLUMN resources jsonb CHECK (jsonb_typeof(resources) = 'array');

-- a token of a client session with several resources has an audience of its own
ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_audience;

-- the lifetime of the access token in seconds, if the resource limits it
ALTER TYPE token_answer ADD ATTRIBUTE access_seconds double precision;
