-- Creates the table of types of authorization details (RFC 9396), and the columns for the details of requests, authorizations and tokens. Each is a
-- list of objects, null without any.
CREATE TABLE authorization_details_types (
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  type text COLLATE "C" NOT NULL UNIQUE CHECK (type ~ '^[!-~]{1,255}$'),
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  schema jsonb NOT NULL CHECK (jsonb_typeof(schema) = 'object'),
  -- the sentence of the consent page, by language
  text jsonb NOT NULL CHECK (jsonb_typeof(text) = 'object'),
  -- the URIs of the resources that it is for; none for every token
  resources text[] NOT NULL DEFAULT '{}' CHECK (array_position(resources, NULL) IS NULL),
  remembered boolean NOT NULL DEFAULT false,
  removable boolean NOT NULL DEFAULT false,
  -- clients get it for themselves, too
  without_user boolean NOT NULL DEFAULT false,
  required_acr text CHECK (length(required_acr) BETWEEN 1 AND 200),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
CREATE INDEX authorization_details_types_newest ON authorization_details_types (created_at DESC, id DESC);

-- what the user allowed, each object with the `id` that the service gave it; the tokens have those of their resource
ALTER TABLE client_sessions ADD COLUMN details jsonb CHECK (jsonb_typeof(details) = 'array');
ALTER TABLE access_tokens ADD COLUMN details jsonb CHECK (jsonb_typeof(details) = 'array');
-- what the user allowed on the consent page of this request
ALTER TABLE authorization_requests ADD COLUMN details jsonb CHECK (jsonb_typeof(details) = 'array');
-- what the device asked for
ALTER TABLE device_authorizations ADD COLUMN details jsonb CHECK (jsonb_typeof(details) = 'array');
ALTER TYPE token_answer ADD ATTRIBUTE details jsonb;
