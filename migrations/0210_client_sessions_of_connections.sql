-- Finds the client sessions that came by a connection, also those with offline_access whose browser's session is over (security R159).
CREATE INDEX client_sessions_connection ON client_sessions (connection_id, sub) WHERE connection_id IS NOT NULL;
