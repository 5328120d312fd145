-- Users who may sign in here although the domain of their address is enforced: a way in while the connection is out of order (federation 4).
CREATE TABLE break_glass (
  sub text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  since timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now())
);
