-- Creates the table of the look that administrators chose in the console: one row, which is always there. A setting of the environment takes precedence over its
-- column. After a change by plain SQL, NOTIFY gatehouse, 'appearance' tells the instances to read the row again.
CREATE TABLE appearance (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  product_name text CHECK (length(product_name) BETWEEN 1 AND 60),
  accent_color text CHECK (accent_color ~ '^#[0-9a-f]{6}$'),
  support_url text CHECK (support_url ~ '^(https://|mailto:)' AND length(support_url) <= 2000),
  -- PNG or WebP
  logo bytea CHECK (length(logo) <= 262144),
  logo_dark bytea CHECK (length(logo_dark) <= 262144),
  favicon bytea CHECK (length(favicon) <= 262144)
);
INSERT INTO appearance DEFAULT VALUES;
