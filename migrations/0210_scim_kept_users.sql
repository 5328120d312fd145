-- Notes which users of SCIM sources an administrator keeps although the source deleted them: their accounts are not deleted later (federation 8).
ALTER TABLE scim_users ADD COLUMN kept boolean NOT NULL DEFAULT false;
-- of users whose status an administrator decided after the deletion, the account stays: if it is to go, an administrator deletes it
UPDATE scim_users s SET kept = true FROM users u
 WHERE u.sub = s.sub AND s.deleted_at IS NOT NULL AND (u.status = 'enabled' OR NOT s.disabled);
