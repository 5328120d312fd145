-- Creates the position of the audit stream, one row: which events of the audit trail the collector has, and which instance sends them.
CREATE TABLE audit_streams (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- the collector has every event up to this id
  floor bigint NOT NULL,
  -- and of the later ones those of all transactions before this one
  before_transaction bigint NOT NULL,
  -- a portion under way: the events of transactions before `until_transaction`, of which the collector has those up to `sent_id`
  until_transaction bigint,
  sent_id bigint,
  -- the instance that sends; if it dies, another one takes over then
  holder uuid,
  held_until timestamptz,
  -- the last time that the collector had all events, and since when it takes none
  level_at timestamptz,
  failing_since timestamptz,
  last_failure text,
  CHECK ((until_transaction IS NULL) = (sent_id IS NULL))
);
