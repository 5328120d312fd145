-- Notes which user names an administrator, an import or a SCIM source gave. All others may be the user's own choice, which says nothing about the
-- account that has the same name at an application (federation 8). Of users from before this version it is not known who chose the name.
ALTER TABLE users ADD COLUMN username_given boolean NOT NULL DEFAULT false;
