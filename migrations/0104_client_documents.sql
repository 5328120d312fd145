-- Creates the tables of clients whose metadata is a document at their client_id, an https address (draft-ietf-oauth-client-id-metadata-document).
-- What is known about the document of each client.
CREATE TABLE client_documents (
  client_id text PRIMARY KEY REFERENCES clients ON DELETE CASCADE,
  -- of the text that was read last, valid or not as a change
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  etag text CHECK (length(etag) <= 200),
  fetched_at timestamptz NOT NULL DEFAULT now(),
  -- until then a request does not fetch it again
  fresh_until timestamptz NOT NULL,
  -- since when it is missing
  gone_since timestamptz,
  -- when a signed-in user last asked for the client, to the hour
  used_at timestamptz NOT NULL DEFAULT now(),
  -- when the background job fetches it; null if nobody has used it for a day
  refetch_at timestamptz
);
CREATE INDEX client_documents_refetch ON client_documents (refetch_at) WHERE refetch_at IS NOT NULL;

-- Fetches that run, and those that failed, so that no address is asked again within its minute. A success deletes the row.
CREATE TABLE document_fetches (
  client_id text PRIMARY KEY CHECK (length(client_id) <= 512),
  -- null while it runs
  failure text CHECK (length(failure) <= 1000),
  held_until timestamptz NOT NULL
);
CREATE INDEX document_fetches_expiry ON document_fetches (held_until);

-- Users who asked for a client that waits for an administrator.
CREATE TABLE client_askers (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  sub text NOT NULL REFERENCES users ON DELETE CASCADE,
  asked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, sub)
);
CREATE INDEX client_askers_sub ON client_askers (sub);
CREATE INDEX client_askers_expiry ON client_askers (asked_at);
