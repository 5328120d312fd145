-- The clients that the start page can show.
CREATE INDEX clients_start ON clients (client_id)
  WHERE status = 'enabled' AND NOT start_hidden AND (start_uri IS NOT NULL OR metadata ? 'initiate_login_uri');
