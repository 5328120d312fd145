-- How a connection names the users that it makes: by the part of the value before the @, and with a number where the name is taken.
ALTER TABLE connections
  ADD COLUMN username_local_part boolean NOT NULL DEFAULT false,
  ADD COLUMN username_suffix boolean NOT NULL DEFAULT false;
