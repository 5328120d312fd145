-- A secret that an administrator gave, and that is easier to guess than those of the service: it is marked until it is renewed (delivery 2)
ALTER TABLE clients ADD COLUMN weak_secret boolean NOT NULL DEFAULT false;
