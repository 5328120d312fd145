-- Counters of the limits, shared by all instances; the rate limiter's own form. Keys are digests, so no name stands here.
CREATE TABLE rate_limits (
  key text PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  -- milliseconds since the epoch
  expire bigint
);
CREATE INDEX rate_limits_expiry ON rate_limits (expire);
