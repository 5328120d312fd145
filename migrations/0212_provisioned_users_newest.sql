-- The accounts of a provisioning target, the newest first: all of them, and those whose last request failed.
CREATE INDEX provisioned_users_newest ON provisioned_users (target_id, created_at, sub);
CREATE INDEX provisioned_users_failing ON provisioned_users (target_id, created_at, sub) WHERE last_failure IS NOT NULL;
