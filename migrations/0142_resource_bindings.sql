-- To what kind of key the tokens for a resource must be bound: none if Bearer tokens are taken, any for a DPoP key or a certificate, dpop for the former.
ALTER TABLE resources ADD COLUMN binding text NOT NULL DEFAULT 'none' CHECK (binding IN ('none', 'any', 'dpop'));
