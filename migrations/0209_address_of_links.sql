-- The last address that an identity had and that was not taken over, so that each such move is told once.
ALTER TABLE linked_identities ADD COLUMN email_last text;
