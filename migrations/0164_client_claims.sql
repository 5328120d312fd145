-- What applications learn of users beyond the standard scopes: roles at a client, scopes of an operator's own, and rules for claims (federation 7).
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

-- The roles of a user at a client, in order; NULL for none.
CREATE FUNCTION user_roles(of_sub text, of_groups text[], at_client text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT array_agg(role ORDER BY role) FROM (
  SELECT h.role FROM client_role_holders h WHERE h.sub = of_sub AND h.client_id = at_client
  UNION
  SELECT h.role FROM client_role_holders h WHERE h.client_id = at_client AND h.group_name = ANY (of_groups)) AS held);

-- Scopes that release claims. Those of APIs are in the table resources.
CREATE TABLE scopes (
  name text PRIMARY KEY CHECK (name ~ '^[!#-\[\]-~]{1,100}$'),
  -- what users read on the consent page, by language
  text jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(text) = 'object'),
  claims text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);

-- The scopes of this table for which a client is registered, each with its text and its claims; NULL for none.
CREATE FUNCTION own_scopes(metadata jsonb) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT jsonb_object_agg(s.name, jsonb_build_object('text', s.text, 'claims', s.claims))
          FROM scopes s WHERE s.name = ANY (string_to_array(metadata ->> 'scope', ' ')));

ALTER TABLE clients ADD COLUMN claim_rules jsonb CHECK (jsonb_typeof(claim_rules) = 'array' AND jsonb_array_length(claim_rules) BETWEEN 1 AND 50);
