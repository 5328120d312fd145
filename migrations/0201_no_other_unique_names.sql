-- login_keys alone decides which names are free: the keys of before depend on the database's locale, so that a dump did not load elsewhere.
ALTER TABLE users DROP CONSTRAINT users_username_key_key, DROP CONSTRAINT users_email_key_key;
