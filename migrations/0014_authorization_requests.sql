-- What an authorization request may carry: a request object, a push ahead of it, and single claims.

-- Why a stored request cannot be served, though nobody is signed in yet to be sent back with it
ALTER TABLE authorization_requests ADD COLUMN problem jsonb CHECK (jsonb_typeof(problem) = 'object');

-- A request that a client pushed belongs to no browser until one comes with its name (RFC 9126)
ALTER TABLE authorization_requests ALTER COLUMN browser_hash DROP NOT NULL;
CREATE INDEX authorization_requests_pushed ON authorization_requests (client_id, created_at) WHERE browser_hash IS NULL;

-- Single claims: what a grant covers beside its scopes, and what an authorization asked for beside them, with its acr
ALTER TABLE grants ADD COLUMN claims text[] NOT NULL DEFAULT '{}';
ALTER TABLE client_sessions ADD COLUMN requested jsonb CHECK (jsonb_typeof(requested) = 'object');
