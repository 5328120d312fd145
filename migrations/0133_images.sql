-- Creates the table of uploaded images: the pictures of users, and the logos of clients and connections. The address of an image is made of its key, which cannot
-- be guessed, and its type. A text in the row of its owner names it: in the claim `picture` of a user, in the column `logo` of the others. So only the request
-- for the image itself reads this table.
CREATE TABLE images (
  key text COLLATE "C" PRIMARY KEY CHECK (key ~ '^[A-Za-z0-9_-]{22}$'),
  sub text UNIQUE REFERENCES users ON DELETE CASCADE,
  client_id text UNIQUE REFERENCES clients ON DELETE CASCADE,
  connection_id text UNIQUE REFERENCES connections ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('jpeg', 'png', 'webp')),
  content bytea NOT NULL CHECK (length(content) BETWEEN 1 AND 1048576),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  CHECK (num_nonnulls(sub, client_id, connection_id) = 1)
);
-- it is compressed already
ALTER TABLE images ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE clients ADD COLUMN logo text CHECK (logo ~ '^[A-Za-z0-9_-]{22}\.(jpeg|png|webp)$');
ALTER TABLE connections ADD COLUMN logo text CHECK (logo ~ '^[A-Za-z0-9_-]{22}\.(jpeg|png|webp)$');
