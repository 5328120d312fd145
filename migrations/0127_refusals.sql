-- Creates the table of what is behind a refusal that stays on a page of the service: the page shows the reference alone, and the facts tell an administrator
-- what was wrong. A ring of 10,000 rows: a flood overwrites the oldest, and never fills the disk (security R105).
CREATE TABLE refusals (
  slot int PRIMARY KEY CHECK (slot BETWEEN 0 AND 9999),
  reference text NOT NULL CHECK (reference ~ '^[0-9a-f]{8}$'),
  refused_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
  facts jsonb NOT NULL CHECK (jsonb_typeof(facts) = 'object')
);
CREATE INDEX refusals_reference ON refusals (reference);
CREATE INDEX refusals_age ON refusals (refused_at);
CREATE SEQUENCE refusal_slots AS int MINVALUE 0 MAXVALUE 9999 CYCLE;
