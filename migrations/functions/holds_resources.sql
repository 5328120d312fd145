-- Says whether a client holds its resources: an approved client does before its registrant has collected the credentials. PostgreSQL reads its body at
-- each call, as that of held_resources().
CREATE OR REPLACE FUNCTION holds_resources(client clients) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT client.status = 'enabled' OR (client.uncollected AND client.approved_by IS NOT NULL) $$;
