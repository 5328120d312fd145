-- Notes when administrators were told that a provisioning target fails (federation 8): once, until it works again.
ALTER TABLE provisioning_runs ADD COLUMN told_at timestamptz;
