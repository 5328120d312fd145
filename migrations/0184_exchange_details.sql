-- Lets an exchange policy name types of authorization details (RFC 9396): an exchanged token has those of the presented token that are of these types.
ALTER TABLE exchange_policies ADD COLUMN authorization_details_types text[] NOT NULL DEFAULT '{}'
  CHECK (array_position(authorization_details_types, NULL) IS NULL);
