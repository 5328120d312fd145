-- Creates the tables of roles: what a client learns of its users, by its name for it (federation 7).
CREATE TABLE client_roles (
  client_id text NOT NULL REFERENCES clients ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  description text NOT NULL DEFAULT '' CHECK (char_length(description) <= 1000),
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  PRIMARY KEY (client_id, name)
);

-- Who has a role: the members of a group, or a user. A group that is deleted gives no role to a later group of its name.
CREATE TABLE client_role_holders (
  client_id text NOT NULL,
  role text NOT NULL,
  group_name text REFERENCES groups ON UPDATE CASCADE ON DELETE CASCADE,
  sub text REFERENCES users ON DELETE CASCADE,
  CHECK (num_nonnulls(group_name, sub) = 1),
  FOREIGN KEY (client_id, role) REFERENCES client_roles ON DELETE CASCADE
);
CREATE UNIQUE INDEX client_role_holders_group ON client_role_holders (client_id, group_name, role) WHERE group_name IS NOT NULL;
CREATE UNIQUE INDEX client_role_holders_user ON client_role_holders (sub, client_id, role) WHERE sub IS NOT NULL;
CREATE INDEX client_role_holders_group_name ON client_role_holders (group_name) WHERE group_name IS NOT NULL;
CREATE INDEX client_role_holders_role ON client_role_holders (client_id, role);
