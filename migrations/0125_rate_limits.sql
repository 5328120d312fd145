-- Creates the table of the counters of the rate limits, shared by all instances. Keys are digests, so no user or client name is stored here.
CREATE TABLE rate_limits (
  key text PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  -- milliseconds since the epoch
  expire bigint
);
CREATE INDEX rate_limits_expiry ON rate_limits (expire);
-- many counters of one kind must not displace those of another kind
CREATE INDEX rate_limits_expiry_of_kind ON rate_limits (split_part(key, ':', 1), expire);
