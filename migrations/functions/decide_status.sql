-- Makes the status of a user one that no source changes back: neither a SCIM source nor the import of a directory enables the user again because it
-- disabled the user before. Returns whether there was such a source. A source notes what it did after its own change.
CREATE OR REPLACE FUNCTION decide_status(of_sub text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  by_scim boolean;
  by_import boolean;
BEGIN
  UPDATE scim_users SET disabled = false WHERE sub = of_sub AND disabled;
  by_scim := FOUND;
  UPDATE directory_entries d SET disabled = false FROM linked_identities l
   WHERE l.sub = of_sub AND d.connection_id = l.connection_id AND d.subject = l.subject AND d.disabled;
  by_import := FOUND;
  RETURN by_scim OR by_import;
END $$;
