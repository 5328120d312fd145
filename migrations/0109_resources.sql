-- Creates the table of resources (RFC 8707): APIs with scopes of their own. Clients request tokens for them, and each token names one as its audience.
CREATE TABLE resources (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  -- as the audience of tokens names it
  resource text NOT NULL CHECK (resource ~ '^[!-~]+$' AND length(resource) <= 2000),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  -- the client that introspects its tokens; a resource that reads tokens by itself needs none
  client_id text,
  -- a client registered it in resource_uris and was approved; false once an administrator changes it
  registered boolean NOT NULL DEFAULT false,
  -- an administrator allows everyone to see that the resource exists (RFC 9728 4)
  public boolean NOT NULL DEFAULT false,
  -- a member for each scope value, with its descriptions by language
  scopes jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(scopes) = 'object'),
  -- listed: clients that are registered for one of its scopes; approved: every enabled client
  clients text NOT NULL DEFAULT 'listed' CHECK (clients IN ('listed', 'approved')),
  -- in seconds; null for the lifetime of the client's tokens
  access_token_lifetime integer CHECK (access_token_lifetime > 0),
  -- jwt for a resource that checks tokens by itself (RFC 9068)
  access_token_format text NOT NULL DEFAULT 'opaque' CHECK (access_token_format IN ('opaque', 'jwt')),
  access_token_signing_alg text NOT NULL DEFAULT 'RS256' CHECK (access_token_signing_alg IN ('RS256', 'PS256', 'ES256', 'EdDSA')),
  -- names of claims; a JWT access token has those that its scope releases (RFC 9068 2.2)
  token_claims text[] NOT NULL DEFAULT '{}' CHECK (array_length(token_claims, 1) <= 50),
  -- to what kind of key its tokens must be bound: none if Bearer tokens are taken, any for a DPoP key or a certificate, dpop for the former
  binding text NOT NULL DEFAULT 'none' CHECK (binding IN ('none', 'any', 'dpop')),
  -- the authentication level that users must reach before a client gets tokens for the resource; null for any
  required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE UNIQUE INDEX resources_key ON resources (resource_key(resource));
CREATE INDEX resources_scopes ON resources USING gin (scopes);
CREATE INDEX resources_client ON resources (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX resources_newest ON resources (created_at DESC, id DESC);
CREATE INDEX resources_public ON resources (created_at, id) WHERE public;
