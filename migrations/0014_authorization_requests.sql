-- What an authorization request may carry: a request object, a push ahead of it, and single claims.

-- Why a stored request cannot be served, though nobody is signed in yet to be sent back with it
ALTER TABLE authorization_requests ADD COLUMN problem jsonb CHECK (jsonb_typeof(problem) = 'object');
