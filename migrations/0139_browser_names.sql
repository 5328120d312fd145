-- The name that a user gave a browser stays with the known browser, and each session of the browser has it (pages, account).
ALTER TABLE known_browsers
  ADD COLUMN name text CHECK (char_length(name) BETWEEN 1 AND 60),
  -- of the last session that began there
  ADD COLUMN session_id bigint;
ALTER TABLE sessions ADD COLUMN browser_name text CHECK (char_length(browser_name) BETWEEN 1 AND 60);
