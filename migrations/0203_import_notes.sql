-- Rows of an import that were stored, and of which an administrator should know (security R154). The previous version writes none.
ALTER TABLE user_imports ADD COLUMN notes jsonb NOT NULL DEFAULT '[]';
