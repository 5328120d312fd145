-- An order that waits for the mail server is as dead as a link that was sent: with another password or address, and now also once the address
-- is no longer confirmed or the account is disabled. Else a link that somebody else ordered before would be made and sent after it.
CREATE OR REPLACE FUNCTION user_mailed_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE mailed_links SET used_at = now() WHERE sub = NEW.sub AND used_at IS NULL;
  DELETE FROM mails WHERE sub = NEW.sub AND name IN ('verify-address', 'reset-password');
  RETURN NULL;
END $$;
DROP TRIGGER users_mailed_links ON users;
CREATE TRIGGER users_mailed_links AFTER UPDATE OF password_hash, email, email_verified, status ON users FOR EACH ROW
  WHEN (OLD.email IS DISTINCT FROM NEW.email OR OLD.email_verified > NEW.email_verified
    OR (OLD.status = 'enabled' AND NEW.status = 'disabled') OR (OLD.password_hash IS DISTINCT FROM NEW.password_hash
    AND current_setting('gatehouse.rehash', true) IS DISTINCT FROM 'on'))
  EXECUTE FUNCTION user_mailed_links();
