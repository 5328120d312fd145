-- Says whether the groups of a user are enough for a client. Each statement that accepts or issues a token asks it (federation FR42). A test compares it
-- with mayUse() in src/rules/access/access.ts.
CREATE OR REPLACE FUNCTION has_access(user_groups text[], access text, access_groups text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN access = 'everyone' OR user_groups && access_groups;
