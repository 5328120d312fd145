-- A session whose user chose to stay signed in has no idle end: its idle end is its absolute one (pages, staying signed in).
ALTER TABLE sessions ADD COLUMN remembered boolean NOT NULL DEFAULT false;
