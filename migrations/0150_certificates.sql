-- Lets a resource demand that its tokens are bound to the certificate of the client (RFC 8705 3).
ALTER TABLE resources DROP CONSTRAINT resources_binding_check,
  ADD CONSTRAINT resources_binding_check CHECK (binding IN ('none', 'any', 'dpop', 'mtls'));
