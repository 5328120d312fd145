-- Adds what a kept object was like when its files were applied last, as a digest: the metric counts those that differ (federation 10).
-- Rows of an earlier version have none, and do not count.
ALTER TABLE kept_objects ADD COLUMN state text CHECK (state ~ '^[A-Za-z0-9_-]{22}$');
