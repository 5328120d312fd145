-- Decides about a poll for a deferred authorization (RFC 8628 section 3.5): an early one raises the seconds between polls, up to a maximum. The next
-- poll is early until next_poll_at, with a second of tolerance for the network.
CREATE FUNCTION {{pace_poll}}(
  INOUT next_poll_at timestamptz, INOUT poll_interval integer, raised_by integer, max_interval integer, OUT is_early boolean
) LANGUAGE sql VOLATILE AS $$
  SELECT clock_timestamp() + make_interval(secs => paced.seconds - 1), paced.seconds, paced.early
    FROM (SELECT next_poll_at > clock_timestamp() AS early,
                 CASE WHEN next_poll_at > clock_timestamp() THEN least(poll_interval + raised_by, max_interval) ELSE poll_interval END AS seconds) AS paced
$$;
