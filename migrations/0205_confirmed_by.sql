-- Who confirmed the address of a user: our own mail, an administrator, a connection with authority over the domain, or a connection by its word only.
-- It counts while email_verified is true. The default is stored for existing rows without a rewrite of the table.
ALTER TABLE users ADD COLUMN email_confirmed_by text DEFAULT 'mail'
  CHECK (email_confirmed_by IN ('mail', 'administrator', 'authority', 'word'));
ALTER TABLE users ALTER COLUMN email_confirmed_by DROP DEFAULT;

-- Of existing rows, those with a link by a connection that has no authority over the domain are confirmed by a word.
UPDATE users u SET email_confirmed_by = 'word'
 WHERE u.email_verified AND EXISTS (
   SELECT FROM linked_identities l JOIN connections c ON c.id = l.connection_id
    WHERE l.sub = u.sub AND NOT EXISTS (
      SELECT FROM unnest(c.authoritative_domains) AS domain
       WHERE lower(split_part(u.email, '@', 2)) = domain
          OR (c.subdomains AND right(lower(split_part(u.email, '@', 2)), length(domain) + 1) = '.' || domain)));

-- A writer that does not say who: a new row is believed as little as an import, and a later change is an administrator's.
CREATE FUNCTION address_is_confirmed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.email_confirmed_by := CASE TG_OP WHEN 'INSERT' THEN 'word' ELSE 'administrator' END;
  RETURN NEW;
END $$;
CREATE TRIGGER users_confirmed_by BEFORE INSERT OR UPDATE OF email_verified ON users
  FOR EACH ROW WHEN (NEW.email_verified AND NEW.email_confirmed_by IS NULL) EXECUTE FUNCTION address_is_confirmed();

-- What an administrator looks through when a connection gets authority over a domain.
CREATE INDEX users_confirmed_by_word ON users (sub) WHERE email_verified AND email_confirmed_by = 'word';

-- Whether a connection's word that an address is verified makes it confirmed for applications.
ALTER TABLE connections ADD COLUMN trust_email boolean NOT NULL DEFAULT false;
UPDATE connections SET trust_email = true WHERE preset = 'apple';
