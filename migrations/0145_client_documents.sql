-- Clients whose metadata is a document at their client_id, an https address (draft-ietf-oauth-client-id-metadata-document).

-- As before, with bodies that PostgreSQL reads at each call: before version 18 it alters no table whose row type an expression of a function uses.
DROP FUNCTION held_resources(text, text[]);
DROP FUNCTION holds_resources(clients);
CREATE FUNCTION holds_resources(client clients) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT client.status = 'enabled' OR (client.uncollected AND client.approved_by IS NOT NULL) $$;
CREATE FUNCTION held_resources(claimant text, keys text[]) RETURNS TABLE (id text, resource text, name text, client_id text, since timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT r.id, r.resource, r.name, r.client_id, r.created_at
    FROM resources r LEFT JOIN clients c ON c.client_id = r.client_id
   WHERE resource_key(r.resource) = ANY (keys) AND r.client_id IS DISTINCT FROM claimant AND (NOT r.registered OR holds_resources(c))
   ORDER BY r.created_at, r.resource $$;

-- an address may be longer than the ids that the service makes; a bound in the pattern could not exceed 255
ALTER TABLE clients DROP CONSTRAINT clients_client_id_check;
ALTER TABLE clients ADD CONSTRAINT clients_client_id_check CHECK (client_id ~ '^[!-~]+$' AND length(client_id) <= 512);

-- where the metadata comes from: from requests to this service, or from the document
ALTER TABLE clients ADD COLUMN origin text NOT NULL DEFAULT 'service' CHECK (origin IN ('service', 'document'));
-- The document has been missing for a day, so users can authorize the client no longer. Its domain may get another owner: only an approval ends
-- this.
ALTER TABLE clients ADD COLUMN document_gone boolean NOT NULL DEFAULT false;

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

-- As before, and an approval admits a client again whose document was missing, unless a change still waits.
CREATE OR REPLACE FUNCTION client_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.uncollected THEN
    -- An approval is noted in approved_by until the registrant collects the credentials, and disabling takes it back. A refusal is final, since
    -- the registrant's code is dead.
    NEW.approved_by := CASE WHEN NEW.status = 'enabled' AND NEW.refused_at IS NULL THEN coalesce(OLD.approved_by, 'administrator') END;
    NEW.status := 'disabled';
  ELSIF NEW.status = 'enabled' THEN
    NEW.refused_at := NULL;
    NEW.refusal_reason := NULL;
    -- For an enabled client the statement approves the change that waits. Enabling a disabled client approves none: a change that came while the
    -- client was disabled goes on waiting (security R116).
    IF OLD.status = 'enabled' AND NEW.pending_metadata IS NOT NULL THEN
      NEW.metadata := NEW.pending_metadata;
      NEW.pending_metadata := NULL;
    END IF;
    IF NEW.pending_metadata IS NULL THEN
      NEW.document_gone := false;
    END IF;
  END IF;
  RETURN NEW;
END $$;
